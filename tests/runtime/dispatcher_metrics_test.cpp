// What the two dispatchers count when things go wrong, and how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bounded_label.h"
#include "runtime/orchestration_dispatch.h"
#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

TEST(BoundedLabels, ShowWhatIsRegisteredAndAFewOthers) {
  BoundedLabel label;
  EXPECT_EQ(label.of("ours", true), "ours");
  for (std::size_t i = 0; i < metric::kMaxStrangeValues; ++i) {
    const std::string name = "stranger" + std::to_string(i);
    EXPECT_EQ(label.of(name), name);
  }
  EXPECT_EQ(label.of("one more"), metric::kOtherValue);
  EXPECT_EQ(label.of("stranger0"), "stranger0");
  EXPECT_EQ(label.of("ours"), "ours");
  EXPECT_EQ(label.of("registered late", true), "registered late");
}

class OrchestrationCounts : public DispatchOrchestrations {
 protected:
  OrchestrationCounts() { options.metrics = Metrics(metrics); }
  [[nodiscard]] std::uint64_t total(const MetricId& metric) const { return metrics->counter_total(metric.name); }

  std::shared_ptr<CapturingMetrics> metrics = std::make_shared<CapturingMetrics>();
};

TEST_F(OrchestrationCounts, HitsMissesAndEvictions) {
  options.cached_executions = 1;
  fetch(item("a"), item("b"));
  for (int i = 0; i < 2; ++i) {
    run({}, 3);
    commit();
  }
  EXPECT_EQ(total(metric::kCacheHits) + total(metric::kCacheMisses), 0U) << "there was nothing to find";
  EXPECT_EQ(total(metric::kCacheEvictions), 1U);
  EXPECT_EQ(metrics->gauge_value(metric::kCachedExecutions.name), 1.0);
  EXPECT_GT(metrics->gauge_value(metric::kCachedBytes.name), 100.0);
  answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
  fetch(item("a", 3), item("b", 3));
  answer(take<orchestration::ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
  for (int i = 0; i < 2; ++i) run();
  EXPECT_EQ(total(metric::kCacheHits), 1U);
  EXPECT_EQ(total(metric::kCacheMisses), 1U);
}

TEST_F(OrchestrationCounts, ARepeatedCommitIsOneTurn) {
  fetch(item("a"));
  auto [id, body] = take<orchestration::RunTurn>();
  TurnReport report;
  report.name = "Flow";
  report.began = true;
  report.status = ExecutionStatus::kCompleted;
  TurnDecision decision{.action = TurnCommit(), .kept = {}, .report = report};
  decision.counts.timers = 2;
  answer(id, std::move(decision));
  for (int i = 0; i < 3; ++i) {
    commit(error(ProviderErrorKind::kBusy));
    while (count<orchestration::Commit>() == 0) now = dispatcher().wake_at();
  }
  EXPECT_EQ(total(metric::kOrchestrationStarts) + total(metric::kTimersScheduled), 0U) << "nothing is stored yet";
  commit();
  EXPECT_EQ(total(metric::kOrchestrationStarts), 1U);
  EXPECT_EQ(total(metric::kOrchestrationCompletions), 1U);
  EXPECT_EQ(total(metric::kTimersScheduled), 2U);
  EXPECT_EQ(metrics->counter_value(metric::kStoreRetries.name, {{"operation", "ack_orchestration_item"}}), 3U);
  EXPECT_EQ(metrics->histogram_value(metric::kCommitLatency.name).value().count(), 1U);
  EXPECT_EQ(total(metric::kCommitFailures), 0U);
}

TEST_F(OrchestrationCounts, ALostLockIsCountedOnceAndIsNoFailureOfTheExecution) {
  fetch(item("a"));
  run();
  commit(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(metrics->counter_value(metric::kLocksLost.name, {{"kind", "orchestration"}}), 1U);
  EXPECT_EQ(
      metrics->counter_value(metric::kCommitFailures.name, {{"error_type", to_string(ProviderErrorKind::kLockLost)}}),
      1U);
  EXPECT_EQ(total(metric::kOrchestrationInfrastructureErrors), 0U);
  EXPECT_FALSE(metrics->histogram_value(metric::kCommitLatency.name));
}

TEST_F(OrchestrationCounts, PausesAreCounted) {
  for (int i = 0; i < 3; ++i) {
    answer(take<orchestration::Fetch>().first, ProviderResult<OrchestrationBatch>(error(ProviderErrorKind::kBusy)));
    now = dispatcher().wake_at();
  }
  EXPECT_EQ(metrics->counter_value(metric::kStoreBackoff.name, {{"kind", "orchestration"}}), 3U);
}

class ActivityCounts : public DispatchActivities {
 protected:
  [[nodiscard]] std::uint64_t total(const MetricId& metric) const { return metrics->counter_total(metric.name); }
  [[nodiscard]] std::uint64_t timeouts(const char* kind) const {
    return metrics->counter_value(metric::kActivityTimeouts.name, {{"activity_name", "Work"}, {"timeout", kind}});
  }
};

TEST_F(ActivityCounts, WhatDidNotRunIsCountedWhenTheStoreKnows) {
  auto late = item(2);
  late.expired = true;
  fetch({item(1, "Work", 11), late});
  EXPECT_EQ(total(metric::kActivityPoison) + timeouts("schedule_to_start"), 0U);
  ack(error(ProviderErrorKind::kBusy));
  while (count<worker::Ack>() == 0) now = dispatcher().wake_at();
  EXPECT_EQ(total(metric::kActivityPoison) + timeouts("schedule_to_start"), 0U);
  while (total(metric::kActivityPoison) + timeouts("schedule_to_start") < 2) {
    while (count<worker::Ack>() == 0) now = dispatcher().wake_at();
    ack();
  }
  EXPECT_EQ(total(metric::kActivityPoison), 1U);
  EXPECT_EQ(timeouts("schedule_to_start"), 1U);
  EXPECT_EQ(metrics->counter_value(metric::kStoreRetries.name, {{"operation", "ack_work_item"}}), 2U);
  EXPECT_EQ(total(metric::kActivityExecutions), 0U);
}

TEST_F(ActivityCounts, TimeoutsByKind) {
  options.worker_concurrency = 2;
  fetch({item(1, "Work", 1, {.start_to_close = 2s, .schedule_to_start = {}, .heartbeat = {}}),
         item(2, "Work", 1, {.start_to_close = {}, .schedule_to_start = {}, .heartbeat = 1s})});
  start();
  start();
  now += 1s;
  collect();
  EXPECT_EQ(timeouts("heartbeat"), 1U);
  EXPECT_EQ(timeouts("start_to_close"), 0U);
  now += 1s;
  collect();
  EXPECT_EQ(timeouts("start_to_close"), 1U);
  EXPECT_EQ(metrics->counter_total(metric::kActivityExecutions.name), 2U);
}

TEST_F(ActivityCounts, HeartbeatsThatAreStored) {
  fetch({item(1)});
  const RunId run = start();
  dispatcher().heartbeat(run, "1", now);
  beat(error(ProviderErrorKind::kBusy));
  EXPECT_EQ(total(metric::kActivityHeartbeats), 0U);
  now += options.heartbeat_interval;
  beat();
  EXPECT_EQ(total(metric::kActivityHeartbeats), 1U);
}

TEST_F(ActivityCounts, ALockThatRunsOutIsLostOnce) {
  fetch({item(1)});
  const RunId run = start();
  now += options.worker_lock_timeout;
  collect();
  EXPECT_EQ(metrics->counter_value(metric::kLocksLost.name, {{"kind", "activity"}}), 1U);
  EXPECT_EQ(stopped(), run);
  finish(run);
  collect();
  EXPECT_EQ(total(metric::kLocksLost), 1U);
}

TEST_F(ActivityCounts, TheTimeBeforeTheFirstStart) {
  auto waited = item(1);
  waited.scheduled_at = now - 3s;
  auto again = item(2, "Work", 2);
  again.scheduled_at = now - 1h;
  fetch({waited, again});
  const auto seconds = metrics->histogram_value(metric::kActivityQueueTime.name, {{"activity_name", "Work"}});
  ASSERT_TRUE(seconds);
  EXPECT_EQ(seconds->count(), 1U);
  EXPECT_EQ(seconds->sum, 3.0);
}

TEST_F(ActivityCounts, ManyAttemptsAreOneLabel) {
  options.max_attempts = 1'000;
  fetch({item(1, "Work", 500)});
  finish(start());
  EXPECT_EQ(metrics->counter_value(
                metric::kActivityExecutions.name,
                {{"activity_name", "Work"}, {"outcome", "success"}, {"retry_attempt", "10+"}, {"tag", "default"}}),
            1U);
}

TEST_F(ActivityCounts, WhatAShutdownInterruptsIsCounted) {
  fetch({item(1)});
  start();
  dispatcher().stop_all(now);
  EXPECT_EQ(metrics->counter_value(
                metric::kActivityExecutions.name,
                {{"activity_name", "Work"}, {"outcome", "abandoned"}, {"retry_attempt", "0"}, {"tag", "default"}}),
            1U);
}

// ---- logs ----

TEST_F(ActivityCounts, LinesSayWhichActivityOfWhichExecution) {
  auto tagged = item(1);
  tagged.record.tag = "gpu";
  fetch({tagged});
  finish(start(), ApplicationError{ApplicationErrorKind::kActivityFailed, "no luck", false});
  const auto lines = log->find("activity failed");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines.front().fields,
              ::testing::ElementsAre(::testing::Pair("instance_id", "i"), ::testing::Pair("execution_id", "1"),
                                     ::testing::Pair("orchestration_name", "Flow"),
                                     ::testing::Pair("orchestration_version", "1.2.3"),
                                     ::testing::Pair("activity_name", "Work"), ::testing::Pair("activity_id", "1"),
                                     ::testing::Pair("worker_id", "node"), ::testing::Pair("attempt_count", "1"),
                                     ::testing::Pair("activity_tag", "gpu"), ::testing::Pair("error", "no luck")));
}

}  // namespace
}  // namespace perdure::test
