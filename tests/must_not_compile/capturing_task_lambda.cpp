// expect: a perdure::Task lambda must not capture
// only: GNU
#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx, int value) {
  const auto helper = [value](perdure::OrchestrationContext inner) -> perdure::Task<int> {
    co_return co_await inner.schedule_activity<int>("A", value);
  };
  co_return co_await helper(ctx);
}
