// Whole workflows on the fast path: a write for each step, and nothing that a plain node would not do as well.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

constexpr Milliseconds kInstanceLock{5'000};  // RuntimeOptions::orchestrator_lock_timeout

// Counts what writes, and loses answers.
class CountsWrites final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  std::size_t instances = 0;   // fetched
  std::size_t commits = 0;     // calls
  std::size_t abandons = 0;    // calls, of instances
  std::size_t activities = 0;  // fetched
  std::size_t acks = 0;        // of activities
  std::size_t renewals = 0;    // calls, of either kind
  std::size_t claims = 0;      // activities
  int lose_commits = 0;        // so many are made, and answered with an error

  [[nodiscard]] std::size_t all() const { return instances + commits + abandons + activities + acks + renewals; }

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (batch) instances += batch->items.size();
    return batch;
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> turns) override {
    ++commits;
    auto answers = ForwardingProvider::ack_orchestration_items(turns);
    for (auto& answer : answers) {
      if (answer) claims += answer->claimed.size();
      if (lose_commits > 0) answer = ProviderError(ProviderErrorKind::kUnavailable, "the answer was lost");
    }
    if (lose_commits > 0) --lose_commits;
    return answers;
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> given) override {
    ++abandons;
    return ForwardingProvider::abandon_orchestration_items(given);
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_work_items(fetch);
    if (batch) activities += batch->items.size();
    return batch;
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> ended) override {
    acks += ended.size();
    return ForwardingProvider::ack_work_items(ended);
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    ++renewals;
    return ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    ++renewals;
    return ForwardingProvider::renew_work_locks(tokens, extend_for);
  }
};

std::vector<WorldKind> fast_worlds() {
  return {{.fast = true, .seed = 11},
          {.fast = true, .seed = 12},
          {.store = StoreKind::kSqlite, .fast = true, .seed = 13},
          {.store = StoreKind::kSqlite, .fast = true, .seed = 14},
          {.store = StoreKind::kPostgres, .fast = true, .seed = 15}};
}

// Chain adds one so many times, each time with an activity.
void add_chain(Registry& registry, const ActivityOptions& how = {}) {
  registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  registry.add_orchestration("Chain", [how](Ctx ctx, int steps) -> Orchestration<int> {
    int n = 0;
    while (n < steps) n = co_await ctx.schedule_activity<int>("Add", n, how);
    co_return n;
  });
}

class FastPathScenes : public InEveryCluster {
 protected:
  FastPathScenes() : view(std::make_shared<CountsWrites>(cluster.store())) {}

  // It has looked for work before there is some: what a fetch is about to fill is not claimed.
  SteppedCluster::Node& start(const Registry& registry) {
    auto& node = cluster.start_node(registry, {}, view);
    cluster.settle();
    return node;
  }
  // Work stays open until the test completes it; beside it the orchestration waits for an event or two seconds.
  SteppedCluster::Node& begin_open(const std::string& instance = "i") {
    Registry registry = open_registry();
    auto& node = start(registry);
    cluster.client().start_orchestration(instance, "Open");
    cluster.settle();
    EXPECT_EQ(calls.size(), 1U);
    EXPECT_EQ(view->claims, 1U);
    return node;
  }
  [[nodiscard]] Registry open_registry() const {
    Registry registry;
    calls.add_to(registry);
    registry.add_orchestration("Open", [](Ctx ctx) -> Orchestration<std::string> {
      auto work = ctx.schedule_activity<std::string>("Work");
      const auto first = co_await select{ctx.schedule_wait<std::string>("go"), ctx.schedule_timer(2s)};
      ctx.set_custom_status(first.index() == 0 ? "event" : "timer");
      co_return co_await std::move(work);
    });
    return registry;
  }
  [[nodiscard]] std::string custom_status(const std::string& instance = "i") const {
    return cluster.client().get_orchestration_status(instance).custom_status.value_or("none");
  }
  std::string complete() {
    calls.latest().done.complete("ready");
    cluster.settle();
    return cluster.client().get_orchestration_status("i").result<std::string>();
  }

  std::shared_ptr<CountsWrites> view;
  OpenCalls calls;
};
INSTANTIATE_TEST_SUITE_P(Worlds, FastPathScenes, ::testing::ValuesIn(fast_worlds()),
                         [](const auto& world) { return world.param.name(); });

TEST_P(FastPathScenes, AStepIsOneWrite) {
  Registry registry;
  add_chain(registry);
  start(registry);
  cluster.client().start_orchestration("i", "Chain", 20);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 20);
  EXPECT_EQ(view->instances, 1U) << "the start";
  EXPECT_EQ(view->commits, 21U);
  EXPECT_EQ(view->claims, 20U);
  EXPECT_EQ(view->all(), 22U) << "and nothing else";
}

TEST_P(FastPathScenes, HistoriesAreTheSame) {
  std::vector<std::vector<std::string>> kinds;
  for (const bool fast : {true, false}) {
    WorldKind kind = GetParam();
    kind.fast = fast;
    SteppedCluster other(kind);
    Registry registry;
    add_chain(registry);
    other.start_node(registry);
    other.client().start_orchestration("i", "Chain", 5);
    other.settle();
    kinds.push_back(other.event_kinds("i"));
  }
  EXPECT_EQ(kinds[0], kinds[1]);
}

// ---- Nothing is delayed by a lock that is held ---------------------------------------------------------------------

TEST_P(FastPathScenes, AnEventDoesNotWaitForTheActivity) {
  begin_open();
  cluster.client().raise_event("i", "go", "now");
  cluster.settle();
  EXPECT_EQ(custom_status(), "event");
  EXPECT_EQ(complete(), "ready");
  EXPECT_EQ(view->acks, 0U) << "it was still held";
}

TEST_P(FastPathScenes, ATimerDoesNotWaitForTheActivity) {
  begin_open();
  cluster.advance(2s);
  EXPECT_EQ(custom_status(), "timer");
  EXPECT_EQ(complete(), "ready");
}

TEST_P(FastPathScenes, ACancelDoesNotWaitForTheActivity) {
  begin_open();
  cluster.client().cancel_instance("i", "enough");
  cluster.settle();
  EXPECT_TRUE(cluster.client().get_orchestration_status("i").ended());
  EXPECT_TRUE(calls.latest().ctx.stop_token().stop_requested());
  calls.latest().done.complete("late");
  cluster.settle();
  EXPECT_EQ(view->acks, 0U);
}

TEST_P(FastPathScenes, EventsAmidManyStepsAreTakenWithinAStep) {
  Registry registry;
  registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  registry.add_orchestration("Count", [](Ctx ctx) -> Orchestration<int> {
    auto stop = ctx.schedule_wait<std::string>("stop");
    for (int n = 0;;) {
      auto step = ctx.schedule_activity<int>("Add", n);
      const auto first = co_await select{stop, step};
      if (first.index() == 0) co_return n;
      n = std::get<1>(first);
    }
  });
  start(registry);
  cluster.client().start_orchestration("i", "Count");
  cluster.step_until([&] { return view->claims >= 5; });
  cluster.client().raise_event("i", "stop", "now");
  const std::size_t before = view->claims;
  cluster.step_until([&] { return cluster.client().get_orchestration_status("i").ended(); });
  // How long a step takes is up to the dice, which also choose when the message is fetched.
  EXPECT_LT(view->claims, before + 30);
}

// ---- Locks that end, nodes that die, answers that are lost ---------------------------------------------------------

TEST_P(FastPathScenes, AnActivityThatTakesLongerThanTheLockIsCompletedThroughTheQueue) {
  Registry registry;
  calls.add_to(registry);
  add_flow(registry, {});
  start(registry);
  cluster.client().start_orchestration("i", "Flow");
  cluster.advance(kInstanceLock);
  EXPECT_EQ(complete(), "done: ready");
  EXPECT_EQ(view->acks, 1U);
}

TEST_P(FastPathScenes, ANodeThatDiesWithAClaimedActivityLosesNothing) {
  auto& node = begin_open();
  cluster.kill_node(node);
  cluster.start_node(open_registry());
  cluster.client().raise_event("i", "go", "now");
  cluster.settle();
  EXPECT_EQ(custom_status(), "none") << "the lock of the dead is still there";
  cluster.advance(kInstanceLock);
  EXPECT_EQ(custom_status(), "event");
  cluster.advance(30s);  // RuntimeOptions::worker_lock_timeout
  ASSERT_EQ(calls.size(), 2U) << "it was not run again";
  EXPECT_EQ(calls.latest().ctx.attempt(), 2U);
  EXPECT_EQ(complete(), "ready");
}

// Wherever it dies, another one ends the work.
TEST_P(FastPathScenes, ANodeMayDieAtAnyMoment) {
  for (int steps = 0;; ++steps) {
    SCOPED_TRACE(steps);
    SteppedCluster other(GetParam());
    Registry registry;
    add_chain(registry);
    auto& node = other.start_node(registry);
    other.client().start_orchestration("i", "Chain", 4);
    int done = 0;
    while (done < steps && other.step()) ++done;
    const bool ended = other.client().get_orchestration_status("i").ended();
    other.kill_node(node);
    other.start_node(registry);
    ASSERT_EQ(other.wait("i").result<int>(), 4);
    if (ended) break;
  }
}

TEST_P(FastPathScenes, ALostAnswerCostsTimeAndNothingElse) {
  Registry registry;
  std::map<int, int> runs;
  registry.add_activity("Add", [&runs](ActivityContext&, int n) {
    ++runs[n];
    return n + 1;
  });
  registry.add_orchestration("Chain", [](Ctx ctx, int steps) -> Orchestration<int> {
    int n = 0;
    while (n < steps) n = co_await ctx.schedule_activity<int>("Add", n);
    co_return n;
  });
  start(registry);
  cluster.client().start_orchestration("i", "Chain", 6);
  cluster.step_until([&] { return view->claims == 2; });
  view->lose_commits = 1;
  EXPECT_EQ(cluster.wait("i").result<int>(), 6);
  EXPECT_EQ(view->lose_commits, 0);
  EXPECT_THAT(runs, Each(::testing::Pair(::testing::_, 1))) << "an activity ran twice";
}

// ---- Places, queues, tags and sessions -----------------------------------------------------------------------------

TEST_P(FastPathScenes, AFanWiderThanTheWorkerIsClaimedInPart) {
  Registry registry;
  registry.add_activity("Square", [](ActivityContext&, int n) { return n * n; });
  registry.add_orchestration("Fan", [](Ctx ctx, int n) -> Orchestration<int> {
    std::vector<Future<int>> parts;
    for (int i = 1; i <= n; ++i) parts.push_back(ctx.schedule_activity<int>("Square", i));
    int sum = 0;
    for (const int part : co_await ctx.join(std::move(parts))) sum += part;
    co_return sum;
  });
  start(registry);
  cluster.client().start_orchestration("i", "Fan", 20);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 2'870);
  EXPECT_GE(view->claims, 2U);
  EXPECT_EQ(view->claims + view->activities, 20U) << "each was taken once";
}

TEST_P(FastPathScenes, ManyAtOnceShareTheWorkerWithTheQueue) {
  Registry registry;
  add_chain(registry);
  start(registry);
  for (int i = 0; i < 30; ++i) cluster.client().start_orchestration("i" + std::to_string(i), "Chain", 4);
  cluster.settle();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(cluster.client().get_orchestration_status("i" + std::to_string(i)).result<int>(), 4);
  }
  EXPECT_EQ(view->claims + view->activities, 120U) << "an activity was taken twice, or its lock was lost";
}

TEST_P(FastPathScenes, WhatTheWorkerDoesNotTakeIsNotClaimed) {
  Registry registry;
  add_chain(registry, ActivityOptions().tag("gpu"));
  start(registry);
  RuntimeOptions gpu;
  gpu.worker_tag_filter = TagFilter::tags({"gpu"});
  const auto other = std::make_shared<CountsWrites>(cluster.store());
  gpu.fetch_only_registered = true;
  Registry work;
  work.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
  cluster.start_node(work, gpu, other);
  cluster.client().start_orchestration("i", "Chain", 3);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 3);
  EXPECT_EQ(view->claims + view->abandons, 0U);
  EXPECT_EQ(other->activities, 3U);
}

TEST_P(FastPathScenes, SessionsAreClaimedWithTheirActivities) {
  Registry registry;
  add_chain(registry, ActivityOptions().session("s"));
  start(registry);
  cluster.client().start_orchestration("i", "Chain", 5);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 5);
  EXPECT_EQ(view->claims, 5U);
  EXPECT_EQ(view->acks, 0U);
}

TEST_P(FastPathScenes, ASessionOfAnotherNodeIsLeftToIt) {
  OpenCalls elsewhere;
  Registry holder;
  elsewhere.add_to(holder);
  add_flow(holder, ActivityOptions().session("s"));
  RuntimeOptions own;
  own.fetch_only_registered = true;
  cluster.start_node(holder, own);
  cluster.client().start_orchestration("holds", "Flow");
  cluster.settle();
  ASSERT_EQ(elsewhere.size(), 1U);
  Registry registry;
  add_flow(registry, ActivityOptions().session("s"), "Wants");
  registry.add_activity("Work", [](ActivityContext&) { return std::string("wrong place"); });
  cluster.start_node(registry, own, view);
  cluster.client().start_orchestration("wants", "Wants");
  cluster.settle();
  EXPECT_EQ(view->claims, 0U);
  ASSERT_EQ(elsewhere.size(), 2U);
  for (const OpenCalls::Call& call : elsewhere.all()) call.done.complete("here");
  EXPECT_EQ(cluster.wait("wants").result<std::string>(), "done: here");
  EXPECT_EQ(cluster.wait("holds").result<std::string>(), "done: here");
}

// ---- The rest of a life --------------------------------------------------------------------------------------------

TEST_P(FastPathScenes, RetriesAndTimeouts) {
  Registry registry;
  int tries = 0;
  registry.add_activity("Flaky", [&tries](ActivityContext&) -> int {
    if (++tries < 3) throw std::runtime_error("not yet");
    return tries;
  });
  calls.add_to(registry, "Slow");
  registry.add_orchestration("Flow", [](Ctx ctx) -> Orchestration<std::string> {
    const int n = co_await ctx.schedule_activity<int>("Flaky", ActivityOptions().retry(RetryPolicy(3)));
    const auto slow = co_await ctx.schedule_activity<std::string>("Slow", ActivityOptions().timeout(1s)).as_result();
    co_return std::to_string(n) + (!slow && slow.error().is_timeout() ? " timeout" : " wrong");
  });
  start(registry);
  cluster.client().start_orchestration("i", "Flow");
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "3 timeout");
}

TEST_P(FastPathScenes, ADrainingNodeLeavesItsHeldInstancesToOthers) {
  auto& node = begin_open();
  node.drain();
  cluster.start_node(open_registry());
  cluster.client().raise_event("i", "go", "now");
  cluster.settle();
  EXPECT_EQ(custom_status(), "event");
  EXPECT_EQ(complete(), "ready");
  EXPECT_EQ(calls.size(), 1U);
  cluster.stop_node(node);
}

TEST_P(FastPathScenes, ContinuingAsNewAndChildren) {
  Registry registry;
  add_chain(registry);
  registry.add_orchestration("Rounds", [](Ctx ctx, int rounds) -> Orchestration<int> {
    const int n = co_await ctx.schedule_activity<int>("Add", rounds);
    if (rounds < 4) co_return ctx.continue_as_new(n);
    co_return co_await ctx.schedule_sub_orchestration<int>("Chain", n);
  });
  start(registry);
  cluster.client().start_orchestration("i", "Rounds", 0);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 5);
  EXPECT_EQ(view->claims, 10U);
  EXPECT_EQ(view->acks, 0U);
}

TEST_P(FastPathScenes, TwoNodesShareTheWork) {
  Registry registry;
  std::map<std::string, int> runs;
  registry.add_activity("Add", [&runs](ActivityContext& ctx, int n) {
    ++runs[ctx.instance_id() + " " + std::to_string(n)];
    return n + 1;
  });
  registry.add_orchestration("Chain", [](Ctx ctx, int steps) -> Orchestration<int> {
    int n = 0;
    while (n < steps) n = co_await ctx.schedule_activity<int>("Add", n);
    co_return n;
  });
  cluster.start_node(registry);
  cluster.start_node(registry);
  for (int i = 0; i < 20; ++i) cluster.client().start_orchestration("i" + std::to_string(i), "Chain", 5);
  cluster.settle();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(cluster.client().get_orchestration_status("i" + std::to_string(i)).result<int>(), 5);
  }
  EXPECT_EQ(runs.size(), 100U);
  EXPECT_THAT(runs, Each(::testing::Pair(::testing::_, 1)));
}

}  // namespace
}  // namespace perdure::test
