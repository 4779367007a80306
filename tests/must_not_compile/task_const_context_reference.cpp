// expect: a perdure::Task takes its parameters by value
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <perdure/perdure.h>

perdure::Task<int> coroutine(const perdure::OrchestrationContext&, int) {
  co_return 1;
}
