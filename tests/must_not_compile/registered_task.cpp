// expect: a registered orchestration returns perdure::Orchestration
#include <string>

#include <perdure/perdure.h>

perdure::Task<int> orchestration(perdure::OrchestrationContext);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
