#include "testing/simulation/scenery.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

#include "testing/dice.h"

namespace perdure::testing::simulation {

namespace {

constexpr unsigned kSqlitePercent = 10;
// Crashes and zombies count as attempts; more of them than there are faults would be a fault of the engine. But in the
// midst of a roll-out an instance may come again and again to nodes that do not have its code: one node in four has it,
// and of 30 fetches in a row all miss it in one seed of some thousands.
constexpr std::uint32_t kMaxAttempts = 80;

// Half of them end before most locks do, and some last longer than a node waits for a lock that it could not end.
Scenery::StoreOutage random_outage(Dice& dice, std::initializer_list<Refusal> refusals) {
  Scenery::StoreOutage outage;
  outage.step = dice.between(1, 300);
  outage.length = Milliseconds(dice.chance(50)   ? dice.below(5'000)
                               : dice.chance(70) ? dice.between(5'000, 600'000)
                                                 : dice.between(1'800'000, 3'600'000));
  outage.refusal = dice.one_of(refusals);
  // An item that fails alone for longer than this ends as poison, as it should.
  if (outage.refusal == Refusal::kSomeCommits) outage.length = std::min(outage.length, Milliseconds(60'000));
  return outage;
}

// Only the first may refuse some commits: of two in a row, an item could fail alone for too long.
std::vector<Scenery::StoreOutage> random_outages(Dice dice) {
  if (!dice.chance(25)) return {};
  std::vector<Scenery::StoreOutage> outages{
      random_outage(dice, {Refusal::kSomeCommits, Refusal::kReads, Refusal::kTurns, Refusal::kOutcomes,
                           Refusal::kCommits, Refusal::kChanges, Refusal::kAll})};
  const std::size_t more = dice.chance(50) ? dice.between(1, 3) : 0;
  for (std::size_t i = 0; i < more; ++i) {
    outages.push_back(random_outage(dice, {Refusal::kReads, Refusal::kTurns, Refusal::kOutcomes, Refusal::kCommits,
                                           Refusal::kChanges, Refusal::kAll}));
  }
  return outages;
}

Scenery::ClockStep random_clock_step(Dice& dice) {
  Scenery::ClockStep step;
  step.step = dice.between(1, 300);
  const Milliseconds by(dice.chance(50) ? dice.between(1, 10'000) : dice.between(10'000, 3'600'000));
  step.by = dice.chance(50) ? by : -by;
  return step;
}

// An administrator who has set a clock wrong sets it right soon, or thinks so.
Scenery::ClockStep random_correction(const Scenery::ClockStep& wrong, Dice& dice) {
  Scenery::ClockStep step = random_clock_step(dice);
  step.step = wrong.step + dice.between(1, 30);
  if (dice.chance(70)) step.by = -wrong.by;
  return step;
}

std::vector<Scenery::ClockStep> random_clock_steps(Dice dice) {
  if (!dice.chance(25)) return {};
  std::vector<Scenery::ClockStep> steps{random_clock_step(dice)};
  const std::size_t more = dice.chance(50) ? dice.between(1, 3) : 0;
  for (std::size_t i = 0; i < more; ++i) {
    steps.push_back(dice.chance(50) ? random_correction(steps.back(), dice) : random_clock_step(dice));
  }
  return steps;
}

}  // namespace

std::string Scenery::StoreOutage::describe() const {
  std::string refused;
  switch (refusal) {
    case Refusal::kNone:
      refused = "no calls";
      break;
    case Refusal::kSomeCommits:
      refused = "some commits";
      break;
    case Refusal::kReads:
      refused = "reads of histories";
      break;
    case Refusal::kTurns:
      refused = "turns";
      break;
    case Refusal::kOutcomes:
      refused = "outcomes";
      break;
    case Refusal::kCommits:
      refused = "commits";
      break;
    case Refusal::kChanges:
      refused = "changes";
      break;
    case Refusal::kAll:
      refused = "all calls";
      break;
  }
  return refused + " fail for " + std::to_string(length.count()) + " ms";
}

// Everything is thrown for, wanted or not, so that a choice that the options fix leaves the others as they were.
Scenery::Scenery(std::uint64_t seed, const RunOptions& options) {
  Dice dice(Dice(seed ^ 0x5CE4E).next());
  const std::size_t thrown_nodes = dice.between(1, 4);
  nodes = options.nodes.value_or(thrown_nodes);
  const bool sqlite = dice.chance(kSqlitePercent);
  store = options.store.value_or(sqlite ? StoreKind::kSqlite : StoreKind::kMemory);
  const bool fast = dice.chance(50);
  fast_path = options.fast_path.value_or(fast);
  const std::size_t thrown_faults = dice.chance(10) ? 0 : dice.between(2, 16);
  faults = options.max_faults.value_or(thrown_faults);
  faults_per_1000_steps = dice.between(5, 60);
  if (faults > 0 && contains(options.faults, Fault::kStoreOutage))
    store_outages = random_outages(Dice(Dice(seed ^ 0x07A6E).next()));
  if (faults > 0 && contains(options.faults, Fault::kClockStep))
    clock_steps = random_clock_steps(Dice(Dice(seed ^ 0xC10C5).next()));
  holds_updates = Dice(Dice(seed ^ 0x7A17).next()).chance(50);
  new_engine_ = dice.chance(50);
  const bool before_upgrade = dice.chance(60);
  first_generation = before_upgrade && contains(options.faults, Fault::kUpgrade) ? 0 : 1;
  latest_upgrade = dice.between(1, 150);
  turn_lock_ = Milliseconds(dice.one_of({1'000, 5'000, 20'000}));
  work_lock_ = Milliseconds(dice.one_of({5'000, 30'000, 120'000}));
  sessions_ = dice.between(1, 4);
  for (std::size_t place = 0; place < std::max<std::size_t>(nodes, 16); ++place) {
    Place here;
    here.turns = dice.between(1, 4);
    here.activities = dice.between(1, 4);
    here.cached = dice.one_of<std::size_t>({0, 1, 3, 1'000, 1'000, 1'000});
    here.named = dice.chance(50);
    here.serves_tags = place == 0 || dice.chance(50);
    here.only_registered = dice.chance(30);
    places_.push_back(here);
  }
}

RuntimeOptions Scenery::node_options(std::size_t place, int generation, const Tags& tags) const {
  const Place& here = places_.at(place);
  RuntimeOptions options;
  options.orchestration_concurrency = here.turns;
  options.worker_concurrency = here.activities;
  options.cached_executions = here.cached;
  options.fast_path = fast_path;
  options.orchestrator_lock_timeout = turn_lock_;
  options.worker_lock_timeout = work_lock_;
  options.max_sessions_per_runtime = sessions_;
  options.max_attempts = kMaxAttempts;
  // Waits end when there is work; asking again is for real stores, and in days of virtual time would be most of the
  // run.
  options.long_poll_timeout = std::chrono::hours(24 * 3'650);
  options.session_cleanup_interval = std::chrono::hours(24 * 100);
  options.fetch_only_registered = here.only_registered;
  if (here.named) options.worker_node_id = "named node " + std::to_string(place);
  if (tags.only) {
    // New code has activities that no other node has.
    const bool serves = here.serves_tags || generation > 0;
    options.worker_tag_filter = serves ? TagFilter::tags(tags.names) : TagFilter::none();
  } else if (here.serves_tags && !tags.names.empty()) {
    options.worker_tag_filter = TagFilter::untagged_and(tags.names);
  }
  if (generation > 0 && new_engine_) {
    const SemanticVersion own = engine_version();
    options.engine_version = SemanticVersion{own.major, own.minor + 1, 0};
  }
  return options;
}

}  // namespace perdure::testing::simulation
