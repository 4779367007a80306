// expect: a perdure::Task is awaited once: write co_await std::move
#include <perdure/perdure.h>

perdure::Task<int> helper(perdure::OrchestrationContext ctx) {
  co_return co_await ctx.schedule_activity<int>("A");
}

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  auto task = helper(ctx);
  co_return co_await task;
}
