// Instances that wait for messages and events.
#pragma once

#include <string>

#include "lifecycles/programs.h"

namespace perdure::test {

// Reader(n): n messages of the queue "go". Hearer(): the event "approved" within an hour, or "nobody".
inline Registry add_readers(Registry registry = {}) {
  registry.add_orchestration("Reader", [](OrchestrationContext ctx, int n) -> Orchestration<std::string> {
    std::string text;
    for (int i = 0; i < n; ++i) text += co_await ctx.dequeue_event<std::string>("go");
    co_return text;
  });
  registry.add_orchestration("Hearer", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    const auto first = co_await perdure::select{ctx.schedule_wait<std::string>("approved"), ctx.schedule_timer(1h)};
    co_return first.index() == 0 ? std::get<0>(first) : "nobody";
  });
  return registry;
}

inline void use_and_delete(World& world, const std::string& id) {
  world.client().start_orchestration(id, "Reader", 0);
  world.settle();
  world.client().delete_instance(id);
}

}  // namespace perdure::test
