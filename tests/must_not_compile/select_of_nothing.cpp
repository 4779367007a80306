// expect: select of nothing would wait for ever
#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext) {
  co_await perdure::select{};
}
