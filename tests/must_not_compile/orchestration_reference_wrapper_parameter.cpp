// expect: a perdure::Orchestration takes its parameters by value
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <perdure/perdure.h>

perdure::Orchestration<int> coroutine(perdure::OrchestrationContext, std::reference_wrapper<int>) {
  co_return 1;
}
