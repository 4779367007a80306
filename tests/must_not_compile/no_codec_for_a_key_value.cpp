// expect: perdure has no Codec for this type: include <perdure/json.h>
#include <perdure/perdure.h>

struct Opaque {
  int value = 0;
};

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  ctx.set_kv_value("key", Opaque());
  co_return;
}
