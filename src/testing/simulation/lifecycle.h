// Lifecycles: ids whose instances clients start, replace, prune, cancel and delete at any moment, and start again with
// another program. Each life has one client, which makes one call after the other and records which instance may exist.
//
// The path of a program names the incarnation ("life1.2/s3"), and every output carries its path. So an output of an
// earlier incarnation is recognised as foreign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/client.h>
#include <perdure/types.h>
#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

enum class LifeCall : std::uint8_t {
  kStart,
  kReplace,
  kFeed,    // the messages that the program reads; before its start, if nothing is there
  kDelete,  // when it has ended, or after a few tries anyway
  kForceDelete,
  kRestart,  // deletes with force and starts again, with nothing in between
  kPrune,
  kCancel,         // perhaps when nothing is there
  kTerminate,      // the same
  kRaise,          // when no instance has the id: none may receive it
  kCancelAhead,    // the same, sent even if it is missing: the next instance is cancelled
  kRaiseAhead,     // the same with an event: the next instance receives it
  kDeleteAhead,    // the same with a cancel, and a deletion of the id after it: the cancel reaches no instance
  kBulkDelete,     // by id and state; `generation` is the choice of states
  kBulkPrune,      // the same
  kMissing,        // something for an id that never exists
  kStartUnserved,  // another id, with a version that no node has
  kSurvey,         // what is reported as stuck: that start as long as it waits, and nothing that can go on
  kLook,
  kSettle,  // terminates what would never end by itself
};
[[nodiscard]] std::string_view to_string(LifeCall call) noexcept;

// Of the states that a bulk call asks for: ended without success, completed, both.
inline constexpr std::size_t kStateChoices = 3;

struct LifeStep {
  LifeCall call = LifeCall::kStart;
  Milliseconds after{0};       // the beginning
  std::size_t generation = 0;  // of which program, where one is meant
  bool operator==(const LifeStep&) const = default;
};

struct LifePlan {
  std::size_t index = 0;
  std::string id;
  // Children of other instances may be given its id. Then it is unknown which instance has it.
  bool contested = false;
  std::vector<Program> generations;
  std::vector<LifeStep> steps;
  std::optional<Program> unserved;  // of another id; no node has the version it asks for
  std::set<std::string> waits_for;  // roots that must have started before it does: its children want their ids
  bool operator==(const LifePlan&) const = default;

  [[nodiscard]] bool has(LifeCall call) const;
};

// `roots` are ids of instances that are never deleted.
[[nodiscard]] std::vector<LifePlan> random_lives(std::uint64_t seed, const std::vector<std::string>& roots);

// The knowledge of the client of a life.
struct Life {
  std::size_t done = 0;                                 // steps
  std::size_t tries = 0;                                // of this step
  std::set<std::string> possible = {std::string()};     // paths of what may have the id; empty: nothing
  std::set<std::string> fed;                            // paths that got all their messages
  std::map<std::string, std::set<std::string>> wishes;  // by reason of a cancel or termination: the paths it may end
  std::map<std::string, std::string> cancelled_ahead;   // by path: the reason that its instance must end with
  bool pruned = false;
  std::vector<std::string> problems;
};

// Carries out one step. Returns false if its time has not come. Throws the client's exceptions.
[[nodiscard]] bool carry_out(const LifePlan& plan, std::size_t step, const Client& client, Life& life);

// The path in an output of the interpreter; absent if the output has none.
[[nodiscard]] std::optional<std::string> path_in_output(const std::string& output);

}  // namespace perdure::testing::simulation
