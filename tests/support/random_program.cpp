// The generator of random programs.
#include "support/random_program.h"

#include <utility>

namespace perdure::test {

std::string event_name(std::size_t number) {
  return "event" + std::to_string(number);
}
std::string queue_name(std::size_t number) {
  return "queue" + std::to_string(number);
}

namespace {

struct Weight {
  StepKind kind;
  std::size_t weight;
};

constexpr std::size_t kMaxDepth = 3;
constexpr std::size_t kMaxSteps = 40;  // in the whole program

constexpr std::array kWeights = {
    Weight{StepKind::kAwait, 12},
    Weight{StepKind::kAwaitTimer, 3},
    Weight{StepKind::kKeep, 10},
    Weight{StepKind::kAwaitKept, 6},
    Weight{StepKind::kAwaitOuter, 5},
    Weight{StepKind::kLookAtKept, 2},
    Weight{StepKind::kDropKept, 5},
    Weight{StepKind::kDetachKept, 2},
    Weight{StepKind::kDropNew, 2},
    Weight{StepKind::kDetachNew, 2},
    Weight{StepKind::kReadForeignKey, 1},
    Weight{StepKind::kSelectWithTimer, 6},
    Weight{StepKind::kSelectFour, 4},
    Weight{StepKind::kSelectMany, 6},
    Weight{StepKind::kSelectTasks, 4},
    Weight{StepKind::kSelectKept, 6},
    Weight{StepKind::kSelectKeptWithTimer, 4},
    Weight{StepKind::kSelectJoin, 3},
    Weight{StepKind::kJoinMany, 6},
    Weight{StepKind::kJoinMixed, 3},
    Weight{StepKind::kJoinTasks, 5},
    Weight{StepKind::kJoinSelect, 3},
    Weight{StepKind::kJoinKept, 3},
    Weight{StepKind::kTask, 5},
    Weight{StepKind::kBranch, 5},
    Weight{StepKind::kRepeat, 3},
    Weight{StepKind::kSaga, 2},
    Weight{StepKind::kThrow, 1},
    Weight{StepKind::kContinueAsNew, 2},
    Weight{StepKind::kStartDetached, 2},
    Weight{StepKind::kSetKey, 4},
    Weight{StepKind::kSeeKeys, 2},
    Weight{StepKind::kClearKey, 2},
    Weight{StepKind::kClearKeys, 1},
    Weight{StepKind::kPruneKeys, 2},
    Weight{StepKind::kSetStatus, 2},
    Weight{StepKind::kResetStatus, 1},
    Weight{StepKind::kSeeStatus, 1},
    Weight{StepKind::kGuid, 2},
    Weight{StepKind::kNow, 2},
    Weight{StepKind::kRandom, 2},
    Weight{StepKind::kSeeItself, 1},
};

// How many operations and how many blocks a step has.
struct Shape {
  std::size_t sources = 0;
  std::size_t blocks = 0;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : dice_(seed) {}

  Block program() {
    Block body = block(0, dice_.between(4, 12));
    if (dice_.chance(15)) body.push_back(step_of(StepKind::kContinueAsNew, 0));
    if (dice_.chance(5)) body.push_back(step_of(StepKind::kThrow, 0));
    if (dice_.chance(2)) body.push_back(step_of(StepKind::kPanic, 0));
    return body;
  }

 private:
  Block block(std::size_t depth, std::size_t length) {
    Block steps;
    for (std::size_t i = 0; i < length && steps_ < kMaxSteps; ++i) steps.push_back(step_of(kind(depth), depth));
    return steps;
  }
  Step step_of(StepKind kind, std::size_t depth) {
    ++steps_;
    Step step;
    step.kind = kind;
    step.on_failure =
        dice_.chance(20) ? OnFailure::kThrow : (dice_.chance(40) ? OnFailure::kCatch : OnFailure::kAsResult);
    step.number = dice_.below(1'000);
    const Shape shape = shape_of(kind);
    for (std::size_t i = 0; i < shape.sources; ++i) step.sources.push_back(source());
    for (std::size_t i = 0; i < shape.blocks; ++i) step.blocks.push_back(block(depth + 1, dice_.between(1, 4)));
    return step;
  }
  StepKind kind(std::size_t depth) {
    for (;;) {
      std::size_t total = 0;
      for (const Weight& each : kWeights) total += each.weight;
      std::size_t rest = dice_.below(total);
      for (const Weight& each : kWeights) {
        if (rest < each.weight) {
          if (depth < kMaxDepth || shape_of(each.kind).blocks == 0) return each.kind;
          break;
        }
        rest -= each.weight;
      }
    }
  }
  Shape shape_of(StepKind kind) {
    switch (kind) {
      case StepKind::kKeep:
        return {dice_.between(1, 3), 0};
      case StepKind::kAwait:
      case StepKind::kDropNew:
      case StepKind::kDetachNew:
      case StepKind::kSelectWithTimer:
        return {1, 0};
      case StepKind::kSelectFour:
        return {2, 1};
      case StepKind::kSelectMany:
        return {dice_.between(2, 4), 0};
      case StepKind::kJoinMany:
        return {dice_.between(2, 6), 0};
      case StepKind::kSelectTasks:
      case StepKind::kJoinTasks:
        return {0, dice_.between(2, 3)};
      case StepKind::kSelectJoin:
      case StepKind::kJoinSelect:
        return {2, 0};
      case StepKind::kJoinMixed:
        return {1, 1};
      case StepKind::kTask:
      case StepKind::kRepeat:
        return {0, 1};
      case StepKind::kBranch:
        return {0, 2};
      default:
        return {0, 0};
    }
  }
  Source source() {
    Source source;
    const std::size_t face = dice_.below(100);
    source.kind = face < 38   ? SourceKind::kActivity
                  : face < 50 ? SourceKind::kRetriedActivity
                  : face < 62 ? SourceKind::kChild
                  : face < 78 ? SourceKind::kEvent
                              : SourceKind::kQueue;
    source.name = dice_.below(kNames);
    source.options = static_cast<std::uint32_t>(dice_.below(64));
    return source;
  }

  Dice dice_;
  std::size_t steps_ = 0;
};

}  // namespace

Block random_program(std::uint64_t seed) {
  return Generator(seed).program();
}

}  // namespace perdure::test
