// expect: may only co_await what its OrchestrationContext returned
#include <coroutine>

#include <perdure/perdure.h>

perdure::Task<void> task(perdure::OrchestrationContext) {
  co_await std::suspend_never{};
}
