#include "workload.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>

namespace perdure::soak {

namespace {

using namespace std::chrono_literals;
using Ctx = OrchestrationContext;

constexpr int kSessions = 8;

// Three parcels, packed where the session is.
Orchestration<int> ship(Ctx ctx, int n) {
  const auto options = ActivityOptions().session("table " + std::to_string(n % kSessions));
  int packed = 0;
  for (int i = 0; i < 3; ++i) packed += co_await ctx.schedule_activity<int>("Pack", n, options);
  co_return packed;
}

Orchestration<int> order(Ctx ctx, int n) {
  const int reserved = co_await ctx.schedule_activity<int>("Reserve", n);
  co_await ctx.schedule_timer(20ms);
  const auto gpu = ActivityOptions().tag("gpu");
  auto label = ctx.schedule_activity<int>("Label", n, gpu);
  auto parcels = ctx.schedule_sub_orchestration<int>("Ship", n);
  const auto [printed, packed] = co_await join{std::move(label), std::move(parcels)};
  ctx.set_custom_status(kWaiting);
  auto first = co_await perdure::select{ctx.schedule_wait<int>("approve"), ctx.schedule_timer(60s)};
  if (first.index() == 1) throw std::runtime_error("nobody approved it within a minute");
  ctx.set_kv_value("approved by", std::get<0>(first));
  co_return reserved + printed + packed + std::get<0>(first);
}

Orchestration<int> rounds(Ctx ctx, int left) {
  for (int i = 0; i < kMessagesOfARound; ++i) {
    ctx.set_kv_value("seen", ctx.get_kv_value<int>("seen").value_or(0) + co_await ctx.dequeue_event<int>("numbers"));
  }
  if (left > 1) co_return ctx.continue_as_new(left - 1);
  co_return ctx.get_kv_value<int>("seen").value_or(-1);
}

Orchestration<int> flaky(Ctx ctx, int n) {
  const auto options =
      ActivityOptions().retry(RetryPolicy(4).backoff(Backoff::fixed(5ms))).heartbeat_timeout(30s).timeout(60s);
  co_return co_await ctx.schedule_activity<int>("Climb", n, options);
}

// Never ends by itself.
Orchestration<int> endless(Ctx ctx, int depth) {
  auto busy = ctx.schedule_activity<int>("Busy");
  if (depth > 0) co_await ctx.schedule_sub_orchestration<int>("Endless", depth - 1);
  co_return co_await std::move(busy);
}

// Goes a step further than the attempt before, which is known from its heartbeat, and falls until it is at the top.
int climb(ActivityContext& ctx, int n) {
  constexpr int kTop = 3;
  const int height = ctx.last_heartbeat<int>().value_or(0) + 1;
  ctx.heartbeat(height);
  if (height < kTop) throw std::runtime_error("fell from " + std::to_string(height));
  return n + height;
}

// Until it is told to stop.
int busy(ActivityContext& ctx) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, ctx.stop_token(), [] { return false; });
  return 0;
}

}  // namespace

Registry registry() {
  Registry registry;
  registry.add_orchestration("Order", order)
      .add_orchestration("Ship", ship)
      .add_orchestration("Rounds", rounds)
      .add_orchestration("Flaky", flaky)
      .add_orchestration("Endless", endless);
  registry.add_activity("Reserve", [](ActivityContext&, int n) { return n + 1; })
      .add_activity("Label", [](ActivityContext&, int n) { return 2 * n; })
      .add_activity("Pack",
                    [](ActivityContext&, int n) {
                      std::this_thread::sleep_for(1ms);
                      return n;
                    })
      .add_activity("Climb", climb)
      .add_activity("Busy", busy);
  return registry;
}

int result_of_order(int n) {
  return (n + 1) + 2 * n + 3 * n + 7;
}

int result_of_rounds(int rounds) {
  return rounds * kMessagesOfARound;
}

int result_of_flaky(int n) {
  return n + 3;
}

}  // namespace perdure::soak
