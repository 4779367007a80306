// What must come of a program, whatever happens to the nodes that run it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

// What one step may leave.
struct ValueRule {
  std::vector<std::string> allowed;
  std::optional<std::string> child;  // the path of an instance whose end it tells
  bool is_output = false;            // of that child, instead of what is allowed
  bool may_be_refused = false;       // its id may be taken
  bool open_to_clients = false;      // clients may cancel or terminate the child
};

struct InstanceRule {
  std::string path;
  std::optional<std::string> id;      // absent: the engine makes one
  std::optional<std::string> parent;  // its path; absent: a root, or started detached
  bool touched = false;               // clients may delete or replace its tree at any time
  bool detached = false;              // it has a parent, which does not take its outcome
  bool never_starts = false;
  bool may_be_missing = false;
  bool may_be_cancelled = false;
  bool may_be_terminated = false;
  std::optional<std::string> reason;  // of the clients' cancel or termination
  Ending ending = Ending::kCompletes;
  std::string failure;  // kFails
  std::size_t executions = 1;
  std::optional<std::string> version;
  std::map<std::string, ValueRule> values;  // by step
  // If nothing cuts it short:
  std::map<std::string, std::string> key_values;
  std::optional<std::string> custom_status;
};

using Rules = std::map<std::string, InstanceRule>;  // by path

// What clients do to a root.
struct Intervention {
  bool cancel = false;
  bool terminate = false;
  bool touch = false;  // delete it or replace it, at any time
  // Ids that clients cancel and terminate, whichever instance has them.
  std::set<std::string> open_ids;
};
inline constexpr std::string_view kCancelReason = "a client wants it to end";
inline constexpr std::string_view kTerminateReason = "a client wants it gone";
// The reasons of cancels and terminations by clients of lifecycles begin with this.
inline constexpr std::string_view kWish = "a wish for ";
// The error of the engine for a child whose id belongs to another instance contains this.
inline constexpr std::string_view kTaken = "is taken";

// Of the root, and of every instance that its program starts. Added to `rules`.
void predict(const Program& root, const Intervention& intervention, Rules& rules);

// Messages that the clients must put into its queue.
[[nodiscard]] std::size_t messages_for(const Program& program);

}  // namespace perdure::testing::simulation
