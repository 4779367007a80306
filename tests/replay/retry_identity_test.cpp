// An attempt of a RetryPolicy knows the attempts before it: the schedule id of the first one, and how many there were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

auto retried(std::uint32_t attempts, Backoff backoff = Backoff::none()) {
  return [attempts, backoff](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(RetryPolicy(attempts).backoff(backoff));
    auto other = ctx.schedule_activity<int>("Other");
    co_return co_await ctx.schedule_activity<int>("A", options);
  };
}

MessageBody failed_after(EventId id, std::optional<std::uint32_t> fetches) {
  return messages::ActivityFailed{id, ApplicationError{ApplicationErrorKind::kActivityFailed, "no luck", true},
                                  std::nullopt, fetches};
}

// Of the last activity that a turn schedules, in the message and in the history alike.
std::optional<EarlierAttempts> earlier_of(const TurnOutcome& turn) {
  if (turn.activities.empty()) return ADD_FAILURE() << "no activity was scheduled", std::nullopt;
  const auto& activity = std::get<messages::ExecuteActivity>(turn.activities.back().body);
  for (const Event& event : turn.events) {
    const auto* scheduled = std::get_if<events::ActivityScheduled>(&event.body);
    if (!scheduled || event.id != activity.schedule_id) continue;
    EXPECT_EQ(scheduled->earlier, activity.earlier);
  }
  return activity.earlier;
}

TEST(RetryIdentity, EveryAttemptKnowsTheFirstAndCountsAllBefore) {
  for (const Backoff backoff : {Backoff::none(), Backoff::fixed(Milliseconds(10))}) {
    Harness harness(retried(5, backoff));
    EXPECT_EQ(earlier_of(harness.start()), std::nullopt);
    EventId last = 3;
    const auto fail = [&](std::optional<std::uint32_t> fetches) {
      auto turn = harness.turn({failed_after(last, fetches)});
      if (turn.activities.empty()) turn = harness.turn({fired(turn.events.back().id)});
      last = turn.events.back().id;
      return turn;
    };
    EXPECT_EQ(earlier_of(fail(std::nullopt)), (EarlierAttempts{3, 1}));
    harness.evict();
    EXPECT_EQ(earlier_of(fail(4)), (EarlierAttempts{3, 5})) << "three crashes between";
    EXPECT_EQ(earlier_of(fail(std::nullopt)), (EarlierAttempts{3, 6}));
    EXPECT_EQ(harness.turn({completed(last, "5")}).output, "5");
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
  }
}

// A history may hold other counts than the code of today would write: those of an engine without them, for instance.
TEST(RetryIdentity, IsNoPartOfTheContract) {
  Harness harness(retried(3));
  harness.start();
  harness.turn({failed_after(3, 2)});
  auto& recorded = std::get<events::ActivityScheduled>(harness.history.back().body);
  ASSERT_EQ(recorded.earlier, (EarlierAttempts{3, 2}));
  recorded.earlier.reset();
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(RetryIdentity, ALoopInTheCodeIsNoRetry) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    if (const auto first = co_await ctx.schedule_activity<int>("A").as_result()) co_return *first;
    co_return co_await ctx.schedule_activity<int>("A");
  });
  harness.start();
  EXPECT_EQ(earlier_of(harness.turn({failed_after(2, 3)})), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
