// expect: a registered orchestration takes its input by value
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext, const std::string&);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
