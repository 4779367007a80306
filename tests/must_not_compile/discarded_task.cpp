// expect: a Task that is never awaited never runs
#include <perdure/perdure.h>

perdure::Task<void> helper(perdure::OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("A");
}

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  helper(ctx);
  co_return;
}
