// Program: what an instance of the simulator's workload does, as data. It is the input of the orchestration
// "Interpret" (interpreter.h), and its outcome is known beforehand (program_prediction.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace perdure::testing::simulation {

enum class Op : std::uint8_t {
  // activities
  kActivity,
  kTaggedActivity,
  kSessionActivities,
  kFlakyActivity,      // fails `number` times, then succeeds
  kGivenUpActivity,    // fails in each of `number` attempts
  kHopelessActivity,   // says that trying again would not help
  kTimedOutActivity,   // never ends by itself; start-to-close timeout
  kSilentActivity,     // never ends and says nothing; heartbeat timeout
  kUnservedActivity,   // a tag that nobody serves; schedule-to-start timeout
  kDroppedCompletion,  // asynchronous, and forgets how to end
  kProgress,           // needs `number` attempts, each of which goes on where the one before it was
  kAsyncActivity,      // ended by another activity
  kCaughtFailure,
  kDroppedActivity,
  kDetachedActivity,
  // waiting
  kTimer,               // `number` milliseconds
  kRacingSignal,        // raised at some time, perhaps too early; a timer of `number` milliseconds goes against it
  kSignalFromActivity,  // raised when it is waited for
  kSignalFromClient,    // the same, by a client who sees that it is waited for
  kQueue,               // `number` messages of the clients; the last such step tells all that were ever read
  kQueueFromActivity,
  // other instances
  kChild,
  kNamedChild,
  kDroppedChild,
  kDetachedChild,
  kDetachedStart,
  kForeignKey,  // of a child that has ended
  // several at once
  kSelectFixed,
  kSelectRace,
  kSelectMany,
  kJoinMany,
  kJoinPack,
  kJoinTasks,
  kTask,
  kThrowingTask,
  // plain calls
  kSetKey,
  kClearKey,
  kClearKeys,
  kReadKey,
  kStatus,
  kResetStatus,
  kGuid,
  kTime,
  kTrace,
  kSaga,
  kUnknownTimedActivity,  // no node has its code; schedule-to-start timeout. The generator draws it as
                          // kUnservedActivity
  kRetiredActivity,       // only old nodes have its code; it never ends by itself; schedule-to-start and start-to-close
                          // timeouts. The generator draws it as kUnservedActivity
  // what only programs of lifecycles do
  kUnknownActivity,  // detached; no node has its code: it ends as poison; `number` is how long the code then waits
  kUnknownChild,     // the same of a child
  kSharedChild,      // under an id that others use; `number` is its Sharing
  // Given up a turn later, and so often under way; `number` as in kUnknownActivity. The generator draws them as
  // kUnknownActivity and kUnknownChild.
  kDroppedUnknownActivity,
  kDroppedUnknownChild,
  kDivergingChild,  // its code does something else each time it runs; detached if `number` is odd, else dropped
};
inline constexpr std::size_t kOps = static_cast<std::size_t>(Op::kDivergingChild) + 1;
inline constexpr std::size_t kCommonOps = static_cast<std::size_t>(Op::kSaga) + 1;
[[nodiscard]] std::string_view to_string(Op op) noexcept;

struct Step;
using Block = std::vector<Step>;

// How the parent handles a kSharedChild.
enum class Sharing : std::uint8_t {
  kAwaited,
  kDropped,       // a turn later, when it may have begun, have been refused, or neither
  kDetached,      // its outcome has no effect
  kHeld,          // no code waits for it, and the end of the execution drops it
  kStartedAlone,  // it has no parent
};
inline constexpr std::size_t kSharings = 5;

enum class Ending : std::uint8_t {
  kCompletes,
  kFails,
  kWaits,     // forever
  kPoisons,   // no node has its code
  kDiverges,  // wherever its code runs a second time
};

struct Program {
  std::string path;                    // unique in the workload; that of a child begins with its parent's
  std::string id;                      // of its instance, if that is not the path
  std::optional<std::string> version;  // asked for; else whatever the node that starts it has
  std::vector<Block> sections;         // an execution each, joined by continue-as-new
  Ending ending = Ending::kCompletes;

  bool operator==(const Program& other) const;
};

struct Step {
  Op op = Op::kActivity;
  std::string id;            // unique in its program: its value is found under it
  std::uint64_t number = 0;  // how often, how long, which variant
  std::string key;           // of a key value
  bool last = false;         // kQueue: no other follows
  std::vector<Block> blocks;
  std::vector<Program> programs;

  bool operator==(const Step&) const = default;
};

inline bool Program::operator==(const Program& other) const {
  return path == other.path && id == other.id && version == other.version && sections == other.sections &&
         ending == other.ending;
}

// Unique in the workload: names of signals, queues, sessions, instances, and what activities are told.
[[nodiscard]] std::string token(const Program& program, const Step& step);
// The id that a child or a detached instance is given, and how an instance is told from its program.
[[nodiscard]] std::string instance_id_of(const Program& program);
[[nodiscard]] std::string failure_of(const Program& program);
// The clients' messages for its queue carry the path, so that no program reads those of another.
[[nodiscard]] std::string message_name(const Program& program, std::size_t number);
[[nodiscard]] Sharing sharing_of(const Step& step);
// Of a kDivergingChild.
[[nodiscard]] inline bool is_detached(const Step& step) noexcept {
  return step.number % 2 == 1;
}

// What one execution hands to the next.
struct ProgramState {
  std::size_t section = 0;
  nlohmann::json values = nlohmann::json::object();  // by step
  std::set<std::string> messages;                    // of the clients' queue that were read
  std::vector<std::string> versions;                 // that ran the executions

  bool operator==(const ProgramState&) const = default;
};

struct Assignment {
  Program program;
  ProgramState state;

  bool operator==(const Assignment&) const = default;
};
[[nodiscard]] std::string encode_assignment(const Assignment& assignment);
// Throws std::exception if the text is none.
[[nodiscard]] Assignment decode_assignment(const std::string& text);

// Calls `visit` for each step, those of nested blocks included, but not those of other instances.
template <class Visit>
void for_each_step(const Block& block, const Visit& visit) {
  for (const Step& step : block) {
    visit(step);
    for (const Block& inner : step.blocks) for_each_step(inner, visit);
  }
}
template <class Visit>
void for_each_step(const Program& program, const Visit& visit) {
  for (const Block& section : program.sections) for_each_step(section, visit);
}

}  // namespace perdure::testing::simulation
