// What the tests of simulate() share: workflows, right and wrong ones, and the world that their activities change.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/simulate.h>

namespace perdure::testing {

using namespace std::chrono_literals;

inline const Activity<int(int)> kReserve("Reserve");
inline const Activity<std::string(int)> kCharge("Charge");

// What lies outside of the workflows: activities change it, and planted bugs read it.
struct World {
  std::map<std::string, int> charged;  // by idempotency key
  int charges = 0;
  int beginnings = 0;  // of a workflow's function
};
inline World world;

inline Orchestration<std::string> order(OrchestrationContext ctx, int item) {
  const int price = co_await ctx.schedule_activity(kReserve, item);
  ctx.set_custom_status("waits for approval");
  const auto first = co_await select{ctx.schedule_wait<void>("approved"), ctx.schedule_timer(720h)};
  if (first.index() == 1) co_return std::string("nobody approved it");
  co_return co_await ctx.schedule_activity(kCharge, price);
}

inline Orchestration<std::string> charge_only(OrchestrationContext ctx, int price) {
  co_return co_await ctx.schedule_activity(kCharge, price);
}

inline Orchestration<void> wait_for_approval(OrchestrationContext ctx) {
  co_await ctx.schedule_wait<void>("approved");
}

inline Orchestration<void> reserve_and_wait(OrchestrationContext ctx, int item) {
  co_await ctx.schedule_activity(kReserve, item);
  co_await ctx.schedule_wait<void>("approved");
}

// The bug: a replay of it does something else, because it counts what is not in its history.
inline Orchestration<int> restless(OrchestrationContext ctx) {
  if (++world.beginnings > 1) co_await ctx.schedule_timer(1s);
  co_return co_await ctx.schedule_activity(kReserve, 1);
}

inline Orchestration<int> ticking(OrchestrationContext ctx, int tick) {
  co_await ctx.schedule_timer(1h);
  ctx.set_custom_status("tick " + std::to_string(tick));
  co_return ctx.continue_as_new(tick + 1);
}

inline Orchestration<int> tagged(OrchestrationContext ctx) {
  co_return co_await ctx.schedule_activity(kReserve, 1, ActivityOptions().tag("gpu"));
}

inline Orchestration<int> parent_of_waiting(OrchestrationContext ctx) {
  co_await ctx.schedule_sub_orchestration<void>("WaitForApproval");
  co_return 1;
}

inline Registry code() {
  Registry registry;
  registry.add_orchestration("Order", order);
  registry.add_orchestration("ChargeOnly", charge_only);
  registry.add_orchestration("WaitForApproval", wait_for_approval);
  registry.add_orchestration("ReserveAndWait", reserve_and_wait);
  registry.add_orchestration("Restless", restless);
  registry.add_orchestration("Ticking", ticking);
  registry.add_orchestration("Tagged", tagged);
  registry.add_orchestration("ParentOfWaiting", parent_of_waiting);
  registry.add_activity(kReserve, [](ActivityContext&, int item) { return item * 100; });
  registry.add_activity(kCharge, [](ActivityContext& ctx, int price) -> std::string {
    ++world.charges;
    world.charged[ctx.instance_id() + "/" + std::to_string(ctx.activity_id())] = price;
    return "paid " + std::to_string(price);
  });
  return registry;
}

inline bool approve_when_asked(const Client& client) {
  const auto status = client.get_orchestration_status("order-1");
  if (!status.ended() && status.custom_status != "waits for approval") return false;
  client.raise_event("order-1", "approved");
  return true;
}

class Simulate : public ::testing::Test {
 protected:
  Simulate() {
    workload.before_each_run([] { world = World(); });
  }

  [[nodiscard]] SimulationResult run(SeedRange seeds = SeedRange::none()) const {
    return simulate(registry, workload, seeds, options);
  }

  Registry registry = code();
  SimulatedWorkload workload;
  SimulationOptions options;
};

inline ::testing::Matcher<const SimulationFinding&> is_finding(SimulationFindingKind kind, const std::string& instance,
                                                               const std::string& text) {
  return ::testing::AllOf(::testing::Field("kind", &SimulationFinding::kind, kind),
                          ::testing::Field("instance", &SimulationFinding::instance, instance),
                          ::testing::Field("text", &SimulationFinding::text, ::testing::HasSubstr(text)));
}

}  // namespace perdure::testing
