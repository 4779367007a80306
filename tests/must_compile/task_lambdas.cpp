// Helper lambdas that capture nothing are right, named const or not, and on the spot.
#include <perdure/perdure.h>

using perdure::OrchestrationContext;
using perdure::Task;

perdure::Orchestration<int> orchestration(OrchestrationContext ctx) {
  const auto constant = [](OrchestrationContext inner, int value) -> Task<int> {
    co_return co_await inner.schedule_activity<int>("A", value);
  };
  auto variable = [](OrchestrationContext inner) -> Task<int> { co_return co_await inner.schedule_activity<int>("B"); };
  int sum = co_await constant(ctx, 1);
  sum += co_await variable(ctx);
  auto task = [](OrchestrationContext inner) -> Task<int> {
    co_return co_await inner.schedule_activity<int>("C");
  }(ctx);
  sum += co_await std::move(task);
  co_return sum;
}
