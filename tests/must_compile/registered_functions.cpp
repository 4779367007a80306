// What may be registered: functions and lambdas, with captures too, bound ones, with and without an input.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <perdure/perdure.h>

using perdure::Orchestration;
using perdure::OrchestrationContext;

Orchestration<void> without_input(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("A");
}
Orchestration<std::string> with_input(OrchestrationContext ctx, const std::string input) {
  co_return co_await ctx.schedule_activity<std::string>("A", input);
}

Orchestration<int> without_throw(OrchestrationContext, int input) noexcept {
  co_return input;
}
int activity(perdure::ActivityContext&, int input) noexcept {
  return input;
}
int bound_activity(const std::string& prefix, perdure::ActivityContext&, int input) {
  return static_cast<int>(prefix.size()) + input;
}
struct Service {
  int charge(perdure::ActivityContext&, int amount) noexcept { return amount + fee; }
  Orchestration<int> run(OrchestrationContext ctx, int input) const {
    co_return co_await ctx.schedule_activity<int>("A", input + fee);
  }
  int fee = 1;
};
inline const perdure::Activity<int(int)> kTyped{"Typed"};

void add_others(perdure::Registry& registry, Service& service) {
  registry.add_orchestration("Noexcept", without_throw)
      .add_orchestration("NoexceptLambda", [](OrchestrationContext) noexcept -> Orchestration<int> { co_return 1; })
      .add_orchestration(
          "MoveOnly",
          [owned = std::make_unique<int>(1)](OrchestrationContext) -> Orchestration<int> { co_return *owned; })
      .add_orchestration("Bound", std::bind_front(&Service::run, &service))
      .add_activity("NoexceptActivity", activity)
      .add_activity("BoundActivity", std::bind_front(bound_activity, std::string("x")))
      .add_activity("MemberActivity", std::bind_front(&Service::charge, &service))
      .add_activity(kTyped, std::bind_front(&Service::charge, &service))
      .add_activity("BoundLambda", std::bind_front([](int by, perdure::ActivityContext&) { return by; }, 2))
      .add_async_activity(
          "Async", [](perdure::ActivityContext, perdure::ActivityCompletion<int> done) noexcept { done.complete(1); });
}

void add(perdure::Registry& registry, std::string greeting) {
  registry.add_orchestration("Without", without_input)
      .add_orchestration("With", "2.0.0", with_input)
      .add_orchestration("Pointer", &without_input)
      .add_orchestration("Lambda", [](OrchestrationContext, int input) -> Orchestration<int> { co_return input; })
      .add_orchestration("Capture", [greeting](OrchestrationContext ctx) -> Orchestration<std::string> {
        co_await ctx.schedule_activity<void>("A");
        co_return greeting;
      });
}
