// expect: a registered orchestration takes .OrchestrationContext. or
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext, int, int);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
