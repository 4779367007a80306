#include "lifecycles/moments.h"

namespace perdure::test {

namespace {

void expect_number(const char* what, int expected, int number) {
  if (number == expected) return;
  throw OrchestrationError(std::string("wrong ") + what + ": " + std::to_string(number) + " instead of " +
                           std::to_string(expected));
}

// Two executions: an activity, a timer, two children, one of them under an id of its own, and a race.
Orchestration<int> life(OrchestrationContext ctx, int n) {
  expect_number("value", ctx.execution_id() == 1 ? -1 : n, ctx.get_kv_value<int>("n").value_or(-1));
  ctx.set_kv_value("n", n);
  ctx.set_custom_status(std::to_string(n));
  const int echoed = co_await ctx.schedule_activity<int>("Echo", n);
  expect_number("activity", n, echoed);
  const auto named = child_id(ctx.instance_id() + "-" + std::to_string(ctx.execution_id()));
  auto first = ctx.schedule_sub_orchestration<int>("Part", n);
  auto second = ctx.schedule_sub_orchestration<int>("Part", n, named);
  co_await ctx.schedule_timer(10ms);
  const int first_number = co_await first;
  expect_number("child", n, first_number);
  const int second_number = co_await second;
  expect_number("named child", n, second_number);
  const auto race =
      co_await perdure::select{ctx.schedule_sub_orchestration<int>("Endless", n), ctx.schedule_timer(1ms)};
  if (race.index() == 0) throw OrchestrationError("wrong race");
  if (ctx.execution_id() == 1) co_return ctx.continue_as_new(n);
  co_return n;
}

}  // namespace

Registry whole_life() {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, int n) { return n; });
  registry.add_orchestration("Life", life);
  registry.add_orchestration("Part", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Echo", n);
  });
  registry.add_orchestration("Endless", [](OrchestrationContext ctx, int) -> Orchestration<int> {
    co_return co_await ctx.dequeue_event<int>("never");
  });
  return registry;
}

}  // namespace perdure::test
