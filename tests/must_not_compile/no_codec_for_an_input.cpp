// expect: perdure has no Codec for this type: include <perdure/json.h>
#include <perdure/perdure.h>

struct Opaque {
  int value = 0;
};

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  const Opaque input;
  co_return co_await ctx.schedule_activity<int>("A", input);
}
