// expect: nodiscard
#include <utility>
#include <vector>

#include <perdure/perdure.h>

perdure::Orchestration<void> orchestration(perdure::OrchestrationContext ctx) {
  std::vector<perdure::Future<void>> all;
  all.push_back(ctx.schedule_activity<void>("A"));
  ctx.join(std::move(all));
  co_return;
}
