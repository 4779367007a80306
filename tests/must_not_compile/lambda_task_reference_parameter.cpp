// expect: a perdure::Task takes its parameters by value
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  const auto helper = [](perdure::OrchestrationContext, const std::string&) -> perdure::Task<int> { co_return 1; };
  co_return co_await helper(ctx, "dangles");
}
