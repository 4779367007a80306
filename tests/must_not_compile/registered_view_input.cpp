// expect: a registered orchestration takes its input by value
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext, std::string_view);

void add(perdure::Registry& registry) {
  registry.add_orchestration("A", orchestration);
}
