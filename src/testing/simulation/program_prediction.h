// What must come of a program, whatever happens to the nodes that run it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

// What one step may leave.
struct ValueRule {
  std::vector<std::string> allowed;
  std::optional<std::string> child;  // the path of an instance whose end it tells
  bool is_output = false;            // of that child, instead of what is allowed
};

struct InstanceRule {
  std::string path;
  std::optional<std::string> id;      // absent: the engine makes one
  std::optional<std::string> parent;  // its path; absent: a root, or started detached
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
};
inline constexpr std::string_view kCancelReason = "a client wants it to end";
inline constexpr std::string_view kTerminateReason = "a client wants it gone";

// Of the root, and of every instance that its program starts. Added to `rules`.
void predict(const Program& root, const Intervention& intervention, Rules& rules);

// Messages that the clients must put into its queue.
[[nodiscard]] std::size_t messages_for(const Program& program);

}  // namespace perdure::testing::simulation
