// The course of turns: the worked traces of the specification, and the order of events in a turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;

Orchestration<int> two_steps(OrchestrationContext ctx) {
  const int a = co_await ctx.schedule_activity<int>("A", 1);
  const int b = co_await ctx.schedule_activity<int>("B", a);
  co_return a + b;
}

TEST(Turns, SequentialActivities) {
  Harness harness(two_steps);
  const auto first = harness.start();
  EXPECT_THAT(lines_of(first.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'A' input=1"));
  EXPECT_THAT(lines_of(first.activities), ElementsAre("to inst: ExecuteActivity"));
  const auto second = harness.turn({completed(2, "10")});
  EXPECT_THAT(lines_of(second.events),
              ElementsAre("3 ActivityCompleted of 2 result=10", "4 ActivityScheduled 'B' input=10"));
  const auto third = harness.turn({completed(4, "5")});
  EXPECT_THAT(lines_of(third.events),
              ElementsAre("5 ActivityCompleted of 4 result=5", "6 OrchestrationCompleted output=15"));
  EXPECT_EQ(third.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Turns, TheTimerWinsARace) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto first = co_await select{ctx.schedule_activity<std::string>("Slow"), ctx.schedule_timer(Milliseconds(500))};
    co_return first.index() == 1 ? "late" : std::get<0>(first);
  });
  EXPECT_THAT(lines_of(harness.start().messages), ElementsAre("to inst: TimerFired"));
  const auto last = harness.turn({fired(3)});
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("4 TimerFired of 3 fire_at=0", "5 ActivityCancelRequested of 2 reason=dropped_future",
                          "6 OrchestrationCompleted output=\"late\""));
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Turns, AMessageThatWaitsInAQueueIsReadInTheTurnThatAsksForIt) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto text = co_await ctx.dequeue_event<std::string>("inbox");
    co_await ctx.schedule_activity<void>("Handle", text);
  });
  harness.start(std::nullopt, {queued("inbox", "\"m1\"")});
  EXPECT_THAT(harness.lines(),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 QueueEventDelivered 'inbox' data=\"m1\"",
                          "3 QueueSubscribed 'inbox'", "4 ActivityScheduled 'Handle' input=\"m1\""));
}

}  // namespace
}  // namespace perdure::test
