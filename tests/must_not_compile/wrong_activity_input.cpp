// expect: the input is not what this activity takes
#include <string>

#include <perdure/perdure.h>

perdure::Orchestration<int> orchestration(perdure::OrchestrationContext ctx) {
  const perdure::Activity<int(std::string)> activity{"A"};
  co_return co_await ctx.schedule_activity(activity, 5);
}
