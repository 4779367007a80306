// Properties of replay, over random programs in a random world.
//
// PERDURE_PROPERTY_SEEDS=A..B runs other seeds than the usual ones; a failure prints the line that repeats it alone.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "replay/history_facts.h"
#include "support/dice.h"
#include "support/harness.h"
#include "support/history_damage.h"
#include "support/random_life.h"

namespace perdure::test {
namespace {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 2'000;
};

Seeds seeds() {
  const char* text = std::getenv("PERDURE_PROPERTY_SEEDS");
  if (!text) return {};
  const std::string_view range(text);
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos) throw std::invalid_argument("PERDURE_PROPERTY_SEEDS is A..B");
  return {std::stoull(std::string(range.substr(0, dots))), std::stoull(std::string(range.substr(dots + 2)))};
}

std::span<const Event> events_before(const LivedExecution& execution, std::size_t turn) {
  return std::span(execution.history).first(execution.turns[turn].events_before);
}

// The stored events are a history by the engine's own rules, too, and the code repeats it.
Broken replays_as_a_whole(const RandomLife& life, const LivedExecution& execution) {
  HistoryFacts facts;
  for (const Event& event : execution.history) {
    if (auto problem = facts.problem_with(event)) return problem;
    facts.record(event);
  }
  const auto witness = life.witness(execution);
  witness->instance.replay(execution.history);
  if (witness->instance.failure()) return "the whole history: " + describe(*witness->instance.failure());
  return std::nullopt;
}

// Whichever commit a node wakes up at, in whatever pieces it read the history up to there, the next turn is the same.
Broken continues_from_every_commit(const RandomLife& life, const LivedExecution& execution, Dice& dice) {
  for (std::size_t i = 0; i < execution.turns.size(); ++i) {
    const auto witness = life.witness(execution);
    const auto before = events_before(execution, i);
    const std::size_t middle = execution.turns[dice.below(i + 1)].events_before;
    witness->instance.replay(before.first(middle));
    witness->instance.replay(before.subspan(middle));
    const TurnOutcome again = witness->instance.run_turn(execution.turns[i].request);
    if (const auto differs = difference(execution.turns[i].outcome, again)) {
      return "from the commit before turn " + std::to_string(i + 1) + ": " + *differs;
    }
  }
  return std::nullopt;
}

// A history that the code did not write is refused, and the next turn ends the execution.
Broken refuses_damage(const RandomLife& life, const LivedExecution& execution, Dice& dice) {
  const auto damage = damaged(execution.history, dice);
  if (!damage) return std::nullopt;
  const auto witness = life.witness(execution);
  witness->instance.replay(damage->history);
  if (!witness->instance.failure()) return "a damaged history is accepted: " + damage->what;
  TurnRequest request;
  request.messages = {{kInstance, std::nullopt, std::nullopt, messages::ExternalRaised{"event0", std::nullopt}}};
  const TurnOutcome end = witness->instance.run_turn(request);
  const bool ended = end.status == ExecutionStatus::kFailed || witness->instance.facts().terminal();
  if (!ended) return "a damaged history does not end its execution: " + damage->what;
  return std::nullopt;
}

// How many lives came to what the generators must not miss.
struct Reached {
  int carried = 0;   // messages under a limit that is not the usual one
  int exceeded = 0;  // that limit
  int given_up = 0;  // operations that were dropped ended with an error that no code may see
};

void note(const RandomLife& life, Reached& reached) {
  const bool is_limited = life.limits() != Limits();
  bool carried = false;
  bool given_up = false;
  for (const LivedExecution& execution : life.executions()) {
    const auto* start = std::get_if<events::OrchestrationStarted>(&execution.history.front().body);
    carried = carried || (is_limited && start != nullptr && !start->carry_forward.empty());
    for (const Event& event : execution.history) {
      const auto* activity = std::get_if<events::ActivityFailed>(&event.body);
      const auto* child = std::get_if<events::SubOrchestrationFailed>(&event.body);
      const std::string text = activity != nullptr ? describe(activity->error)
                               : child != nullptr  ? describe(child->error)
                                                   : std::string();
      given_up = given_up || text.find(kOfGivenUp) != std::string::npos;
    }
  }
  const TurnOutcome& last = life.executions().back().turns.back().outcome;
  const auto* error = last.error ? std::get_if<ApplicationError>(&*last.error) : nullptr;
  reached.carried += carried ? 1 : 0;
  reached.given_up += given_up ? 1 : 0;
  reached.exceeded += error != nullptr && error->kind == ApplicationErrorKind::kLimitExceeded ? 1 : 0;
}

Broken check_seed(std::uint64_t seed, Reached& reached) {
  RandomLife life(seed, RandomLife::Memory::kDoubted);
  if (auto broken = life.live()) return broken;
  note(life, reached);
  Dice dice(seed);
  for (const LivedExecution& execution : life.executions()) {
    if (auto broken = replays_as_a_whole(life, execution)) return broken;
    if (auto broken = continues_from_every_commit(life, execution, dice)) return broken;
    for (int i = 0; i < 3; ++i) {
      if (auto broken = refuses_damage(life, execution, dice)) return broken;
    }
  }
  RandomLife again(seed, RandomLife::Memory::kKept);
  if (auto broken = again.live()) return "the second time, always in memory: " + *broken;
  if (life.text() != again.text()) return "the second time, always in memory, the history is another";
  return std::nullopt;
}

// For whoever looks at a single seed.
void print_life(std::uint64_t seed) {
  RandomLife life(seed, RandomLife::Memory::kKept);
  static_cast<void>(life.live());
  for (const LivedExecution& execution : life.executions()) {
    for (const Event& event : execution.history) {
      std::cout << "turn " << event.turn << "  " << lines_of({event}).front() << '\n';
    }
  }
}

TEST(RandomPrograms, LiveTheSameLifeHoweverTheyAreKeptAndLoseNothing) {
  constexpr int kEnough = 10;
  const Seeds range = seeds();
  int failures = 0;
  Reached reached;
  for (std::uint64_t seed = range.first; seed <= range.last && failures < kEnough; ++seed) {
    const Broken broken = check_seed(seed, reached);
    if (!broken) continue;
    ++failures;
    const std::string number = std::to_string(seed);
    ADD_FAILURE() << "PERDURE_PROPERTY_SEEDS=" << number << ".." << number
                  << " perdure_replay_tests --gtest_filter='RandomPrograms.*'   # " << *broken;
    if (range.first == range.last) print_life(seed);
  }
  if (failures > 0 || range.last - range.first < Seeds().last - Seeds().first) return;
  EXPECT_GE(reached.carried, 10);
  EXPECT_GE(reached.exceeded, 10);
  EXPECT_GE(reached.given_up, 50);
}

}  // namespace
}  // namespace perdure::test
