// expect: the first parameter of a registered orchestration is perdure::OrchestrationContext, by value
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext&);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
