// An order survives nodes that die after every step, and nodes that all die young.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Ctx = OrchestrationContext;

using NodeDeaths = InEveryWorld;
INSTANTIATE_TEST_SUITE_P(Worlds, NodeDeaths, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

Registry order() {
  Registry registry;
  registry.add_activity("Charge", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration(
      "Ship", [](Ctx ctx, int n) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Charge", n); });
  registry.add_orchestration("Note", [](Ctx) -> Orchestration<int> { co_return 1; });
  registry.add_orchestration("Order", [](Ctx ctx) -> Orchestration<int> {
    int sum = co_await ctx.schedule_activity<int>("Charge", 1);
    co_await ctx.schedule_timer(1h);
    const auto ship = SubOrchestrationOptions().instance_id("ship");
    sum += co_await ctx.schedule_sub_orchestration<int>("Ship", 10, ship);
    ctx.set_custom_status("waits");
    sum += co_await ctx.schedule_wait<int>("approval");
    ctx.schedule_orchestration("Note", "note");
    ctx.set_kv_value("sum", ctx.get_kv_value<int>("sum").value_or(0) + sum);
    co_return sum;
  });
  return registry;
}

// Each node dies after `steps_of_a_life` steps, until `deaths` nodes have died. False: the order ended before a death.
bool order_survives(const WorldKind& kind, int steps_of_a_life, int deaths) {
  World world(kind);
  world.client().start_orchestration("i", "Order");
  RuntimeOptions options;
  options.max_attempts = 1'000;  // each death is an attempt
  auto* node = &world.start_node(order(), options);
  bool approved = false;
  const auto ended = [&] {
    const auto status = world.client().get_orchestration_status("i");
    if (!approved && status.custom_status == "waits") world.client().raise_event("i", "approval", 100);
    approved = approved || status.custom_status == "waits";
    return status.ended();
  };
  int died = 0;
  int idle = 0;
  for (int steps = 0; died < deaths && idle < 1'000 && !ended(); ++steps) {
    if (steps < steps_of_a_life && world.step()) continue;
    // The node dies; or it can only wait, and the clock moves while no node runs.
    const bool dies = steps == steps_of_a_life;
    world.kill_node(*node);
    if (!dies) world.advance(1h);
    node = &world.start_node(order(), options);
    steps = dies ? -1 : steps - 1;
    ++(dies ? died : idle);
  }
  EXPECT_TRUE(world.until(ended));
  world.wait("note");
  EXPECT_EQ(world.client().get_orchestration_status("i").result<int>(), 111);
  EXPECT_EQ(world.client().get_kv_value<int>("i", "sum"), 111);
  EXPECT_THAT(
      world.event_kinds("i"),
      ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "TimerCreated", "TimerFired",
                  "SubOrchestrationScheduled", "SubOrchestrationCompleted", "CustomStatusUpdated", "ExternalSubscribed",
                  "ExternalEvent", "OrchestrationChained", "KeyValueSet", "OrchestrationCompleted"));
  EXPECT_THAT(world.event_kinds("ship"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "OrchestrationCompleted"));
  EXPECT_THAT(world.event_kinds("note"), ElementsAre("OrchestrationStarted", "OrchestrationCompleted"));
  EXPECT_EQ(world.client().list_all_instances().size(), 3U);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
  return died > 0;
}

TEST_P(NodeDeaths, AnOrderSurvivesADeathAfterEveryStep) {
  int steps = 0;
  while (!HasFailure() && order_survives(world.kind(), steps, 1)) ++steps;
  EXPECT_GT(steps, 20);  // or else the test does not see much
}

TEST_P(NodeDeaths, AnOrderSurvivesNodesThatAllDieYoung) {
  for (int steps = 8; steps < 30 && !HasFailure(); ++steps) EXPECT_TRUE(order_survives(world.kind(), steps, 100));
}

}  // namespace
}  // namespace perdure::test
