// expect: perdure has no Codec for this type: include <perdure/json.h>
#include <perdure/perdure.h>

struct Opaque {
  int value = 0;
};

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext, Opaque input) {
  co_return input.value;
}

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
