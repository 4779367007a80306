// expect: may only co_await what its OrchestrationContext returned
#include <coroutine>

#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext) {
  co_await std::suspend_always{};
}
