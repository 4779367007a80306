// What a turn counts for the metrics.
#include "runtime/turn_counts.h"

#include <limits>

#include <gtest/gtest.h>

namespace perdure::runtime {
namespace {

constexpr Timestamp kNow{Milliseconds(1'700'000'000'000)};

std::vector<Milliseconds> lateness_of(std::initializer_list<Timestamp> due) {
  TurnOutcome outcome;
  for (const Timestamp time : due) {
    Event event;
    event.body = events::TimerFired{.source = 2, .fire_at = time};
    outcome.events.push_back(event);
  }
  return count_turn(outcome, kNow).fired;
}

TEST(TurnCounts, TimersAreAsLateAsTheTimeSinceTheyWereDue) {
  EXPECT_EQ(lateness_of({kNow - Milliseconds(250), kNow, kNow + Milliseconds(3)}),
            (std::vector{Milliseconds(250), Milliseconds(0), Milliseconds(0)}));
}

TEST(TurnCounts, TimersOfAnyTimestampHaveALateness) {
  const Timestamp first{Milliseconds(std::numeric_limits<std::int64_t>::min())};
  const Timestamp last{Milliseconds(std::numeric_limits<std::int64_t>::max())};
  EXPECT_EQ(lateness_of({first, last}), (std::vector{kNow.time_since_epoch(), Milliseconds(0)}));
}

}  // namespace
}  // namespace perdure::runtime
