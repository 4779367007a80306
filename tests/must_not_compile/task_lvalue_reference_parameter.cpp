// expect: a perdure::Task takes its parameters by value
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <perdure/perdure.h>

perdure::Task<int> coroutine(perdure::OrchestrationContext, std::string&) {
  co_return 1;
}
