// What the random programs of property_test.cpp have found, each as the smallest orchestration that shows it.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;

// ---- a join that loses a select gives up its parts ----------------------------------------------------------------

TEST(RandomFindings, AJoinThatLosesASelectDropsItsParts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto first = co_await select{join{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")},
                                 ctx.schedule_timer(Milliseconds(5))};
    co_return first.index() == 1 ? "late" : "both";
  });
  harness.start();
  const auto last = harness.turn({fired(4)});
  EXPECT_EQ(last.output, "\"late\"");
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2, 3));
}

TEST(RandomFindings, AJoinOfManyThatLosesASelectDropsItsParts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::vector<Future<int>> parts;
    parts.push_back(ctx.schedule_activity<int>("A"));
    parts.push_back(ctx.schedule_activity<int>("B"));
    auto first = co_await select{ctx.join(std::move(parts)).as_result(), ctx.schedule_timer(Milliseconds(5))};
    co_return first.index() == 1 ? "late" : "both";
  });
  harness.start();
  const auto last = harness.turn({completed(2, "1"), fired(4)});
  EXPECT_EQ(last.output, "\"late\"");
  EXPECT_THAT(last.cancelled_activities, ElementsAre(3));
}

// ---- a join that throws has read nothing --------------------------------------------------------------------------

std::vector<CarriedMessage> carried_by(const TurnOutcome& outcome) {
  for (const Message& message : outcome.messages) {
    if (const auto* next = std::get_if<messages::ContinueAsNew>(&message.body)) return next->carry_forward;
  }
  return {};
}

TEST(RandomFindings, AJoinThatThrowsGivesItsQueueMessagesBack) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    try {
      co_await join{ctx.dequeue_event<std::string>("inbox"), ctx.schedule_activity<int>("A")};
    } catch (const ActivityError&) {
      ctx.trace_info("the activity failed");
    }
    co_await ctx.continue_as_new();
  });
  harness.start();
  harness.turn({queued("inbox", "\"m\"")});
  EXPECT_THAT(carried_by(harness.turn({failed(3, "no")})), ElementsAre(CarriedMessage{"inbox", "\"m\""}));
}

TEST(RandomFindings, AJoinOfManyThatThrowsGivesItsQueueMessagesBack) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    std::vector<Future<std::string>> parts;
    parts.push_back(ctx.dequeue_event<std::string>("inbox"));
    parts.push_back(ctx.schedule_activity<std::string>("A"));
    try {
      co_await ctx.join(std::move(parts));
    } catch (const CodecError&) {
      ctx.trace_info("the activity's result is no string");
    }
    co_await ctx.continue_as_new();
  });
  harness.start();
  harness.turn({queued("inbox", "\"m\"")});
  EXPECT_THAT(carried_by(harness.turn({completed(3, "{")})), ElementsAre(CarriedMessage{"inbox", "\"m\""}));
}

}  // namespace
}  // namespace perdure::test
