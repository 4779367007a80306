// expect: dropping a Future cancels its operation
#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  ctx.schedule_activity<void>("A");
  co_return;
}
