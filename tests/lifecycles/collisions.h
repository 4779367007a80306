// Parents that ask for a child under an id of their choice.
#pragma once

#include <string>

#include "lifecycles/moments.h"

namespace perdure::test {

// Mother(id): the outcome of the child `id`, as text. Hasty(id): asks for the child `id`, runs an activity and ends.
inline Registry with_collisions() {
  Registry registry = add_victims();
  registry.add_activity("Nothing", [](ActivityContext&) {});
  registry.add_orchestration("Mother", [](OrchestrationContext ctx, std::string id) -> Orchestration<std::string> {
    const auto options = child_id(id);
    const auto outcome = co_await ctx.schedule_sub_orchestration<int>("Working", 3, options).as_result();
    if (!outcome) co_return outcome.error().message();
    co_return "child " + std::to_string(*outcome);
  });
  registry.add_orchestration("Hasty", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    auto child = ctx.schedule_sub_orchestration<int>("Working", 3, options);
    co_await ctx.schedule_activity<void>("Nothing");
    co_return 1;
  });
  registry.add_orchestration("Working", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    co_await ctx.schedule_activity<void>("Nothing");
    co_await ctx.schedule_activity<void>("Nothing");
    co_return n;
  });
  registry.add_orchestration("Detacher", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    ctx.schedule_sub_orchestration<int>("Working", 3, options).detach();
    co_await ctx.schedule_activity<void>("Nothing");
    co_return 1;
  });
  registry.add_orchestration("Starter", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    ctx.schedule_orchestration("Working", id, 3);
    co_await ctx.schedule_activity<void>("Nothing");
    if (ctx.execution_id() == 1) co_return ctx.continue_as_new(id);
    co_return 1;
  });
  return registry;
}

inline void start_both_nodes(World& world) {
  const Registry registry = with_collisions();
  world.start_node(registry);
  world.start_node(registry);
}

}  // namespace perdure::test
