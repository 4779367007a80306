// What takes its process down again and again: it is counted, from half of its attempts on it is tried alone, and in
// the end it fails, and everybody who waits for it is told.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/provider_admin.h>
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

constexpr Milliseconds kTurnLock{5'000};
constexpr Milliseconds kWorkLock{30'000};
constexpr std::uint32_t kMaxAttempts = 10;
constexpr std::uint32_t kSuspectFrom = kMaxAttempts / 2;  // earlier fetches

class Poison : public InEveryCluster {
 protected:
  // Whoever calls it in a turn or an activity is the last thing that its node does.
  void die() { ++deaths; }
  // Runs a node until something in it dies, or there is nothing left to do at this time. False: it lives.
  bool run_node_until_it_dies(std::shared_ptr<Provider> view = nullptr) {
    const int before = deaths;
    auto& node = cluster.start_node(registry, options, std::move(view));
    while (deaths == before && cluster.step()) {
    }
    const bool died = deaths != before;
    if (died) {
      cluster.kill_node(node);
    } else {
      cluster.stop_node(node);
    }
    return died;
  }
  void expect_poison(const std::string& instance, PoisonSubject subject, const std::string& of,
                     std::uint32_t attempts = kMaxAttempts + 1) {
    const auto status = cluster.client().get_orchestration_status(instance);
    ASSERT_EQ(status.state, OrchestrationState::kFailed) << instance;
    const auto* error = std::get_if<PoisonError>(&*status.error);
    ASSERT_NE(error, nullptr) << status.error_text();
    EXPECT_EQ(error->subject, subject);
    EXPECT_EQ(error->instance, of);
    EXPECT_EQ(error->attempts, attempts);
    EXPECT_EQ(error->max_attempts, kMaxAttempts);
  }
  // Begins what ends in a turn that takes its process down: a child with an activity and a child of its own.
  void begin_family() {
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Mortal", SubOrchestrationOptions().instance_id("mortal"));
    });
    registry.add_orchestration("Mortal", [this](Ctx ctx) -> Orchestration<int> {
      auto activity = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
      auto child = ctx.schedule_sub_orchestration<int>("Child", SubOrchestrationOptions().instance_id("child"));
      co_await ctx.schedule_wait<int>("die");
      die();
      co_return co_await activity + co_await child;
    });
    registry.add_orchestration(
        "Child", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("never"); });
    cluster.client().start_orchestration("parent", "Parent");
    ASSERT_FALSE(run_node_until_it_dies());
    ASSERT_EQ(cluster.state("child"), OrchestrationState::kRunning);
    ASSERT_EQ(cluster.client().get_queue_depths().activities, 1U);
  }

  Registry registry;
  RuntimeOptions options;
  int deaths = 0;
};
PERDURE_IN_EVERY_CLUSTER(Poison);

// ---- Instances -----------------------------------------------------------------------------------------------------

TEST_P(Poison, AStartThatTakesItsProcessDownTenTimesFails) {
  registry.add_orchestration("Mortal", [this](Ctx, int) -> Orchestration<int> {
    die();
    co_return 1;
  });
  cluster.client().start_orchestration("i", "Mortal", 7);
  for (std::uint32_t attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    ASSERT_TRUE(run_node_until_it_dies()) << attempt;
    ASSERT_EQ(cluster.state("i"), OrchestrationState::kPending);
    ASSERT_FALSE(run_node_until_it_dies()) << "its lock is still held";
    cluster.advance(kTurnLock);
  }
  EXPECT_FALSE(run_node_until_it_dies());
  expect_poison("i", PoisonSubject::kOrchestration, "i");
  EXPECT_EQ(deaths, 10);
  EXPECT_THAT(cluster.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
  EXPECT_THAT(std::get<PoisonError>(*cluster.client().get_orchestration_status("i").error).message,
              HasSubstr("StartOrchestration"));
  EXPECT_EQ(cluster.metrics().counter_total(metric::kOrchestrationPoison.name), 1U);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Poison, ThePoisonedOnesParentIsToldAndItsActivitiesAndChildrenAreCancelled) {
  begin_family();
  cluster.client().raise_event("mortal", "die", 1);
  while (run_node_until_it_dies()) cluster.advance(kTurnLock);
  EXPECT_EQ(deaths, 10);
  expect_poison("mortal", PoisonSubject::kOrchestration, "mortal");
  expect_poison("parent", PoisonSubject::kOrchestration, "mortal");
  EXPECT_EQ(cluster.state("child"), OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
  EXPECT_THAT(cluster.event_kinds("mortal"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "SubOrchestrationScheduled",
                          "ExternalSubscribed", "ExternalEvent", "OrchestrationFailed", "ActivityCancelRequested"));
}

TEST_P(Poison, AContinuationThatTakesItsProcessDownFailsAndItsParentIsTold) {
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("Loop", 1, SubOrchestrationOptions().instance_id("loop"));
  });
  registry.add_orchestration("Loop", [this](Ctx ctx, int round) -> Orchestration<int> {
    if (round == 1) co_return ctx.continue_as_new(2);
    die();
    co_return round;
  });
  cluster.client().start_orchestration("parent", "Parent");
  while (run_node_until_it_dies()) cluster.advance(kTurnLock);
  EXPECT_EQ(deaths, 10);
  expect_poison("loop", PoisonSubject::kOrchestration, "loop");
  expect_poison("parent", PoisonSubject::kOrchestration, "loop");
}

TEST_P(Poison, WithASingleAttemptTheSecondFetchIsTheEnd) {
  options.max_attempts = 1;
  registry.add_orchestration("Mortal", [this](Ctx) -> Orchestration<int> {
    die();
    co_return 1;
  });
  cluster.client().start_orchestration("i", "Mortal");
  ASSERT_TRUE(run_node_until_it_dies());
  cluster.advance(kTurnLock);
  EXPECT_FALSE(run_node_until_it_dies());
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kFailed);
}

// W33: the message that continues an execution is gone, and only something else wakes the instance.
TEST_P(Poison, ALostContinuationEndsTheInstanceAndItsParentIsTold) {
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("Loop", SubOrchestrationOptions().instance_id("loop"));
  });
  registry.add_orchestration("Loop", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<int>("go");
    co_return ctx.continue_as_new();
  });
  cluster.client().start_orchestration("parent", "Parent");
  ASSERT_FALSE(run_node_until_it_dies());
  cluster.client().raise_event("loop", "go", 1);
  auto& node = cluster.start_node(registry, options);
  cluster.step_until(
      [&] { return cluster.client().get_instance_info("loop").status == ExecutionStatus::kContinuedAsNew; });
  cluster.kill_node(node);
  const auto item = cluster.store()->fetch_orchestration_item().value().value();
  TurnCommit loss;
  loss.token = item.token;
  loss.commit_id = 4'711;
  loss.execution_id = item.execution_id;
  loss.consumed = {item.messages.front().id};
  ASSERT_TRUE(cluster.store()->ack_orchestration_item(loss).has_value());
  cluster.client().raise_event("loop", "go", 2);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("loop").state, OrchestrationState::kFailed);
  EXPECT_EQ(cluster.wait("parent").state, OrchestrationState::kFailed);
}

// A store that never takes a certain turn, as if its disk refused these bytes.
class RefusesActivities final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  int refusals = 0;

  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    std::vector<ProviderResult<CommitAnswer>> answers;
    for (const TurnCommit& commit : commits) {
      if (commit.activities.empty()) {
        answers.push_back(inner().ack_orchestration_item(commit));
      } else {
        ++refusals;
        answers.emplace_back(ProviderError(ProviderErrorKind::kInvalidArgument, "refused"));
      }
    }
    return answers;
  }
};

TEST_P(Poison, ATurnThatTheStoreRefusesIsTriedTenTimesAndThenFails) {
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  registry.add_orchestration("Calls", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<int>("go");
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  const auto view = std::make_shared<RefusesActivities>(cluster.store());
  cluster.start_node(registry, options, view);
  cluster.client().start_orchestration("i", "Calls");
  cluster.settle();
  cluster.client().raise_event("i", "go", 1);
  cluster.wait("i");
  // It ends under the lock of the last attempt, without another fetch.
  expect_poison("i", PoisonSubject::kOrchestration, "i", kMaxAttempts);
  EXPECT_EQ(view->refusals, 10);
}

// Attempts are counted since the last commit: bad luck does not add up.
TEST_P(Poison, ACommitForgivesTheAttemptsBeforeIt) {
  registry.add_orchestration("Lucky", [this](Ctx ctx) -> Orchestration<int> {
    for (int turn = 1; turn <= 3; ++turn) {
      co_await ctx.schedule_wait<int>("go");
      if (deaths < turn * 9) die();
    }
    co_return deaths;
  });
  cluster.client().start_orchestration("i", "Lucky");
  ASSERT_FALSE(run_node_until_it_dies());
  for (int turn = 1; turn <= 3; ++turn) {
    cluster.client().raise_event("i", "go", turn);
    while (run_node_until_it_dies()) cluster.advance(kTurnLock);
  }
  EXPECT_EQ(cluster.wait("i").result<int>(), 27);
}

// A node that stops in order gives back what it has not begun, and that is no attempt.
TEST_P(Poison, NodesThatStopInOrderDoNotCount) {
  registry.add_orchestration("Fine", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<int>("go");
    co_return 1;
  });
  cluster.client().start_orchestration("i", "Fine");
  for (int i = 0; i < 30 && !cluster.client().get_orchestration_status("i").ended(); ++i) {
    cluster.client().raise_event("i", "other", i);
    const auto watch = cluster.watched();
    auto& node = cluster.start_node(registry, options, watch);
    cluster.step_until([&] { return !watch->instances.empty(); });
    EXPECT_EQ(watch->instances.front().attempt, 1U);
    cluster.stop_node(node);
  }
  cluster.client().raise_event("i", "go", 1);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("i").result<int>(), 1);
}

// ---- Activities ----------------------------------------------------------------------------------------------------

TEST_P(Poison, AnActivityThatTakesItsProcessDownTenTimesFailsItsOrchestration) {
  registry.add_activity("Mortal", [this](ActivityContext&) {
    die();
    return 1;
  });
  registry.add_orchestration(
      "Calls", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Mortal"); });
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("Calls", SubOrchestrationOptions().instance_id("i"));
  });
  cluster.client().start_orchestration("parent", "Parent");
  while (run_node_until_it_dies()) {
    ASSERT_EQ(cluster.state("i"), OrchestrationState::kRunning);
    cluster.advance(kWorkLock);
  }
  EXPECT_EQ(deaths, 10);
  expect_poison("i", PoisonSubject::kActivity, "i");
  expect_poison("parent", PoisonSubject::kActivity, "i");
  const auto error = std::get<PoisonError>(*cluster.client().get_orchestration_status("i").error);
  EXPECT_EQ(error.activity_name, "Mortal");
  EXPECT_EQ(error.activity_id, 2U);
  EXPECT_THAT(cluster.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityFailed", "OrchestrationFailed"));
  EXPECT_EQ(cluster.metrics().counter_total(metric::kActivityPoison.name), 1U);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

// W12: the engine ends it, not its code; still nothing of it goes on.
TEST_P(Poison, WhenAnActivityEndsItsOrchestrationAsPoisonItsChildAndOtherActivitiesAreCancelled) {
  registry.add_activity("Mortal", [this](ActivityContext&) {
    die();
    return 1;
  });
  registry.add_orchestration("Calls", [](Ctx ctx) -> Orchestration<int> {
    auto child = ctx.schedule_sub_orchestration<int>("Child", SubOrchestrationOptions().instance_id("child"));
    auto other = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
    const int mortal = co_await ctx.schedule_activity<int>("Mortal");
    co_return mortal + co_await other + co_await child;
  });
  registry.add_orchestration("Child",
                             [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("never"); });
  cluster.client().start_orchestration("i", "Calls");
  while (run_node_until_it_dies()) cluster.advance(kWorkLock);
  EXPECT_EQ(deaths, 10);
  expect_poison("i", PoisonSubject::kActivity, "i");
  EXPECT_EQ(cluster.state("child"), OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

// ---- Suspects ------------------------------------------------------------------------------------------------------

// Sees to it that a suspect comes alone, and is the only one that its node holds.
class SuspectWatch final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  int suspects_seen = 0;
  std::size_t largest_fetch = 0;

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (batch) look_at(batch->items, turns_);
    return batch;
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    auto answers = ForwardingProvider::ack_orchestration_items(commits);
    for (const TurnCommit& commit : commits) turns_.erase(commit.token.value);
    return answers;
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    auto answers = ForwardingProvider::abandon_orchestration_items(abandons);
    for (const Abandon& abandon : abandons) turns_.erase(abandon.token.value);
    return answers;
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_work_items(fetch);
    if (batch) look_at(batch->items, work_);
    return batch;
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    auto answers = ForwardingProvider::ack_work_items(acks);
    for (const WorkAck& ack : acks) work_.erase(ack.token.value);
    return answers;
  }

 private:
  template <class Item>
  void look_at(const std::vector<Item>& items, std::set<std::string>& held) {
    largest_fetch = std::max(largest_fetch, items.size());
    for (const Item& item : items) {
      if (item.attempt_count <= kSuspectFrom) continue;
      ++suspects_seen;
      EXPECT_EQ(items.size(), 1U) << "a suspect came with others";
      held.insert(item.token.value);
      EXPECT_EQ(held.size(), 1U) << "a node holds two suspects";
    }
  }
  std::set<std::string> turns_;
  std::set<std::string> work_;
};

TEST_P(Poison, OneBadInstanceAmongManyFailsAlone) {
  registry.add_orchestration("Good", [](Ctx, int n) -> Orchestration<int> { co_return n; });
  registry.add_orchestration("Bad", [this](Ctx, int n) -> Orchestration<int> {
    die();
    co_return n;
  });
  constexpr int kMany = 64;
  constexpr int kBad = 17;
  for (int i = 0; i < kMany; ++i) {
    cluster.client().start_orchestration(std::to_string(i), i == kBad ? "Bad" : "Good", i);
  }
  int suspects = 0;
  std::size_t largest = 0;
  for (bool died = true; died; cluster.advance(kTurnLock)) {
    const auto watch = std::make_shared<SuspectWatch>(cluster.store());
    died = run_node_until_it_dies(watch);
    suspects += watch->suspects_seen;
    largest = std::max(largest, watch->largest_fetch);
  }
  EXPECT_EQ(deaths, 10);
  EXPECT_EQ(largest, static_cast<std::size_t>(kMany)) << "at first they come together";
  EXPECT_GE(suspects, 6);
  for (int i = 0; i < kMany; ++i) {
    if (i == kBad) continue;
    EXPECT_EQ(cluster.client().get_orchestration_status(std::to_string(i)).result<int>(), i);
  }
  expect_poison(std::to_string(kBad), PoisonSubject::kOrchestration, std::to_string(kBad));
}

TEST_P(Poison, OneBadActivityAmongManyFailsAlone) {
  options.worker_concurrency = 16;
  registry.add_activity("Good", [](ActivityContext&, int n) { return n; });
  registry.add_activity("Bad", [this](ActivityContext&, int n) {
    die();
    return n;
  });
  registry.add_orchestration("Call", [](Ctx ctx, int n) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>(n == 3 ? "Bad" : "Good", n);
  });
  constexpr int kMany = 16;
  for (int i = 0; i < kMany; ++i) cluster.client().start_orchestration(std::to_string(i), "Call", i);
  int suspects = 0;
  for (bool died = true; died; cluster.advance(kWorkLock)) {
    const auto watch = std::make_shared<SuspectWatch>(cluster.store());
    died = run_node_until_it_dies(watch);
    suspects += watch->suspects_seen;
  }
  EXPECT_EQ(deaths, 10);
  EXPECT_GE(suspects, 6);
  for (int i = 0; i < kMany; ++i) {
    if (i == 3) continue;
    EXPECT_EQ(cluster.client().get_orchestration_status(std::to_string(i)).result<int>(), i);
  }
  expect_poison("3", PoisonSubject::kActivity, "3");
}

// Two suspects that do nothing wrong: one node takes them one after the other, and does not forget the second.
TEST_P(Poison, SuspectsAreServedOneAfterTheOther) {
  bool bad_times = true;
  registry.add_orchestration("Good", [&](Ctx, int n) -> Orchestration<int> {
    if (bad_times) die();
    co_return n;
  });
  for (int i = 0; i < 5; ++i) cluster.client().start_orchestration(std::to_string(i), "Good", i);
  options.orchestration_concurrency = 8;
  for (std::uint32_t i = 0; i < kSuspectFrom; ++i) {
    ASSERT_TRUE(run_node_until_it_dies());
    cluster.advance(kTurnLock);
  }
  bad_times = false;
  const auto watch = std::make_shared<SuspectWatch>(cluster.store());
  EXPECT_FALSE(run_node_until_it_dies(watch));
  EXPECT_EQ(watch->suspects_seen, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(cluster.client().get_orchestration_status(std::to_string(i)).result<int>(), i);
  }
}

}  // namespace
}  // namespace perdure::test
