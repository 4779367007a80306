#include "testing/cluster/workflows.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace perdure::testing::cluster {

namespace {

constexpr int kSequenceSteps = 3;
constexpr int kFanOut = 4;
constexpr int kRounds = 3;
constexpr EventId kFirstDecision = kFirstEventId + 1;

int step_result(int input) {
  return 2 * input;
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
void work_for(Milliseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, time, [] { return false; });
}

// When to do wrong.
class Mischief {
 public:
  explicit Mischief(std::string planted) : planted_(std::move(planted)) {
    for (const char* known : {"", kDropLine, kRepeat, kWrongResult, kHang}) {
      if (planted_ == known) return;
    }
    throw std::invalid_argument("a worker does not support '" + planted_ +
                                "'; use drop-line, repeat, wrong-result or hang");
  }
  // Each answer counts as a run, if that is what was planted.
  [[nodiscard]] bool strikes(const char* what) { return planted_ == what && ++runs_ % kEvery == 0; }

 private:
  static constexpr unsigned kEvery = 10;
  std::string planted_;
  std::atomic<unsigned> runs_{0};
};

int run_step(const Ledger& ledger, Mischief& mischief, const ActivityContext& context, int input) {
  if (mischief.strikes(kDropLine)) return step_result(input);
  NotedRun run(ledger, context);
  work_for(Milliseconds(4));
  if (mischief.strikes(kHang)) {
    while (!context.is_cancelled()) work_for(Milliseconds(20));
  }
  run.end();
  if (mischief.strikes(kRepeat)) NotedRun(ledger, context).end();
  return mischief.strikes(kWrongResult) ? step_result(input) + 1 : step_result(input);
}

void add_activities(Registry& registry, const std::shared_ptr<const Ledger>& ledger, const std::string& planted) {
  registry.add_activity("Step",
                        [ledger, mischief = std::make_shared<Mischief>(planted)](ActivityContext& context, int input) {
                          return run_step(*ledger, *mischief, context, input);
                        });
  // A retry is an activity of its own, so it knows which one it is.
  registry.add_activity("FailsAtFirst", [ledger](ActivityContext& context, int input) {
    NotedRun run(*ledger, context);
    run.end();
    if (context.activity_id() == kFirstDecision) throw std::runtime_error("not the first time");
    return step_result(input);
  });
  registry.add_activity("Where", [ledger](ActivityContext& context) {
    NotedRun run(*ledger, context);
    run.end();
    return context.worker_id();
  });
}

void add_workflows(Registry& registry) {
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
  registry.add_orchestration("Retries", [](Ctx ctx, int input) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(RetryPolicy(2).backoff(Backoff::fixed(Milliseconds(5))));
    co_return co_await ctx.schedule_activity<int>("FailsAtFirst", input, options);
  });
  registry.add_orchestration(kEventWorkflow, [](Ctx ctx, int input) -> Orchestration<int> {
    const int first = co_await ctx.schedule_activity<int>("Step", input);
    ctx.set_custom_status(kWaiting);  // in one commit with the subscription
    const int told = co_await ctx.schedule_wait<int>(kGo);
    const int second = co_await ctx.schedule_activity<int>("Step", told);
    co_return first + second;
  });
}

}  // namespace

int expected_result(const std::string& workflow, int input) {
  const auto steps = [input](int count) {
    int total = 0;
    for (int i = 0; i < count; ++i) total += step_result(input + i);
    return total;
  };
  if (workflow == "Sequence") return steps(kSequenceSteps);
  if (workflow == "FanOut") return step_result(steps(kFanOut));
  if (workflow == "Timers") return step_result(step_result(input));
  if (workflow == "Parent") return expected_result("Sequence", input) + step_result(input);
  if (workflow == "Rounds") return kRounds * step_result(input);
  if (workflow == "Queue" || workflow == kEventWorkflow) return step_result(input) + step_result(input);
  if (workflow == "Retries") return step_result(input);
  throw std::invalid_argument("there is no workflow '" + workflow + "'");
}

Registry cluster_registry(const std::shared_ptr<const Ledger>& ledger, const std::string& node,
                          const std::string& planted) {
  Registry registry;
  add_activities(registry, ledger, planted);
  add_workflows(registry);
  // Tells which node committed its first turn, by its status, and whose run of each of its steps was taken.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): the registry outlives what it runs
  const auto who_did_it = [node](OrchestrationContext ctx, int steps) -> Orchestration<std::vector<std::string>> {
    ctx.set_custom_status(node);
    std::vector<std::string> nodes;
    nodes.reserve(static_cast<std::size_t>(steps));
    for (int i = 0; i < steps; ++i) nodes.push_back(co_await ctx.schedule_activity<std::string>("Where"));
    co_return nodes;
  };
  registry.add_orchestration("WhoDidIt", who_did_it);
  return registry;
}

}  // namespace perdure::testing::cluster
