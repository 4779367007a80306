// expect: deleted
#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  auto future = ctx.schedule_activity<int>("A");
  auto copy = future;
  co_return co_await copy;
}
