// The last turn of an execution: the order of its events and messages.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;

const ParentLink kParent{"boss", 7, 9};

TEST(LastTurn, ItsEventsStandInTheirOrder) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto in_flight = ctx.schedule_activity<int>("InFlight");                              // 2
    auto queue = ctx.dequeue_event<int>("q");                                             // 3
    auto wait = ctx.schedule_wait<int>("w");                                              // 4
    auto dropped = std::make_unique<Future<int>>(ctx.schedule_activity<int>("Dropped"));  // 5
    auto other = ctx.schedule_wait<int>("v");                                             // 6
    co_await ctx.schedule_wait<void>("go");                                               // 7
    dropped.reset();
    ctx.set_custom_status("leaving");
    co_await ctx.continue_as_new(1);
  });
  harness.start();
  const auto last = harness.turn({raised("go"), queued("p", "2")});
  EXPECT_THAT(
      lines_of(last.events),
      ElementsAre("8 ExternalEvent 'go'", "9 QueueEventDelivered 'p' data=2", "10 CustomStatusUpdated status=leaving",
                  "11 ActivityCancelRequested of 5 reason=dropped_future",
                  "12 ExternalSubscriptionCancelled of 4 reason=orchestration_terminal",
                  "13 ExternalSubscriptionCancelled of 6 reason=orchestration_terminal",
                  "14 QueueSubscriptionCancelled of 3 reason=orchestration_terminal",
                  "15 OrchestrationContinuedAsNew input=1",
                  "16 ActivityCancelRequested of 2 reason=orchestration_terminal_continued_as_new"));
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2, 5));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(LastTurn, ItsMessagesStandInTheirOrder) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto child = ctx.schedule_sub_orchestration<int>("C");
    co_await ctx.schedule_wait<void>("go");
    auto timer = ctx.schedule_timer(Milliseconds(1));
    ctx.schedule_orchestration("Audit", "audit-1", 5);
    co_return 1;
  });
  harness.parent = kParent;
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({raised("go")}).messages),
              ElementsAre("to audit-1: StartOrchestration", "to boss: SubOrchestrationCompleted",
                          "to inst::sub::2: CancelInstance"));
}

}  // namespace
}  // namespace perdure::test
