// A parent that waits for a child whose start is only queued, because no node has the child's code yet.
#pragma once

#include <string>

#include "lifecycles/programs.h"

namespace perdure::test {

// Mother(id): the outcome of the child `id`, as text.
inline Registry add_mother(Registry registry) {
  registry.add_orchestration("Mother", [](OrchestrationContext ctx, std::string id) -> Orchestration<std::string> {
    const auto options = child_id(id);
    const auto outcome = co_await ctx.schedule_sub_orchestration<int>("Quick", 3, options).as_result();
    if (!outcome) co_return outcome.error().message();
    co_return "child " + std::to_string(*outcome);
  });
  return registry;
}

// Keeps every node from fetching the instance for a while, whatever arrives for it.
inline void postpone(World& world, const std::string& id, Milliseconds delay) {
  world.client().raise_event(id, "anything");
  OrchestrationFetch all;
  all.limit = 100;
  for (const OrchestrationItem& item : world.store()->fetch_orchestration_items(all).value().items) {
    const Abandon abandon{.token = item.token, .delay = item.instance == id ? delay : 0ms, .ignore_attempt = true};
    world.store()->abandon_orchestration_items({&abandon, 1}).front().value();
  }
}

// "p" waits for a child under the id of "x", which has ended (or is not there) and has not seen the child's start.
inline void queue_child_start(World& world, bool x_has_ended) {
  if (x_has_ended) {
    world.client().start_orchestration("x", "Quick", 1);
    run_node(world, add_victims());
    EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 1");
    postpone(world, "x", 30min);
  }
  world.client().start_orchestration("p", "Mother", "x");
  run_node(world, registry_of(add_mother));
  EXPECT_EQ(outcome_of(world.client(), "p"), "Running");
}

inline void finish_mother(World& world) {
  world.start_node(registry_of(add_mother, add_victims), only_registered());
  world.advance(1h);
}

}  // namespace perdure::test
