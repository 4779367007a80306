// expect: the first parameter of a registered orchestration is perdure::OrchestrationContext, by value
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(int);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
