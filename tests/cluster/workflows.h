// The workflows of the cluster tests, as the worker runs them and as the tests expect them to end. Each run of an
// activity is in the ledger.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "cluster/ledger.h"

namespace perdure::test {

inline constexpr std::array<const char*, 6> kWorkflows{"Sequence", "FanOut", "Timers", "Parent", "Rounds", "Queue"};
// The queue of "Queue", which ends when it has got a number from there.
inline constexpr const char* kOrders = "orders";

inline constexpr int kSequenceSteps = 3;
inline constexpr int kFanOut = 4;
inline constexpr int kRounds = 3;

inline int step_result(int input) {
  return 2 * input;
}

// What the workflow of that name comes to with that input; "Queue" if it gets the same number from its queue.
inline int expected_result(const std::string& workflow, int input) {
  if (workflow == "Sequence") {
    int total = 0;
    for (int i = 0; i < kSequenceSteps; ++i) total += step_result(input + i);
    return total;
  }
  if (workflow == "FanOut") {
    int total = 0;
    for (int i = 0; i < kFanOut; ++i) total += step_result(input + i);
    return step_result(total);
  }
  if (workflow == "Timers") return step_result(step_result(input));
  if (workflow == "Parent") return expected_result("Sequence", input) + step_result(input);
  if (workflow == "Rounds") return kRounds * step_result(input);
  if (workflow == "Queue") return step_result(input) + step_result(input);
  throw std::invalid_argument("there is no workflow '" + workflow + "'");
}

// Writes down that a run began, and, if it comes to its end, that.
class NotedRun {
 public:
  NotedRun(const Ledger& ledger, const ActivityContext& context)
      : ledger_(ledger),
        entry_{.kind = LedgerKind::kRunBegan,
               .node = context.worker_id(),
               .step = {context.instance_id(), context.execution_id(), context.activity_id()},
               .attempt = context.attempt(),
               .what = {}} {
    ledger_.append(entry_);
  }
  void end() {
    entry_.kind = LedgerKind::kRunEnded;
    ledger_.append(entry_);
  }

 private:
  const Ledger& ledger_;
  LedgerEntry entry_;
};

// Work takes a while, so that some of it is waiting and some is going on when something happens.
inline void work_for(Milliseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, time, [] { return false; });
}

inline void add_activities(Registry& registry, const std::shared_ptr<const Ledger>& ledger) {
  registry.add_activity("Step", [ledger](ActivityContext& context, int input) {
    NotedRun run(*ledger, context);
    work_for(Milliseconds(4));
    run.end();
    return step_result(input);
  });
  registry.add_activity("Where", [ledger](ActivityContext& context) {
    NotedRun run(*ledger, context);
    run.end();
    return context.worker_id();
  });
}

inline void add_workflows(Registry& registry) {
  using Ctx = OrchestrationContext;
  registry.add_orchestration("Sequence", [](Ctx ctx, int input) -> Orchestration<int> {
    int total = 0;
    for (int i = 0; i < kSequenceSteps; ++i) total += co_await ctx.schedule_activity<int>("Step", input + i);
    co_return total;
  });
  registry.add_orchestration("FanOut", [](Ctx ctx, int input) -> Orchestration<int> {
    std::vector<Future<int>> steps;
    steps.reserve(kFanOut);
    for (int i = 0; i < kFanOut; ++i) steps.push_back(ctx.schedule_activity<int>("Step", input + i));
    const std::vector<int> results = co_await ctx.join(std::move(steps));
    co_return co_await ctx.schedule_activity<int>("Step", std::accumulate(results.begin(), results.end(), 0));
  });
  registry.add_orchestration("Timers", [](Ctx ctx, int input) -> Orchestration<int> {
    const int first = co_await ctx.schedule_activity<int>("Step", input);
    co_await ctx.schedule_timer(Milliseconds(5));
    co_return co_await ctx.schedule_activity<int>("Step", first);
  });
  registry.add_orchestration("Parent", [](Ctx ctx, int input) -> Orchestration<int> {
    auto child = ctx.schedule_sub_orchestration<int>("Sequence", input);
    auto step = ctx.schedule_activity<int>("Step", input);
    int total = co_await child;
    total += co_await step;
    co_return total;
  });
  registry.add_orchestration("Rounds", [](Ctx ctx, int input) -> Orchestration<int> {
    int total = ctx.get_kv_value<int>("total").value_or(0);
    total += co_await ctx.schedule_activity<int>("Step", input);
    ctx.set_kv_value("total", total);
    if (ctx.execution_id() < kRounds) co_await ctx.continue_as_new(input);
    co_return total;
  });
  registry.add_orchestration("Queue", [](Ctx ctx, int input) -> Orchestration<int> {
    const int first = co_await ctx.schedule_activity<int>("Step", input);
    const int order = co_await ctx.dequeue_event<int>(kOrders);
    const int second = co_await ctx.schedule_activity<int>("Step", order);
    co_return first + second;
  });
}

// `node` is who runs it.
inline Registry cluster_registry(const std::shared_ptr<const Ledger>& ledger, const std::string& node) {
  Registry registry;
  add_activities(registry, ledger);
  add_workflows(registry);
  // Tells which node committed its first turn, by its status, and whose run of each of its steps was taken.
  registry.add_orchestration("WhoDidIt",
                             [node](OrchestrationContext ctx, int steps) -> Orchestration<std::vector<std::string>> {
                               ctx.set_custom_status(node);
                               std::vector<std::string> nodes;
                               for (int i = 0; i < steps; ++i) {
                                 nodes.push_back(co_await ctx.schedule_activity<std::string>("Where"));
                               }
                               co_return nodes;
                             });
  return registry;
}

}  // namespace perdure::test
