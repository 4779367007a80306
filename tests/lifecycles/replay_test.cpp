// Code that is replayed on other nodes while its instance lives: the same result, whatever was kept in memory. Two
// nodes that differ in cache and fast path take turns.
#include <algorithm>
#include <string>

#include "lifecycles/moments.h"

namespace perdure::test {
namespace {

using Handovers = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(Handovers);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Handovers);

RuntimeOptions without_memory() {
  RuntimeOptions options;
  options.cached_executions = 0;
  options.max_attempts = 1'000;
  return options;
}

// Everything recorded is the same on every node: random numbers, guids, the time.
TEST_P(Handovers, RecordedValuesAreTheSameOnTheNextNode) {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, std::string text) { return text; });
  registry.add_orchestration("Draws", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    const std::string drawn =
        std::to_string(ctx.random()) + ctx.new_guid() + std::to_string(ctx.utc_now().time_since_epoch().count());
    const auto first = co_await ctx.schedule_activity<std::string>("Echo", drawn);
    co_await ctx.schedule_timer(1s);
    const auto second = co_await ctx.schedule_activity<std::string>("Echo", drawn);
    co_return first == drawn&& second == drawn ? "same" : "other";
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& first = world.start_node(registry, without_memory());
    world.client().start_orchestration("i", "Draws");
    const bool reached = take_steps(world, moment);
    world.kill_node(first);
    world.start_node(registry, without_memory());
    EXPECT_EQ(world.wait("i").result<std::string>(), "same");
    return reached;
  });
}

// Guide: "The winner is what came first in history, so a replay sees the same." A loser that is borrowed goes on.
TEST_P(Handovers, TheWinnerOfARaceStaysTheWinner) {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("Child", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Echo", n);
  });
  registry.add_orchestration("Races", [](OrchestrationContext ctx) -> Orchestration<int> {
    auto child = ctx.schedule_sub_orchestration<int>("Child", 1);
    auto activity = ctx.schedule_activity<int>("Echo", 10);
    const auto first = co_await perdure::select{child, activity};
    const std::size_t winner = first.index();
    ctx.set_custom_status(std::to_string(winner));
    int sum = co_await child;
    sum += co_await activity;
    co_await ctx.schedule_timer(1s);
    if (ctx.get_custom_status() != std::to_string(winner)) throw OrchestrationError("another winner");
    co_return sum;
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    world.start_node(registry, without_memory());
    auto& second = world.start_node(registry);
    world.client().start_orchestration("r", "Races");
    const bool reached = take_steps(world, moment);
    world.stop_node(second);
    world.wait("r");
    EXPECT_EQ(outcome_of(world.client(), "r"), "Completed 11");
    expect_deletable(world, "r");
    return reached;
  });
}

// Guide: continue-as-new "keeps the instance, its key values, its custom status, its parent and its unread queue
// messages"; the parent hears from the last execution only.
TEST_P(Handovers, AChildKeepsItsParentOverExecutionsAndNodes) {
  Registry registry;
  registry.add_orchestration("Rounds", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    const int number = co_await ctx.dequeue_event<int>("numbers");
    ctx.set_kv_value("sum", ctx.get_kv_value<int>("sum").value_or(0) + number);
    if (n < 3) co_return ctx.continue_as_new(n + 1);
    co_return ctx.get_kv_value<int>("sum").value_or(-1);
  });
  registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto options = child_id("rounds");
    co_return co_await ctx.schedule_sub_orchestration<int>("Rounds", 1, options);
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& mortal = world.start_node(registry, without_memory());
    world.client().start_orchestration("p", "Parent");
    world.settle();
    for (const int number : {1, 10, 100}) world.client().enqueue_event("rounds", "numbers", number);
    const bool reached = take_steps(world, moment);
    world.client().prune_executions_bulk(InstanceFilter());
    world.kill_node(mortal);
    world.start_node(registry, without_memory());
    world.wait("p");
    EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 111");
    expect_deletable(world, "p");
    return reached;
  });
}

// Guide: "Continue-as-new begins an execution, so a long-lived instance moves to the policy's version by itself"; an
// execution "is always replayed with exactly the version it began with".
TEST_P(Handovers, AnExecutionStaysWithItsVersionWhileNodesAreUpgraded) {
  const auto version = [](int number) {
    return [number](OrchestrationContext ctx, std::string path) -> Orchestration<std::string> {
      path += std::to_string(number);
      if (number == 2) co_await ctx.schedule_timer(1ms);
      const int echoed = co_await ctx.schedule_activity<int>("Echo", number);
      if (echoed != number) throw OrchestrationError("another version");
      if (ctx.execution_id() < 3) co_return ctx.continue_as_new(path);
      co_return path;
    };
  };
  Registry old_code;
  old_code.add_activity("Echo", [](ActivityContext&, int n) { return n; });
  old_code.add_orchestration("Order", "1.0.0", version(1));
  Registry new_code = old_code;
  new_code.add_orchestration("Order", "2.0.0", version(2));
  at_every_moment(GetParam(), [&](World& world, int moment) {
    auto& before = world.start_node(old_code);
    world.client().start_orchestration("o", "Order", "");
    const bool reached = take_steps(world, moment);
    world.stop_node(before);
    world.start_node(new_code);
    world.wait("o");
    const std::string path = world.client().get_orchestration_status("o").result<std::string>();
    EXPECT_EQ(path.size(), 3U);
    EXPECT_TRUE(std::is_sorted(path.begin(), path.end())) << path;
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
