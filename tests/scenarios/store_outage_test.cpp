// A store that fails for minutes: nothing counts as an attempt, nothing ends as poison, and all work resumes by itself.
// A call that the store refuses because of its data counts against the item, and against no other.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

constexpr int kWorkflows = 12;

// Which calls the store refuses. From kCommits on each refuses what the one before refuses, too.
enum class Refused { kNothing, kReads, kTurns, kOutcomes, kCommits, kAllButFetches, kAll };

class FailingStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  Refused refused = Refused::kNothing;
  bool refuses_values = false;
  ProviderError error{ProviderErrorKind::kStoreFailed, "internal error (XX000)"};
  // The errors for the commits of an instance, and for the outcomes of its activities.
  std::map<std::string, ProviderError> bad_turns;
  std::map<std::string, ProviderError> bad_outcomes;
  std::uint32_t most_attempts = 0;

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    if (refused == Refused::kAll) return error;
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch) return batch;
    for (const OrchestrationItem& item : batch->items) {
      instances_[item.token.value] = item.instance;
      most_attempts = std::max(most_attempts, item.attempt_count);
    }
    return batch;
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    if (refused == Refused::kReads || refused == Refused::kAll) return error;
    return ForwardingProvider::read_history(token, after);
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    std::vector<ProviderResult<CommitAnswer>> answers;
    for (const TurnCommit& commit : commits) {
      const auto bad = bad_turns.find(instances_[commit.token.value]);
      // The end of an execution can be stored.
      if (refused == Refused::kTurns || refused >= Refused::kCommits) {
        answers.emplace_back(error);
      } else if (bad != bad_turns.end() && !commit.status) {
        answers.emplace_back(bad->second);
      } else {
        answers.push_back(ForwardingProvider::ack_orchestration_items(std::span(&commit, 1)).front());
      }
    }
    return answers;
  }
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    if (refused >= Refused::kAllButFetches) return {abandons.size(), error};
    return ForwardingProvider::abandon_orchestration_items(abandons);
  }
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override {
    if (refused >= Refused::kAllButFetches) return {tokens.size(), error};
    return ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    if (refused == Refused::kAll) return error;
    auto batch = ForwardingProvider::fetch_work_items(fetch);
    if (!batch) return batch;
    for (const WorkItem& item : batch->items) most_attempts = std::max(most_attempts, item.attempt_count);
    return batch;
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    std::vector<ProviderResult<void>> answers;
    for (const WorkAck& ack : acks) {
      const auto bad = bad_outcomes.find(ack.completion ? ack.completion->instance : "");
      if (refused >= Refused::kOutcomes) {
        answers.emplace_back(error);
      } else if (bad != bad_outcomes.end() && ack.completion->kind == MessageKind::kActivityCompleted) {
        answers.emplace_back(bad->second);
      } else {
        answers.push_back(ForwardingProvider::ack_work_items(std::span(&ack, 1)).front());
      }
    }
    return answers;
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    if (refused >= Refused::kAllButFetches) return {abandons.size(), error};
    return ForwardingProvider::abandon_work_items(abandons);
  }
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    if (refused >= Refused::kAllButFetches) return {tokens.size(), error};
    return ForwardingProvider::renew_work_locks(tokens, extend_for);
  }
  ProviderResult<std::optional<std::string>> read_key_value(const std::string& instance,
                                                            const std::string& key) override {
    if (refuses_values || refused >= Refused::kAllButFetches) return error;
    return ForwardingProvider::read_key_value(instance, key);
  }

 private:
  std::map<std::string, std::string> instances_;  // by token
};

class StoreOutage : public InEveryCluster {
 protected:
  StoreOutage() {
    registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
    registry.add_orchestration("Chain", [](Ctx ctx, int steps) -> Orchestration<int> {
      int n = 0;
      while (n < steps) {
        n = co_await ctx.schedule_activity<int>("Add", n);
        co_await ctx.schedule_timer(100ms);
      }
      co_return n;
    });
    registry.add_orchestration("FanOut", [](Ctx ctx, int width) -> Orchestration<int> {
      std::vector<Future<int>> all;
      for (int i = 0; i < width; ++i) all.push_back(ctx.schedule_activity<int>("Add", i));
      int sum = 0;
      for (const int n : co_await ctx.join(std::move(all))) sum += n;
      co_return sum;
    });
    registry.add_orchestration("Forever", [](Ctx ctx) -> Orchestration<int> {
      for (;;) co_await ctx.schedule_timer(500ms);
    });
    registry.add_orchestration("Reads", [](Ctx ctx) -> Orchestration<int> {
      const auto value = co_await ctx.get_kv_value_from_instance<int>("unknown", "n");
      co_return value.value_or(-1);
    });
  }
  void begin_workflows() {
    for (int i = 0; i < kWorkflows; ++i) cluster.client().start_orchestration("w" + std::to_string(i), "Chain", 3);
  }
  void expect_completed(const std::string& instance) {
    const OrchestrationStatus status = cluster.wait(instance);
    EXPECT_EQ(status.state, OrchestrationState::kCompleted) << instance << ": " << status.error_text();
  }
  void expect_all_completed() {
    for (int i = 0; i < kWorkflows; ++i) expect_completed("w" + std::to_string(i));
  }
  void pass(Milliseconds time, Milliseconds step = 1s) {
    for (Milliseconds passed{0}; passed < time; passed += step) cluster.advance(step);
  }
  void go_through_an_outage(Refused refused, std::uint32_t nodes = 1) {
    cluster.start_node(registry, {}, store);
    begin_workflows();
    // Some turns are stored, and others in progress.
    for (int i = 0; i < 60; ++i) cluster.step();
    store->refused = refused;
    pass(2min, 2s);
    store->refused = Refused::kNothing;
    expect_all_completed();
    EXPECT_LE(store->most_attempts, 1 + nodes) << "only a fetch whose lock ended may count, one of each node";
  }
  void go_through_outages_during_an_activity(Refused refused) {
    const OpenCalls calls;
    calls.add_to(registry, "Long");
    registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<std::string> {
      co_return co_await ctx.schedule_activity<std::string>("Long");
    });
    RuntimeOptions options;
    options.max_attempts = 3;
    cluster.start_node(registry, options, store);
    cluster.start_node(registry, options, std::make_shared<testing::ForwardingProvider>(store));
    cluster.client().start_orchestration("waits", "Waits");
    for (int outage = 1; outage <= 6; ++outage) {
      pass(1min);
      store->refused = refused;
      pass(2min, 2s);
      store->refused = Refused::kNothing;
      pass(1min);
      ASSERT_EQ(cluster.state("waits"), OrchestrationState::kRunning) << "after outage " << outage;
    }
    EXPECT_GT(calls.size(), 1U) << "no outage interrupted the activity";
    calls.latest().done.complete("done");
    EXPECT_EQ(cluster.wait("waits").result<std::string>(), "done");
  }
  [[nodiscard]] std::size_t count_logs(const std::string& text) const {
    std::size_t count = 0;
    for (const CapturedLogRecord& record : cluster.log().records()) {
      if (record.message.find(text) != std::string::npos) ++count;
    }
    return count;
  }

  Registry registry;
  std::shared_ptr<FailingStore> store = std::make_shared<FailingStore>(cluster.store());
};
PERDURE_IN_EVERY_CLUSTER(StoreOutage);

// ---- The store's failures ------------------------------------------------------------------------------------------

TEST_P(StoreOutage, MinutesOfRefusedCommitsPoisonNothing) {
  go_through_an_outage(Refused::kCommits);
}

TEST_P(StoreOutage, MinutesInWhichOnlyFetchesSucceedPoisonNothing) {
  go_through_an_outage(Refused::kAllButFetches);
}

TEST_P(StoreOutage, MinutesWithoutAStorePoisonNothing) {
  go_through_an_outage(Refused::kAll);
}

TEST_P(StoreOutage, MinutesOfRefusedCommitsOnTwoNodesPoisonNothing) {
  cluster.start_node(registry, {}, std::make_shared<testing::ForwardingProvider>(store));
  go_through_an_outage(Refused::kCommits, 2);
}

TEST_P(StoreOutage, MinutesInWhichOnlyFetchesSucceedOnTwoNodesPoisonNothing) {
  cluster.start_node(registry, {}, std::make_shared<testing::ForwardingProvider>(store));
  go_through_an_outage(Refused::kAllButFetches, 2);
}

// A store may accept one kind of call and refuse another, for example if only one of its tables cannot grow.
TEST_P(StoreOutage, TurnsThatAreRefusedWhileOutcomesSucceedPoisonNothing) {
  cluster.start_node(registry, {}, store);
  cluster.client().start_orchestration("wide", "FanOut", 200);
  begin_workflows();
  ASSERT_TRUE(cluster.step_until([&] { return cluster.event_kinds("wide").size() > 200; }));
  store->refused = Refused::kTurns;
  pass(15min);
  store->refused = Refused::kNothing;
  expect_completed("wide");
  expect_all_completed();
}

TEST_P(StoreOutage, OutcomesThatAreRefusedWhileTurnsSucceedPoisonNothing) {
  cluster.start_node(registry, {}, store);
  cluster.client().start_orchestration("busy", "Forever");
  cluster.client().start_orchestration("wide", "FanOut", 60);
  begin_workflows();
  ASSERT_TRUE(cluster.step_until([&] { return cluster.event_kinds("wide").size() > 60; }));
  store->refused = Refused::kOutcomes;
  pass(5min);
  store->refused = Refused::kNothing;
  expect_completed("wide");
  expect_all_completed();
}

// The cached executions of the first node are gone with it.
TEST_P(StoreOutage, HistoriesThatCannotBeReadWhileTurnsSucceedPoisonNothing) {
  SteppedCluster::Node& first = cluster.start_node(registry, {}, store);
  begin_workflows();
  for (int i = 0; i < 120; ++i) cluster.step();
  cluster.kill_node(first);
  store->refused = Refused::kReads;
  RuntimeOptions options;
  options.max_attempts = 3;
  cluster.start_node(registry, options, store);
  cluster.client().start_orchestration("busy", "Forever");
  pass(3min);
  EXPECT_EQ(cluster.state("busy"), OrchestrationState::kRunning);
  store->refused = Refused::kNothing;
  expect_all_completed();
}

// The other node takes the activity over before the first one can take its attempt back.
TEST_P(StoreOutage, OutagesDuringALongActivityOnTwoNodesDoNotAddUpToPoison) {
  go_through_outages_during_an_activity(Refused::kAll);
}

TEST_P(StoreOutage, OutagesInWhichFetchesSucceedOnTwoNodesDoNotAddUpToPoison) {
  go_through_outages_during_an_activity(Refused::kAllButFetches);
}

// Guide: "Reading a value of another instance is work of the engine", and "an outage poisons no workflow".
TEST_P(StoreOutage, AReadOfAValueWaitsForTheStore) {
  cluster.start_node(registry, {}, store);
  store->refuses_values = true;
  cluster.client().start_orchestration("reads", "Reads");
  pass(1min);
  EXPECT_EQ(cluster.state("reads"), OrchestrationState::kRunning);
  store->refuses_values = false;
  expect_completed("reads");
}

TEST_P(StoreOutage, AReadOfAValueSurvivesAnOutageAtEveryMoment) {
  cluster.start_node(registry, {}, store);
  for (int steps = 1; steps < 25; ++steps) {
    const std::string id = "reads " + std::to_string(steps);
    cluster.client().start_orchestration(id, "Reads");
    for (int i = 0; i < steps; ++i) cluster.step();
    store->refused = Refused::kAll;
    pass(10min, 10s);
    store->refused = Refused::kNothing;
    expect_completed(id);
  }
}

TEST_P(StoreOutage, LogAndMetricTellOfItOnce) {
  auto gauge = [&] { return cluster.metrics().gauge_value(metric::kStoreAvailable.name); };
  cluster.start_node(registry, {}, store);
  begin_workflows();
  EXPECT_EQ(gauge(), 1.0);
  store->refused = Refused::kCommits;
  pass(1min, 2s);
  EXPECT_EQ(gauge(), 0.0);
  EXPECT_EQ(count_logs("store unavailable"), 1U);
  EXPECT_EQ(count_logs("store available again"), 0U);
  store->refused = Refused::kNothing;
  expect_all_completed();
  EXPECT_EQ(gauge(), 1.0);
  EXPECT_EQ(count_logs("store unavailable"), 1U);
  EXPECT_EQ(count_logs("store available again"), 1U);
}

// ---- The item's own failures ---------------------------------------------------------------------------------------

TEST_P(StoreOutage, ATurnWithADataErrorEndsAsPoisonWithTheTextOfTheStore) {
  store->bad_turns.emplace("bad", ProviderError(ProviderErrorKind::kInvalidArgument, "a value is too large (54000)"));
  cluster.start_node(registry, {}, store);
  cluster.client().start_orchestration("bad", "Chain", 3);
  begin_workflows();
  const OrchestrationStatus status = cluster.wait("bad");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_NE(std::get_if<PoisonError>(&*status.error), nullptr) << status.error_text();
  EXPECT_THAT(status.error_text(), HasSubstr("a value is too large (54000)"));
  expect_all_completed();
}

TEST_P(StoreOutage, ATurnThatFailsWhileOthersSucceedEndsAsPoisonWithTheTextOfTheStore) {
  store->bad_turns.emplace("bad", ProviderError(ProviderErrorKind::kStoreFailed, "trigger failed (XX000)"));
  cluster.start_node(registry, {}, store);
  cluster.client().start_orchestration("busy", "Forever");
  cluster.client().start_orchestration("bad", "Chain", 3);
  begin_workflows();
  const OrchestrationStatus status = cluster.wait("bad");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_NE(std::get_if<PoisonError>(&*status.error), nullptr) << status.error_text();
  EXPECT_THAT(status.error_text(), HasSubstr("trigger failed (XX000)"));
  expect_all_completed();
  EXPECT_EQ(cluster.state("busy"), OrchestrationState::kRunning);
}

TEST_P(StoreOutage, AnOutcomeWithADataErrorEndsItsActivityAsPoisonWithoutAnotherRun) {
  if (GetParam().fast) GTEST_SKIP() << "the outcome is stored with the next turn";
  int runs = 0;
  registry.add_activity("Charge", [&runs](ActivityContext&) { return ++runs; });
  registry.add_orchestration("Charges", [](Ctx ctx) -> Orchestration<std::string> {
    const auto charged = co_await ctx.schedule_activity<int>("Charge").as_result();
    co_return charged ? "charged" : charged.error().message();
  });
  store->bad_outcomes.emplace("bad", ProviderError(ProviderErrorKind::kInvalidArgument, "no such character (22021)"));
  cluster.start_node(registry, {}, store);
  cluster.client().start_orchestration("bad", "Charges");
  begin_workflows();
  const OrchestrationStatus status = cluster.wait("bad");
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(status.state == OrchestrationState::kCompleted ? *status.output : status.error_text(),
              HasSubstr("no such character (22021)"));
  expect_all_completed();
}

}  // namespace
}  // namespace perdure::test
