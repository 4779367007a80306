// Random orchestrations: small programs as data, made from a seed, and the coroutine that runs them.
//
// A program folds every value it obtains into a running hash. The hash goes into the inputs of its operations, decides
// its branches and is its output, so that two runs that saw different things cannot write the same history.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <perdure/orchestration_handler.h>
#include <perdure/types.h>
#include "support/dice.h"

namespace perdure::test {

// Names of events, queues, activities and keys: few, so that operations meet each other.
inline constexpr std::size_t kNames = 3;
[[nodiscard]] std::string event_name(std::size_t number);
[[nodiscard]] std::string queue_name(std::size_t number);
// Programs continue as new until they are at this execution.
inline constexpr ExecutionId kLastExecution = 3;

enum class SourceKind : std::uint8_t { kActivity, kRetriedActivity, kChild, kEvent, kQueue };

// Something that gives a Future<std::string>.
struct Source {
  SourceKind kind = SourceKind::kActivity;
  std::size_t name = 0;
  std::uint32_t options = 0;  // session, tag, retry policy, child id: a bit each
};

enum class StepKind : std::uint8_t {
  // one operation
  kAwait,
  kAwaitTimer,
  kKeep,  // one or several
  kAwaitKept,
  kAwaitOuter,  // a future that the surrounding block keeps, perhaps together with other tasks
  kLookAtKept,
  kDropKept,
  kDetachKept,
  kDropNew,
  kDetachNew,
  kReadForeignKey,
  // the first of several
  kSelectWithTimer,
  kSelectFour,  // operation, task, timer, operation
  kSelectMany,
  kSelectTasks,
  kSelectKept,  // borrowed
  kSelectKeptWithTimer,
  kSelectJoin,  // a join against a timer
  // all of several
  kJoinMany,
  kJoinMixed,  // operation, timer, task
  kJoinTasks,
  kJoinSelect,  // a select and an operation
  kJoinKept,    // borrowed
  // structure
  kTask,
  kBranch,
  kRepeat,
  kSaga,
  kThrow,
  kPanic,
  kContinueAsNew,
  // plain calls
  kStartDetached,
  kSetKey,
  kSeeKeys,
  kClearKey,
  kClearKeys,
  kPruneKeys,
  kSetStatus,
  kResetStatus,
  kSeeStatus,
  kGuid,
  kNow,
  kRandom,
  kSeeItself,
};

// What a step does with the failure of what it awaits.
enum class OnFailure : std::uint8_t { kThrow, kCatch, kAsResult };

struct Step {
  StepKind kind = StepKind::kAwait;
  OnFailure on_failure = OnFailure::kAsResult;
  std::size_t number = 0;  // which key, which kept future, how often, how long
  std::vector<Source> sources;
  std::vector<std::vector<Step>> blocks;
};
using Block = std::vector<Step>;

// Finite: it ends after finitely many completions, whatever they are.
[[nodiscard]] Block random_program(std::uint64_t seed);

// What a program saw. It is no part of the orchestration: the test's window into it.
struct Observations {
  struct Read {
    std::size_t queue = 0;
    std::string message;
    bool first_in_line = false;  // no other future of the queue was there when it asked
    bool operator==(const Read&) const = default;
  };
  struct Selection {
    std::vector<EventId> parts;  // schedule ids; 0 where the outcome has no source in history
    std::size_t winner = 0;
    std::string value;
    std::vector<std::string> losers;  // what parts held that were done, too
    bool operator==(const Selection&) const = default;
  };
  std::vector<std::uint64_t> hashes;  // after every value that it obtained
  std::vector<Read> reads;
  std::map<EventId, std::string> events;  // what a subscription received
  std::vector<Selection> selections;
  std::vector<EventId> joined;  // parts of joins that were over, by schedule id
  bool went_on_after_its_end = false;
  std::array<int, kNames> queue_futures{};  // that exist
  std::array<int, kNames> queue_awaits{};   // that the code stands at, alone and unresolved
  bool operator==(const Observations&) const = default;
};

// The program as the engine runs it. `seen` outlives the instances that are made from it.
[[nodiscard]] std::shared_ptr<const OrchestrationHandler> program_handler(std::shared_ptr<const Block> program,
                                                                          Observations& seen);

}  // namespace perdure::test
