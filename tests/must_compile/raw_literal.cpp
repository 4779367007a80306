// Raw bytes from a literal: empty is not absent.
#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  co_return co_await ctx.schedule_activity<int>("A", perdure::Raw(""));
}
