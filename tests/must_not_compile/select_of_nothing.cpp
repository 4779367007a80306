// expect: select of nothing would wait forever
#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext) {
  co_await perdure::select{};
}
