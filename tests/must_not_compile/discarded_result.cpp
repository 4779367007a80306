// expect: nodiscard
// only: Clang
#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  co_await ctx.schedule_activity<int>("A").as_result();  // a failure that nobody looks at
}
