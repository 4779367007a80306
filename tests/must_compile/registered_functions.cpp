// What may be registered: functions and lambdas, with captures too, with and without an input.
#include <string>

#include <perdure/perdure.h>

using perdure::Orchestration;
using perdure::OrchestrationContext;

Orchestration<void> without_input(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("A");
}
Orchestration<std::string> with_input(OrchestrationContext ctx, const std::string input) {
  co_return co_await ctx.schedule_activity<std::string>("A", input);
}

void add(perdure::Registry& registry, std::string greeting) {
  registry.add_orchestration("Without", without_input)
      .add_orchestration("With", "2.0.0", with_input)
      .add_orchestration("Pointer", &without_input)
      .add_orchestration("Lambda", [](OrchestrationContext, int input) -> Orchestration<int> { co_return input; })
      .add_orchestration("Capture", [greeting](OrchestrationContext ctx) -> Orchestration<std::string> {
        co_await ctx.schedule_activity<void>("A");
        co_return greeting;
      });
}
