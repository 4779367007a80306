// What turns, activities and clients count beside whole executions: exact figures, whether executions are kept in
// memory or rebuilt for every turn, and under the labels that are declared.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using Ctx = OrchestrationContext;

class Counts : public InEveryWorld {
 protected:
  [[nodiscard]] std::uint64_t count(const MetricId& metric, MetricLabels labels = {}) const {
    return world.metrics().counter_value(metric.name, labels);
  }
  [[nodiscard]] std::uint64_t total(const MetricId& metric) const { return world.metrics().counter_total(metric.name); }
  [[nodiscard]] HistogramSnapshot observed(const MetricId& metric, MetricLabels labels = {}) const {
    return world.metrics().histogram_value(metric.name, labels).value_or(HistogramSnapshot());
  }
  [[nodiscard]] double turns(const char* name) const {
    return observed(metric::kOrchestrationTurns, {{"orchestration_name", name}}).sum;
  }

  [[nodiscard]] std::uint64_t child_calls() const {
    return count(metric::kSubOrchestrationCalls, {{"parent_orchestration", "Busy"}, {"child_orchestration", "Child"}});
  }

  // Two timers of its own, an activity that succeeds at the third attempt, a child, an event and a message.
  void run_busy() {
    Registry registry;
    registry.add_orchestration("Busy", [](Ctx ctx) -> Orchestration<int> {
      for (int i = 0; i < 2; ++i) co_await ctx.schedule_timer(1min);
      const ActivityOptions options = ActivityOptions().retry(RetryPolicy(5));
      const int got = co_await ctx.schedule_activity<int>("Flaky", options);
      const int child = co_await ctx.schedule_sub_orchestration<int>("Child", 1);
      const int event = co_await ctx.schedule_wait<int>("go");
      const int message = co_await ctx.dequeue_event<int>("queue");
      co_return got + child + event + message;
    });
    registry.add_orchestration("Child", [](Ctx ctx, int value) -> Orchestration<int> {
      co_await ctx.schedule_timer(1s);
      co_return value;
    });
    registry.add_activity("Flaky", [left = std::make_shared<std::atomic<int>>(2)](ActivityContext&) {
      if ((*left)-- > 0) throw std::runtime_error("not yet");
      return 1;
    });
    world.start_node(registry);
    const Client client(world.store(), {.limits = {}, .logger = {}, .metrics = Metrics(client_metrics)});
    client.start_orchestration("i", "Busy");
    client.start_orchestration("i", "Busy");  // it is there already
    world.settle();
    client.raise_event("i", "other", 5);  // for which nobody waits
    ASSERT_TRUE(world.until([&] { return child_calls() == 1; }));
    world.advance(1s);
    client.raise_event("i", "go", 1);
    client.enqueue_event("i", "queue", 1);
    ASSERT_EQ(world.wait("i").result<int>(), 4);
    client.wait_for_orchestration("i", 1s);
    client.cancel_instance("i");
    client.terminate_instance("i");
    world.settle();
  }

  std::shared_ptr<CapturingMetrics> client_metrics = std::make_shared<CapturingMetrics>();
};
PERDURE_IN_EVERY_WORLD(Counts);

TEST_P(Counts, WhatTurnsDoIsCountedOnceHoweverOftenItIsReplayed) {
  run_busy();
  EXPECT_EQ(count(metric::kTimersScheduled, {{"orchestration_name", "Busy"}}), 4U) << "two are between attempts";
  EXPECT_EQ(count(metric::kTimersFired, {{"orchestration_name", "Busy"}}), 4U);
  EXPECT_EQ(count(metric::kTimersFired, {{"orchestration_name", "Child"}}), 1U);
  EXPECT_EQ(observed(metric::kTimerLag).count(), 5U);
  EXPECT_EQ(count(metric::kActivitiesScheduled, {{"activity_name", "Flaky"}}), 3U);
  EXPECT_EQ(count(metric::kActivityRetries, {{"activity_name", "Flaky"}}), 2U);
  EXPECT_EQ(child_calls(), 1U);
  EXPECT_EQ(
      observed(metric::kSubOrchestrationDuration, {{"child_orchestration", "Child"}, {"outcome", "success"}}).count(),
      1U);
  EXPECT_EQ(count(metric::kEventsReceived, {{"kind", "event"}}), 2U);
  EXPECT_EQ(count(metric::kEventsReceived, {{"kind", "queue"}}), 1U);
  EXPECT_EQ(count(metric::kMessagesIgnored, {{"reason", "nobody_waits"}}), 1U);
}

TEST_P(Counts, EveryAttemptAtAnActivityIsCountedAndMeasured) {
  run_busy();
  const auto attempts = [&](const char* outcome) {
    return count(metric::kActivityExecutions,
                 {{"activity_name", "Flaky"}, {"outcome", outcome}, {"retry_attempt", "0"}, {"tag", "default"}});
  };
  EXPECT_EQ(attempts("app_error"), 2U);
  EXPECT_EQ(attempts("success"), 1U);
  EXPECT_EQ(total(metric::kActivityExecutions), 3U);
  EXPECT_EQ(
      observed(metric::kActivityDuration, {{"activity_name", "Flaky"}, {"outcome", "app_error"}, {"tag", "default"}})
          .count(),
      2U);
  EXPECT_EQ(observed(metric::kActivityQueueTime, {{"activity_name", "Flaky"}}).count(), 3U);
  EXPECT_EQ(total(metric::kActivityTimeouts) + total(metric::kActivityPoison) + total(metric::kLocksLost), 0U);
}

TEST_P(Counts, TheCacheIsHitByEveryTurnButTheFirstOfAnExecution) {
  run_busy();
  if (!world.kind().cache) {
    EXPECT_EQ(total(metric::kCacheHits) + total(metric::kCacheMisses), 0U);
    return;
  }
  const double later_turns = turns("Busy") + turns("Child") - 2;
  EXPECT_EQ(static_cast<double>(total(metric::kCacheHits) + total(metric::kCacheMisses)), later_turns);
  // With threads, the next turn may be fetched before the one that has just been committed is kept.
  if (!world.kind().threads) {
    EXPECT_EQ(total(metric::kCacheMisses), 0U);
  }
  EXPECT_EQ(total(metric::kCacheEvictions), 0U) << "there is room for all";
  EXPECT_EQ(world.metrics().gauge_value(metric::kCachedExecutions.name), 0.0) << "both have ended";
}

TEST_P(Counts, TheFastPathIsCountedWhereThereIsOne) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  registry.add_orchestration(
      "Step", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Work"); });
  world.start_node(registry);
  const Client client(world.store());
  // With threads, a fetch that is under way may have all the places, but not each time.
  const int most = world.kind().fast && world.kind().threads ? 100 : 1;
  for (int i = 0; i < most && total(metric::kFastPathClaims) == 0; ++i) {
    const std::string instance = "i" + std::to_string(i);
    client.start_orchestration(instance, "Step");
    ASSERT_EQ(world.wait(instance).result<int>(), 1);
    world.settle();
  }
  EXPECT_EQ(total(metric::kFastPathClaims) > 0, world.kind().fast);
  EXPECT_LE(total(metric::kFastPathCompletions), total(metric::kFastPathClaims));
}

TEST_P(Counts, CommitsAndBatchesAreMeasured) {
  run_busy();
  const auto commits = observed(metric::kProviderBatchSize, {{"operation", "ack_orchestration_item"}});
  EXPECT_GE(commits.sum, turns("Busy") + turns("Child"));
  EXPECT_EQ(static_cast<double>(observed(metric::kCommitLatency).count()), commits.sum);
  EXPECT_GE(static_cast<double>(observed(metric::kTurnDuration).count()), turns("Busy") + turns("Child"));
  EXPECT_EQ(total(metric::kCommitFailures) + total(metric::kStoreRetries) + total(metric::kStoreBackoff), 0U);
  EXPECT_EQ(total(metric::kProviderErrors), 0U);
}

TEST_P(Counts, ClientsCountWhatTheStoreHas) {
  run_busy();
  const auto by = [&](const MetricId& metric, const char* key, const char* value) {
    return client_metrics->counter_value(metric.name, {{key, value}});
  };
  EXPECT_EQ(by(metric::kClientStarts, "outcome", "started"), 1U);
  EXPECT_EQ(by(metric::kClientStarts, "outcome", "ignored"), 1U);
  EXPECT_EQ(by(metric::kClientEvents, "kind", "event"), 2U);
  EXPECT_EQ(by(metric::kClientEvents, "kind", "queue"), 1U);
  EXPECT_EQ(by(metric::kClientCancellations, "kind", "cancel"), 1U);
  EXPECT_EQ(by(metric::kClientCancellations, "kind", "terminate"), 1U);
  const auto waits = client_metrics->histogram_value(metric::kClientWaitDuration.name, {{"outcome", "completed"}});
  EXPECT_EQ(waits.value_or(HistogramSnapshot()).count(), 1U);
}

TEST_P(Counts, SeriesHaveTheLabelsThatTheirMetricDeclares) {
  run_busy();
  std::map<std::string_view, std::set<std::string>> declared;
  for (const MetricId& id : metric::all()) {
    std::istringstream keys{std::string(id.labels)};
    declared[id.name] = {std::istream_iterator<std::string>(keys), {}};
  }
  for (const MetricFamily& family : world.metrics().snapshot()) {
    ASSERT_TRUE(declared.contains(family.name)) << family.name;
    for (const MetricSeries& series : family.series) {
      std::set<std::string> keys;
      for (const auto& [key, value] : series.labels) keys.insert(key);
      EXPECT_EQ(keys, declared[family.name]) << family.name;
    }
  }
}

// Clients start what nobody has registered, under a new name each time.
TEST_P(Counts, StrangeNamesDoNotMakeSeriesWithoutEnd) {
  Registry registry;
  registry.add_orchestration("Ours", [](Ctx) -> Orchestration<int> { co_return 1; });
  constexpr std::size_t kStrangers = metric::kMaxStrangeValues + 20;
  for (std::size_t i = 0; i < kStrangers; ++i) {
    const std::string id = std::to_string(i);
    world.client().start_orchestration(id, "Stranger" + id);
    world.client().terminate_instance(id);
  }
  world.client().start_orchestration("ours", "Ours");
  world.start_node(registry);
  world.settle();
  ASSERT_EQ(world.client().get_orchestration_status("ours").result<int>(), 1);
  EXPECT_EQ(total(metric::kOrchestrationCompletions), kStrangers + 1);
  const auto ended = [&](std::string_view name) {
    const HistogramSnapshot turns = observed(metric::kOrchestrationTurns, {{"orchestration_name", name}});
    return turns.count();
  };
  EXPECT_EQ(ended(metric::kOtherValue), 20U);
  EXPECT_EQ(ended("Ours"), 1U) << "what is registered is always shown";
}

// ---- Logs ----

// Payloads are everywhere in this life: inputs, outputs, events, messages, values, statuses, progress, continuations.
template <bool kOther>
Registry secretive() {
  Registry registry;
  registry.add_orchestration("Keeps", [](Ctx ctx, std::string secret) -> Orchestration<std::string> {
    const char* const activity = kOther ? "OtherEcho" : "Echo";
    ctx.set_kv_value("key", secret);
    ctx.set_custom_status(secret);
    ctx.trace_info("a line of the user");
    const ActivityOptions options = ActivityOptions().retry(RetryPolicy(2));
    const std::string result = co_await ctx.schedule_activity<std::string>(activity, secret, options);
    auto child = ctx.schedule_sub_orchestration<std::string>("Child", secret);
    co_await child;
    const std::string event = co_await ctx.schedule_wait<std::string>("go");
    const std::string message = co_await ctx.dequeue_event<std::string>("queue");
    co_return result + event + message;
  });
  registry.add_orchestration("Child", [](Ctx ctx, std::string secret) -> Orchestration<std::string> {
    if (ctx.execution_id() == kFirstExecutionId) co_return ctx.continue_as_new(secret);
    co_return secret;
  });
  registry.add_orchestration("WantsNumber", [](Ctx ctx, int number) -> Orchestration<int> {
    co_await ctx.schedule_timer(1s);
    co_return number;
  });
  registry.add_orchestration("WaitsForNumber",
                             [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  registry.add_orchestration("CallsWithText", [](Ctx ctx, std::string secret) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Square", secret);
  });
  const auto echo = [failed = std::make_shared<std::atomic<bool>>(false)](const ActivityContext& ctx,
                                                                          const std::string& secret) {
    ctx.heartbeat(secret);
    if (!failed->exchange(true)) throw std::runtime_error("the first attempt fails");
    return secret;
  };
  registry.add_activity("Echo", echo);
  registry.add_activity("OtherEcho", echo);
  registry.add_activity("Square", [](ActivityContext&, int number) { return number * number; });
  return registry;
}

TEST_P(Counts, NoPayloadIsLoggedOrCounted) {
  const std::string secret = "canary-5f1c";
  auto& node = world.start_node(secretive<false>());
  const Client& client = world.client();
  for (const char* id : {"ends", "diverges", "cancelled"}) {
    client.start_orchestration(id, "Keeps", secret);
    client.raise_event(id, "unwanted", secret);
  }
  client.start_orchestration("wants", "WantsNumber", secret);
  client.start_orchestration("waits", "WaitsForNumber");
  client.start_orchestration("calls", "CallsWithText", secret);
  client.enqueue_event("orphan", "queue", secret);
  ASSERT_TRUE(world.until([&] { return total(metric::kOrchestrationContinueAsNew) == 3; }));
  client.raise_event("waits", "go", secret);
  client.raise_event("ends", "go", secret);
  client.enqueue_event("ends", "queue", secret);
  client.cancel_instance("cancelled");
  EXPECT_THAT(world.wait("ends").result<std::string>(), HasSubstr(secret));
  for (const char* id : {"wants", "waits", "calls", "cancelled"}) {
    EXPECT_TRUE(world.wait(id).ended()) << id;
  }
  world.stop_node(node);
  world.start_node(secretive<true>());  // which is another decision than the one in the history
  client.raise_event("diverges", "go", secret);
  EXPECT_EQ(world.wait("diverges").state, OrchestrationState::kFailed);
  world.settle();

  EXPECT_FALSE(world.log().find("a line of the user").empty()) << "the log is not empty";
  EXPECT_GT(world.log().count(LogLevel::kDebug), 10U);
  for (const CapturedLogRecord& record : world.log().find(secret)) {
    ADD_FAILURE() << format_log_record({record.level, record.target, record.message, {}}, LogFormat::kCompact, {})
                  << record.fields.back().first << "=" << record.fields.back().second;
  }
  EXPECT_THAT(world.metrics().prometheus_text(), Not(HasSubstr(secret)));
}

// Which fields a line has does not depend on who writes it.
TEST_P(Counts, EveryLineOfTheEngineSaysWhatItIsAbout) {
  run_busy();
  std::size_t lines = 0;
  for (const CapturedLogRecord& record : world.log().records()) {
    if (!record.field("instance_id")) continue;
    ++lines;
    EXPECT_TRUE(record.field("execution_id")) << record.message;
    EXPECT_TRUE(record.field("worker_id")) << record.message;
    if (record.target == log_target::kWorkerDispatcher) {
      for (const char* key : {"orchestration_name", "orchestration_version", "activity_name", "activity_id"}) {
        EXPECT_TRUE(record.field(key)) << key << ": " << record.message;
      }
    }
  }
  EXPECT_GT(lines, 10U);
}

}  // namespace
}  // namespace perdure::test
