#include <perdure/saga.h>

#include <utility>

namespace perdure {

namespace {

Task<void> run_activity(OrchestrationContext ctx, std::string name, Payload input, ActivityOptions options) {
  co_await ctx.schedule_activity<void>(name, Raw(std::move(input)), options);
}

Task<std::vector<Error>> undo_all(OrchestrationContext ctx, std::vector<Saga::Step> steps) {
  std::vector<Error> failures;
  while (!steps.empty()) {
    const Saga::Step step = std::move(steps.back());
    steps.pop_back();
    auto undone = co_await step(ctx).as_result();
    if (!undone) failures.push_back(undone.error());
  }
  co_return failures;
}

}  // namespace

void Saga::add_activity(std::string name, Payload input, const ActivityOptions& options) {
  steps_.emplace_back([name = std::move(name), input = std::move(input), options](OrchestrationContext ctx) {
    return run_activity(ctx, name, input, options);
  });
}

Task<std::vector<Error>> Saga::compensate() {
  return undo_all(ctx_, std::exchange(steps_, {}));
}

}  // namespace perdure
