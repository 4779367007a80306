// expect: perdure has no Codec for this type: include <perdure/json.h>
#include <perdure/perdure.h>

struct Opaque {
  int value = 0;
};

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  const Opaque result = co_await ctx.schedule_activity<Opaque>("A");
  co_return result.value;
}
