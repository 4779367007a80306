// What the other process of the tests runs; the tests know the names and results.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include <perdure/perdure.h>

namespace perdure::test {

inline constexpr int kBatch = 64;
inline std::string batch_instance(int number) {
  return "batch-" + std::to_string(number);
}

// "Bad" takes its process down in its first turn; "Good" does what a workflow does.
inline Registry batch_registry() {
  Registry registry;
  registry.add_activity("Double", [](ActivityContext&, int n) { return 2 * n; });
  registry.add_orchestration("Good", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Double", n);
  });
  registry.add_orchestration("Bad", [](OrchestrationContext) -> Orchestration<int> {
    std::abort();
    co_return 0;
  });
  return registry;
}

// Every kind of thing that an orchestration can wait for and that needs nobody from outside. `journal` gets a line for
// each attempt at an activity.
inline Registry mixed_registry(const std::string& journal) {
  Registry registry;
  registry.add_activity("Note", [journal](ActivityContext& ctx, std::string what) {
    std::ofstream(journal, std::ios::app) << what << " " << ctx.attempt() << "\n";
    return what + "!";
  });
  registry.add_orchestration("Child", [](OrchestrationContext ctx, std::string name) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Note", name);
  });
  registry.add_orchestration("Mixed", [](OrchestrationContext ctx, int round) -> Orchestration<std::string> {
    const std::string suffix = std::to_string(round);
    ctx.set_custom_status("round " + suffix);
    std::string text = co_await ctx.schedule_activity<std::string>("Note", "first" + suffix);
    co_await ctx.schedule_timer(Milliseconds(1));
    auto child = ctx.schedule_sub_orchestration<std::string>("Child", "child" + suffix);
    auto activity = ctx.schedule_activity<std::string>("Note", "second" + suffix);
    text += co_await child;
    text += co_await activity;
    ctx.set_kv_value("text" + suffix, text);
    if (round == 1) co_await ctx.continue_as_new(2);
    co_return ctx.get_kv_value<std::string>("text1").value_or("lost") + text;
  });
  return registry;
}
inline constexpr const char* kMixedResult = "first1!child1!second1!first2!child2!second2!";

}  // namespace perdure::test
