#include "testing/simulation/program_generator.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "testing/simulation/interpreter.h"

namespace perdure::testing::simulation {

namespace {

constexpr std::size_t kDeepestProgram = 2;  // a root is at 0
constexpr std::size_t kDeepestBlock = 2;
constexpr std::uint64_t kSecond = 1'000;
constexpr std::uint64_t kDay = 86'400'000;

constexpr bool is_between(Op op, Op first, Op last) {
  return first <= op && op <= last;
}

class Generator {
 public:
  Generator(Dice& dice, std::size_t depth) : dice_(dice), depth_(depth) {}
  // `own_ids` are those of the instance and its ancestors, as far as they are known.
  Generator(Dice& dice, std::size_t depth, const LifeSetting& life, std::vector<std::string> own_ids)
      : dice_(dice), depth_(depth), life_(&life), own_ids_(std::move(own_ids)) {}

  Program program(std::string path, std::size_t size, Ending ending) {
    Program made;
    made.path = path_ = std::move(path);
    made.ending = ending;
    if (dice_.chance(20)) made.version = std::string(dice_.chance(50) ? kFirstVersion : kSecondVersion);
    const std::size_t sections = dice_.chance(depth_ == 0 ? 40 : 20) ? dice_.between(2, 3) : 1;
    for (std::size_t i = 0; i < sections; ++i) {
      made.sections.push_back(block(std::max<std::size_t>(size / sections, 1), 0, false));
    }
    mark_last_queue(made);
    return made;
  }

 private:
  Block block(std::size_t length, std::size_t nesting, bool parallel) {
    Block steps;
    for (std::size_t i = 0; i < length; ++i) steps.push_back(step(nesting, parallel));
    return steps;
  }

  Step step(std::size_t nesting, bool parallel) {
    Step made;
    if (life_ != nullptr && dice_.chance(35)) {
      made.op = life_op();
    } else {
      do {
        made.op = static_cast<Op>(dice_.below(kCommonOps));
      } while (!allowed(made.op, nesting, parallel));
    }
    made.id = "s" + std::to_string(++steps_);
    made.number = number(made.op);
    if (made.op == Op::kUnservedActivity) vary_unserved(made);
    if (made.op == Op::kUnknownActivity || made.op == Op::kUnknownChild) vary_unknown(made);
    if (is_between(made.op, Op::kSetKey, Op::kReadKey) || made.op == Op::kForeignKey) {
      made.key = "k" + std::to_string(dice_.below(3));
    }
    if (is_between(made.op, Op::kJoinPack, Op::kThrowingTask)) {
      const bool side_by_side = made.op == Op::kJoinPack || made.op == Op::kJoinTasks;
      const std::size_t blocks = made.op == Op::kJoinTasks ? dice_.between(2, 3) : 1;
      for (std::size_t i = 0; i < blocks; ++i) {
        made.blocks.push_back(block(dice_.between(1, 2), nesting + 1, parallel || side_by_side));
      }
    }
    if (is_between(made.op, Op::kChild, Op::kForeignKey)) made.programs.push_back(other_program(made));
    const bool is_unknown_child = made.op == Op::kUnknownChild || made.op == Op::kDroppedUnknownChild;
    if (is_unknown_child || made.op == Op::kDivergingChild || made.op == Op::kSharedChild) {
      made.programs.push_back(life_child(made));
    }
    return made;
  }

  static void vary_unserved(Step& step) {
    if (step.number % 2 == 1) step.op = Op::kUnknownTimedActivity;
    if (step.number % 4 == 0) step.op = Op::kRetiredActivity;
  }

  // Thrown for aside, so that the other choices of the seed stay as they are.
  void vary_unknown(Step& step) {
    Dice aside(Dice(dice_).next() ^ 0xD209BED);
    if (step.op == Op::kUnknownActivity) {
      if (aside.chance(50)) step.op = Op::kDroppedUnknownActivity;
      return;
    }
    step.op = aside.one_of({Op::kUnknownChild, Op::kDroppedUnknownChild, Op::kDivergingChild});
    if (step.op == Op::kDivergingChild && aside.chance(50)) ++step.number;
  }

  // An item ends as poison only after many attempts, so such steps are rare.
  Op life_op() {
    const std::size_t face = dice_.below(100);
    if (depth_ == kDeepestProgram) return face < 95 ? Op::kActivity : Op::kUnknownActivity;
    if (face < 6) return Op::kUnknownActivity;
    return face < 12 ? Op::kUnknownChild : Op::kSharedChild;
  }

  // Blocks that run side by side share neither keys nor the status nor the clients' queue: their order is not fixed.
  bool allowed(Op op, std::size_t nesting, bool parallel) {
    if (is_between(op, Op::kChild, Op::kForeignKey) && (depth_ == kDeepestProgram || !dice_.chance(60))) return false;
    if (is_between(op, Op::kJoinPack, Op::kThrowingTask) && nesting == kDeepestBlock) return false;
    if (is_between(op, Op::kSetKey, Op::kResetStatus) && parallel) return false;
    if (life_ != nullptr && (op == Op::kSignalFromClient || op == Op::kRacingSignal)) return false;
    if (life_ != nullptr && op == Op::kQueue && !life_->reads_queue) return false;
    if (op == Op::kSignalFromClient) return depth_ == 0 && !parallel;
    if (op == Op::kRacingSignal) return depth_ == 0;
    if (op == Op::kQueue) return depth_ == 0 && !parallel;
    return true;
  }

  std::uint64_t number(Op op) {
    switch (op) {
      case Op::kTimer:
        return duration();
      case Op::kRacingSignal:
        return dice_.chance(50) ? dice_.between(1, 10 * kSecond) : dice_.between(1, kDay);
      case Op::kSelectRace:
        return dice_.one_of<std::uint64_t>({0, 1, 100, 5 * kSecond});
      case Op::kSelectFixed:
      case Op::kJoinPack:
      case Op::kTimedOutActivity:
      case Op::kSilentActivity:
      case Op::kUnservedActivity:
        return dice_.between(1, 60 * kSecond);
      case Op::kJoinMany:
        return dice_.between(1, 4);
      case Op::kSharedChild:
        return dice_.below(kSharings);
      case Op::kDroppedActivity:
        return dice_.between(1, 6);
      case Op::kUnknownActivity:
      case Op::kUnknownChild:
        return dice_.chance(50) ? 0 : dice_.between(1, 6) * 3'600 * kSecond;
      default:
        return dice_.between(2, 4);
    }
  }

  std::uint64_t duration() {
    return dice_.one_of<std::uint64_t>(
        {0, 1, dice_.between(1, kSecond), dice_.between(1, 3'600 * kSecond), dice_.between(1, 4 * kDay)});
  }

  Program other_program(const Step& step) {
    Ending ending = dice_.chance(25) ? Ending::kFails : Ending::kCompletes;
    // Against a select it has to lose.
    if (step.op == Op::kDroppedChild && (step.number % 3 == 2 || dice_.chance(50))) ending = Ending::kWaits;
    const bool alone = step.op == Op::kDetachedStart;
    const bool named = alone || step.op == Op::kNamedChild || step.op == Op::kForeignKey;
    return below(step, ending, alone, named ? std::optional(path_ + "/" + step.id) : std::nullopt);
  }

  // An instance without a parent may outlive the others, and then their ids are not its own.
  Program below(const Step& step, Ending ending, bool alone, const std::optional<std::string>& id) {
    const std::size_t size = dice_.between(1, depth_ == 0 ? 3 : 2);
    if (life_ == nullptr) return Generator(dice_, depth_ + 1).program(path_ + "/" + step.id, size, ending);
    std::vector<std::string> ids = alone ? std::vector<std::string>() : own_ids_;
    if (id) ids.push_back(*id);
    return Generator(dice_, depth_ + 1, *life_, std::move(ids)).program(path_ + "/" + step.id, size, ending);
  }

  Program life_child(const Step& step) {
    if (step.op != Op::kSharedChild) {
      Program unknown;
      unknown.path = path_ + "/" + step.id;
      unknown.ending = step.op == Op::kDivergingChild ? Ending::kDiverges : Ending::kPoisons;
      unknown.sections.emplace_back();
      // A detached one must end by itself.
      if (step.op == Op::kDivergingChild && is_detached(step)) {
        Step& end = unknown.sections.front().emplace_back();
        end.id = "s1";
      }
      return unknown;
    }
    const Sharing sharing = sharing_of(step);
    const bool is_dropped = sharing == Sharing::kDropped || sharing == Sharing::kHeld;
    const Ending ending = is_dropped && dice_.chance(50) ? Ending::kWaits
                          : dice_.chance(25)             ? Ending::kFails
                                                         : Ending::kCompletes;
    const bool own = !own_ids_.empty() && (life_->shared_ids.empty() || dice_.chance(30));
    if (!own && life_->shared_ids.empty()) return below(step, ending, true, std::nullopt);
    const std::string id = own ? dice_.one_of(own_ids_) : dice_.one_of(life_->shared_ids);
    Program child = below(step, ending, sharing == Sharing::kStartedAlone, id);
    child.id = id;
    return child;
  }

  static void mark_last_queue(Program& program) {
    Step* last = nullptr;
    for (Block& section : program.sections) find_last_queue(section, last);
    if (last) last->last = true;
  }
  static void find_last_queue(Block& block, Step*& last) {
    for (Step& step : block) {
      if (step.op == Op::kQueue) last = &step;
      for (Block& inner : step.blocks) find_last_queue(inner, last);
    }
  }

  Dice& dice_;
  std::size_t depth_;
  const LifeSetting* life_ = nullptr;
  std::vector<std::string> own_ids_;
  std::string path_;
  std::size_t steps_ = 0;
};

}  // namespace

Program random_program(Dice& dice, const std::string& path, std::size_t size) {
  const std::size_t face = dice.below(100);
  const Ending ending = face < 70 ? Ending::kCompletes : (face < 85 ? Ending::kFails : Ending::kWaits);
  Generator generator(dice, 0);
  return generator.program(path, dice.between(size / 2 + 1, size + size / 2), ending);
}

Program random_life_program(Dice& dice, const std::string& path, std::size_t size, const LifeSetting& setting) {
  const std::size_t face = dice.below(100);
  const Ending ending = face < 65 ? Ending::kCompletes : (face < 80 ? Ending::kFails : Ending::kWaits);
  Generator generator(dice, 0, setting, {setting.id});
  Program made = generator.program(path, dice.between(1, size), ending);
  made.id = setting.id;
  return made;
}

}  // namespace perdure::testing::simulation
