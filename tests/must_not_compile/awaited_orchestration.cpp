// expect: may only co_await what its OrchestrationContext returned
#include <perdure/perdure.h>

perdure::Orchestration<int> other(perdure::OrchestrationContext) {
  co_return 1;
}

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  co_return co_await other(ctx);  // a child is scheduled, not called
}
