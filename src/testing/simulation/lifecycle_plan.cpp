#include <algorithm>
#include <utility>

#include "testing/dice.h"
#include "testing/simulation/interpreter.h"
#include "testing/simulation/lifecycle.h"
#include "testing/simulation/program_generator.h"
#include "testing/simulation/program_prediction.h"

namespace perdure::testing::simulation {

namespace {

constexpr std::size_t kPerSecond = 1'000;
constexpr std::size_t kSizeOfProgram = 5;
constexpr std::size_t kSharedNames = 2;

std::string life_id(std::size_t index) {
  return "life" + std::to_string(index);
}

class LifePlanner {
 public:
  LifePlanner(std::uint64_t seed, std::size_t index, bool contested, const std::vector<std::string>& contested_ids,
              const std::vector<std::string>& roots)
      : dice_(Dice(seed ^ (0xE7037ED1A0B428DBU * (index + 1))).next()) {
    plan_.index = index;
    plan_.id = life_id(index);
    plan_.contested = contested;
    setting_.id = plan_.id;
    setting_.reads_queue = !contested;
    for (std::size_t i = 0; i < kSharedNames; ++i) setting_.shared_ids.push_back("shared" + std::to_string(i));
    for (const std::string& id : contested_ids) {
      if (id != plan_.id) setting_.shared_ids.push_back(id);
    }
    if (!roots.empty() && dice_.chance(50)) {
      const std::string& root = dice_.one_of(roots);
      setting_.shared_ids.push_back(root);
      plan_.waits_for.insert(root);
    }
  }

  LifePlan plan() {
    now_ = dice_.below(20 * kPerSecond);
    for (std::size_t i = dice_.between(1, 4); i > 0; --i) {
      begin();
      for (std::size_t deeds = dice_.below(3); deeds > 0; --deeds) meddle();
      end();
    }
    if (restarts_ || dice_.chance(70)) begin();
    add(LifeCall::kLook);
    add(LifeCall::kSettle);
    ask_what_is_stuck();
    return std::move(plan_);
  }

 private:
  // Most calls happen in the first moments of a tree, while its messages are in transit.
  void add(LifeCall call, std::size_t generation = 0) {
    now_ += dice_.one_of<std::size_t>({dice_.below(10), dice_.below(30), dice_.below(100), dice_.below(100),
                                       dice_.below(2 * kPerSecond), dice_.below(300 * kPerSecond)});
    plan_.steps.push_back({call, Milliseconds(static_cast<std::int64_t>(now_)), generation});
  }

  void begin() {
    const std::size_t generation = plan_.generations.size();
    const std::string path = plan_.id + "." + std::to_string(generation);
    // Half of the instances do what the one before them did, so that their schedules have the same ids.
    if (generation == 0 || dice_.chance(50)) program_seed_ = dice_.next();
    Dice program_dice(program_seed_);
    plan_.generations.push_back(random_life_program(program_dice, path, kSizeOfProgram, setting_));
    const bool reads = messages_for(plan_.generations.back()) > 0;
    const bool restarts = std::exchange(restarts_, false);
    const bool early = !restarts && dice_.chance(50);  // a deletion removes the messages of the id
    if (reads && early) add(LifeCall::kFeed, generation);
    // A replacement that is repeated would be another instance than the one that the messages were for.
    const bool ahead = !restarts && !plan_.contested && dice_.chance(20);
    if (ahead) add_ahead(dice_.one_of({LifeCall::kCancelAhead, LifeCall::kRaiseAhead}), generation, reads && early);
    const bool replaces = !ahead && dice_.chance(30);
    add(restarts ? LifeCall::kRestart : replaces ? LifeCall::kReplace : LifeCall::kStart, generation);
    if (reads && !early) add(LifeCall::kFeed, generation);
  }

  // A deletion would remove the messages that the program reads. Thrown for aside, so that the other choices of the
  // seed stay as they are.
  void add_ahead(LifeCall call, std::size_t generation, bool is_fed) {
    if (!is_fed && Dice(Dice(dice_).next() ^ 0xDE1E7E).chance(40)) call = LifeCall::kDeleteAhead;
    add(call, generation);
  }

  void meddle() {
    const LifeCall call = dice_.one_of({LifeCall::kPrune, LifeCall::kCancel, LifeCall::kTerminate, LifeCall::kLook,
                                        LifeCall::kMissing, LifeCall::kBulkDelete, LifeCall::kBulkPrune});
    add(call, call == LifeCall::kBulkDelete || call == LifeCall::kBulkPrune ? dice_.below(kStateChoices) : 0);
  }

  // Thrown for aside, so that the other choices of the seed stay as they are.
  void ask_what_is_stuck() {
    Dice aside(Dice(dice_).next() ^ 0x57C4);
    if (!aside.chance(15)) return;
    Program unserved;
    unserved.path = "unserved" + std::to_string(plan_.index);
    unserved.version = std::string(kUnservedVersion);
    unserved.ending = Ending::kPoisons;
    unserved.sections.emplace_back();
    plan_.unserved = std::move(unserved);
    std::size_t place = insert(LifeCall::kStartUnserved, aside.below(plan_.steps.size()));
    for (std::size_t i = aside.between(1, 3); i > 0; --i) {
      place = insert(LifeCall::kSurvey, aside.between(place + 1, plan_.steps.size() - 1));
    }
  }
  // At the time of what it comes before. Returns `place`.
  std::size_t insert(LifeCall call, std::size_t place) {
    const auto next = plan_.steps.begin() + static_cast<std::ptrdiff_t>(place);
    const Milliseconds after = next->after;
    plan_.steps.insert(next, {call, after, 0});
    return place;
  }

  void end() {
    const std::size_t face = dice_.below(100);
    if (face < 20) {
      restarts_ = true;
      return;
    }
    if (face < 45) {
      add(LifeCall::kForceDelete);
    } else if (face < 70) {
      add(LifeCall::kDelete);
    } else if (face < 80) {
      add(LifeCall::kTerminate);
    } else if (face < 90) {
      add(LifeCall::kBulkDelete, dice_.below(kStateChoices));
    }
    // The id may have no instance now.
    if (face < 70 && dice_.chance(25)) {
      add(dice_.one_of({LifeCall::kCancel, LifeCall::kTerminate, LifeCall::kRaise}));
    }
  }

  Dice dice_;
  LifePlan plan_;
  LifeSetting setting_;
  std::size_t now_ = 0;
  std::uint64_t program_seed_ = 0;
  bool restarts_ = false;  // the next instance begins in the call that deletes this one
};

}  // namespace

bool LifePlan::has(LifeCall call) const {
  return std::any_of(steps.begin(), steps.end(), [&](const LifeStep& step) { return step.call == call; });
}

std::vector<LifePlan> random_lives(std::uint64_t seed, const std::vector<std::string>& roots) {
  Dice dice(Dice(seed ^ 0x11FE5).next());
  const std::size_t lives = dice.between(1, 3);
  std::vector<bool> contested(lives);
  std::vector<std::string> contested_ids;
  for (std::size_t index = 0; index < lives; ++index) {
    contested[index] = dice.chance(40);
    if (contested[index]) contested_ids.push_back(life_id(index));
  }
  std::vector<LifePlan> plans;
  plans.reserve(lives);
  for (std::size_t index = 0; index < lives; ++index) {
    plans.push_back(LifePlanner(seed, index, contested[index], contested_ids, roots).plan());
  }
  return plans;
}

}  // namespace perdure::testing::simulation
