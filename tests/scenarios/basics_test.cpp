// The first things that anybody does with an engine like this.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Ctx = OrchestrationContext;

using Basics = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Basics);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Basics);

TEST_P(Basics, AnOrchestrationWithoutActivitiesCompletes) {
  Registry registry;
  registry.add_orchestration("Hello",
                             [](Ctx, std::string name) -> Orchestration<std::string> { co_return "hello, " + name; });
  world.start_node(registry);
  world.client().start_orchestration("i", "Hello", "world");
  const auto status = world.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kCompleted);
  EXPECT_EQ(status.result<std::string>(), "hello, world");
  EXPECT_THAT(world.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationCompleted"));
}

TEST_P(Basics, FunctionChaining) {
  Registry registry;
  registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  registry.add_orchestration("Chain", [](Ctx ctx, int n) -> Orchestration<int> {
    for (int i = 0; i < 5; ++i) n = co_await ctx.schedule_activity<int>("Add", n);
    co_return n;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Chain", 37);
  EXPECT_EQ(world.wait("i").result<int>(), 42);
}

TEST_P(Basics, FanOutAndFanIn) {
  Registry registry;
  registry.add_activity("Square", [](ActivityContext&, int n) { return n * n; });
  registry.add_orchestration("Fan", [](Ctx ctx, int n) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 1; i <= n; ++i) parts.push_back(ctx.schedule_activity<int>("Square", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Fan", 5);
  EXPECT_EQ(world.wait("i").result<int>(), 55);
}

TEST_P(Basics, ATimerOfADay) {
  Registry registry;
  registry.add_orchestration("Sleep", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(24h);
    co_return 1;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Sleep");
  world.advance(23h);
  EXPECT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kRunning);
  world.advance(1h);
  EXPECT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kCompleted);
}

TEST_P(Basics, AnActivityThatThrowsFailsTheOrchestrationThatDoesNotCatchIt) {
  Registry registry;
  registry.add_activity("Charge", [](ActivityContext&) -> int { throw std::runtime_error("card declined"); });
  registry.add_orchestration(
      "Order", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Charge"); });
  world.start_node(registry);
  world.client().start_orchestration("i", "Order");
  const auto status = world.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(), ::testing::HasSubstr("card declined"));
  EXPECT_THROW((void)status.result<int>(), OrchestrationFailure);
}

}  // namespace
}  // namespace perdure::test
