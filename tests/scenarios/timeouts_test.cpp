// Timeouts of activities: how long an attempt may run, wait for a worker and be silent. Nodes without threads, in which
// an activity that runs is an asynchronous one.
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"
#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Timeouts : public InEveryCluster {
 protected:
  // A node for everything, on which an instance of a flow begins.
  SteppedCluster::Node& begin(const ActivityOptions& how, RuntimeOptions options = {}) {
    auto& node = cluster.start_node(code(how), std::move(options));
    cluster.client().start_orchestration("i", "Flow");
    cluster.settle();
    return node;
  }
  [[nodiscard]] Registry code(const ActivityOptions& how) const {
    Registry registry;
    calls.add_to(registry);
    add_flow(registry, how);
    return registry;
  }
  // A node that runs no orchestrations, with that activity or without.
  void start_worker(TagFilter filter, const std::string& activity = "Work") {
    Registry registry;
    calls.add_to(registry, activity);
    RuntimeOptions options;
    options.worker_tag_filter = std::move(filter);
    options.fetch_only_registered = true;
    cluster.start_node(registry, options);
  }
  // The node does not wait for its activities.
  void shut_down(SteppedCluster::Node& node) {
    node.drain();
    node.stop_activities();
    cluster.stop_node(node);
  }
  [[nodiscard]] bool running() const { return cluster.state("i") == OrchestrationState::kRunning; }
  [[nodiscard]] std::string outcome() const {
    return cluster.client().get_orchestration_status("i").result<std::string>();
  }
  // Time in which locks are renewed.
  void pass(Milliseconds time) {
    constexpr Milliseconds kStep{5'000};
    for (; time > kStep; time -= kStep) cluster.advance(kStep);
    cluster.advance(time);
  }

  OpenCalls calls;
};
PERDURE_IN_EVERY_CLUSTER(Timeouts);

// ---- Start to close ------------------------------------------------------------------------------------------------

TEST_P(Timeouts, AnAttemptThatRunsTooLongFailsAndIsToldToStop) {
  begin(ActivityOptions().timeout(100s));
  pass(100s - 1ms);
  EXPECT_TRUE(running());
  EXPECT_FALSE(calls.latest().ctx.is_cancelled());
  cluster.advance(1ms);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("'Work'"), HasSubstr("100000 ms")));
  EXPECT_TRUE(calls.latest().ctx.is_cancelled());
  calls.latest().done.complete("too late");
  cluster.settle();
  EXPECT_THAT(outcome(), StartsWith("timeout: "));
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Timeouts, AnAttemptThatEndsInTimeCounts) {
  begin(ActivityOptions().timeout(100s));
  pass(100s - 1ms);
  calls.latest().done.complete("just in time");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: just in time");
  pass(100s);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Timeouts, TheTimeInTheQueueIsNotTheAttempts) {
  cluster.start_node(code(ActivityOptions().timeout(10s)), [] {
    RuntimeOptions none;
    none.worker_tag_filter = TagFilter::none();
    return none;
  }());
  cluster.client().start_orchestration("i", "Flow");
  pass(1h);
  EXPECT_TRUE(running());
  start_worker(TagFilter::any());
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  pass(9s);
  calls.latest().done.complete("quick enough");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: quick enough");
}

TEST_P(Timeouts, EveryAttemptOfARetryHasItsOwnTime) {
  begin(ActivityOptions().timeout(10s).retry(RetryPolicy(3).backoff(Backoff::fixed(5s))));
  pass(10s);
  EXPECT_EQ(calls.size(), 1U);
  pass(5s);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  EXPECT_FALSE(calls.at(1).ctx.is_cancelled());
  EXPECT_NE(calls.at(0).ctx.activity_id(), calls.at(1).ctx.activity_id());
  pass(15s);
  ASSERT_EQ(calls.size(), 3U);
  pass(10s - 1ms);
  EXPECT_TRUE(running());
  cluster.advance(1ms);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("10000 ms")));
  EXPECT_EQ(calls.size(), 3U);
}

TEST_P(Timeouts, TheTotalTimeoutBoundsAllAttemptsTogether) {
  begin(ActivityOptions().timeout(10s).retry(RetryPolicy(100).backoff(Backoff::none()).total_timeout(25s)));
  pass(25s - 1ms);
  EXPECT_TRUE(running());
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_FALSE(calls.at(2).ctx.is_cancelled());
  cluster.advance(1ms);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("all attempts together"), HasSubstr("25000 ms")));
  EXPECT_TRUE(calls.at(2).ctx.is_cancelled());
  pass(1h);
  EXPECT_EQ(calls.size(), 3U);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

// The time of an attempt that died with its process does not count for the next.
TEST_P(Timeouts, AnAttemptOnAnotherNodeHasAllItsTime) {
  auto& first = begin(ActivityOptions().timeout(40s));
  cluster.kill_node(first);
  cluster.start_node(code(ActivityOptions().timeout(40s)));
  cluster.advance(30s);  // the lock of the dead
  ASSERT_EQ(calls.size(), 2U);
  pass(39s);
  EXPECT_TRUE(running());
  pass(1s);
  EXPECT_THAT(outcome(), StartsWith("timeout: "));
}

// ---- Schedule to start ---------------------------------------------------------------------------------------------

TEST_P(Timeouts, AnAttemptThatNoWorkerStartsFailsAlthoughOnlyOthersRun) {
  begin(ActivityOptions().tag("gpu").schedule_to_start_timeout(1min));
  start_worker(TagFilter::tags({"disk"}), "Other");
  cluster.advance(1min - 1ms);
  EXPECT_TRUE(running());
  cluster.advance(1ms);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("'Work'"), HasSubstr("60000 ms"),
                               HasSubstr("was not started by any worker"), HasSubstr("tag")));
  EXPECT_EQ(calls.size(), 0U);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Timeouts, AnAttemptThatNoWorkerStartsFailsAlthoughThereIsNoWorker) {
  RuntimeOptions none;
  none.worker_tag_filter = TagFilter::none();
  begin(ActivityOptions().tag("gpu").schedule_to_start_timeout(1min), none);
  cluster.advance(1min);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("was not started by any worker")));
}

TEST_P(Timeouts, AnAttemptThatWasStartedInTimeRunsAsLongAsItTakes) {
  begin(ActivityOptions().schedule_to_start_timeout(1min));
  pass(1h);
  EXPECT_TRUE(running());
  calls.latest().done.complete("an hour later");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: an hour later");
}

TEST_P(Timeouts, AnAttemptThatWasStartedInTimeIsRepeatedWhenItsProcessDies) {
  auto& first = begin(ActivityOptions().schedule_to_start_timeout(1min));
  cluster.kill_node(first);
  cluster.advance(1h);
  cluster.start_node(code(ActivityOptions().schedule_to_start_timeout(1min)));
  cluster.settle();
  ASSERT_EQ(calls.size(), 2U);
  calls.latest().done.complete("the second time");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: the second time");
}

// A rolling deployment: the node that ran the code shuts down, and a node without the code fetches the activity.
TEST_P(Timeouts, AnAttemptThatRanAndWasAbandonedDoesNotFailAsNotStarted) {
  auto& first = begin(ActivityOptions().schedule_to_start_timeout(5min));
  pass(10min);
  shut_down(first);
  Registry without;
  add_flow(without, ActivityOptions().schedule_to_start_timeout(5min));
  auto& old = cluster.start_node(without);
  cluster.settle();
  pass(5s);
  EXPECT_TRUE(running());
  EXPECT_GE(cluster.metrics().counter_total(metric::kUnregisteredBackoff.name), 1U);
  cluster.stop_node(old);
  cluster.start_node(code(ActivityOptions().schedule_to_start_timeout(5min)));
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 2U);
  calls.latest().done.complete("the second time");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: the second time");
}

// Fetches by nodes without the code count once it has begun, as they do without the timeout.
TEST_P(Timeouts, AnAttemptThatRanEndsAsPoisonIfNoNodeHasItsCodeAnyMore) {
  auto& first = begin(ActivityOptions().schedule_to_start_timeout(5min));
  shut_down(first);
  Registry without;
  add_flow(without, ActivityOptions().schedule_to_start_timeout(5min));
  cluster.start_node(without);
  for (int minute = 0; minute < 30 && running(); ++minute) cluster.advance(1min);
  const auto error = cluster.client().get_orchestration_status("i").error;
  ASSERT_TRUE(error);
  const auto* poison = std::get_if<PoisonError>(&*error);
  ASSERT_NE(poison, nullptr);
  EXPECT_EQ(poison->subject, PoisonSubject::kActivity);
}

TEST_P(Timeouts, EveryAttemptOfARetryWaitsAnew) {
  begin(
      ActivityOptions().tag("gpu").schedule_to_start_timeout(1min).retry(RetryPolicy(3).backoff(Backoff::fixed(10s))));
  cluster.advance(1min);
  cluster.advance(10s);
  cluster.advance(1min - 1ms);
  EXPECT_THAT(cluster.event_kinds("i"), ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityFailed",
                                                    "TimerCreated", "TimerFired", "ActivityScheduled"));
  start_worker(TagFilter::tags({"gpu"}));
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  calls.latest().done.complete("just in time");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: just in time");
}

// The node that holds the session is gone, but its lock is not.
TEST_P(Timeouts, AnAttemptWhoseSessionIsHeldElsewhereIsFailedByAnyNode) {
  auto& first = begin(ActivityOptions().session("s"));
  ASSERT_EQ(calls.size(), 1U);
  cluster.kill_node(first);
  Registry registry = code(ActivityOptions().session("s"));
  add_flow(registry, ActivityOptions().session("s").schedule_to_start_timeout(10s), "Hurried");
  cluster.start_node(registry);
  cluster.client().start_orchestration("j", "Hurried");
  cluster.advance(10s);
  EXPECT_THAT(cluster.client().get_orchestration_status("j").result<std::string>(),
              HasSubstr("was not started by any worker"));
}

// ---- Heartbeats ----------------------------------------------------------------------------------------------------

TEST_P(Timeouts, AnAttemptThatIsSilentForTooLongFailsAndIsToldToStop) {
  begin(ActivityOptions().heartbeat_timeout(20s));
  pass(15s);
  calls.latest().ctx.heartbeat();
  pass(20s - 1ms);
  EXPECT_TRUE(running());
  cluster.advance(1ms);
  EXPECT_THAT(outcome(),
              AllOf(StartsWith("timeout: "), HasSubstr("'Work'"), HasSubstr("no heartbeat"), HasSubstr("20000 ms")));
  EXPECT_TRUE(calls.latest().ctx.is_cancelled());
}

TEST_P(Timeouts, AnAttemptThatSpeaksRegularlyGoesOnForEver) {
  begin(ActivityOptions().heartbeat_timeout(20s));
  for (int i = 0; i < 200; ++i) {
    pass(19s);
    if (i % 2 == 0) {
      calls.latest().ctx.heartbeat();
    } else {
      calls.latest().ctx.heartbeat(i);
    }
    ASSERT_TRUE(running()) << i;
  }
  EXPECT_EQ(calls.size(), 1U);
  calls.latest().done.complete("after an hour");
  cluster.settle();
  EXPECT_EQ(outcome(), "done: after an hour");
}

TEST_P(Timeouts, EveryAttemptOfARetryMayBeSilentForAsLong) {
  begin(ActivityOptions().heartbeat_timeout(20s).retry(RetryPolicy(2).backoff(Backoff::none())));
  pass(20s);
  ASSERT_EQ(calls.size(), 2U);
  calls.at(0).ctx.heartbeat();  // the dead speak in vain
  pass(19s);
  calls.at(1).ctx.heartbeat();
  pass(19s);
  EXPECT_TRUE(running());
  pass(1s);
  EXPECT_THAT(outcome(), AllOf(StartsWith("timeout: "), HasSubstr("no heartbeat")));
}

// ---- With threads --------------------------------------------------------------------------------------------------

class TimeoutsWithThreads : public Threaded {
 protected:
  TimeoutsWithThreads() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)))) {
    options.session_idle_timeout = 2h;
    options.worker_lock_timeout = 1h;  // not renewed while the clock is moved
  }
  // An activity that occupies its thread until it is told to stop, and says so then.
  Registry blocking(const ActivityOptions& how) {
    Registry registry;
    registry.add_activity("Work", [begun = begun, stopped = stopped](ActivityContext& ctx) -> int {
      const std::stop_callback told(ctx.stop_token(), [&] { stopped.open(); });
      begun.open();
      stopped.wait();
      return 1;
    });
    Threaded::add_flow(registry, "Flow", "Work", how);
    return registry;
  }

  Gate begun;
  Gate stopped;
};

TEST_F(TimeoutsWithThreads, AnAttemptThatRunsTooLongIsStopped) {
  const auto runtime = run(blocking(ActivityOptions().timeout(10s)));
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(begun.wait());
  clock->advance(10s);
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("did not end within 10000 ms"));
  EXPECT_TRUE(stopped.wait());
}

TEST_F(TimeoutsWithThreads, AnAttemptThatIsSilentForTooLongIsStopped) {
  const auto runtime = run(blocking(ActivityOptions().heartbeat_timeout(10s)));
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(begun.wait());
  clock->advance(10s);
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("no heartbeat for 10000 ms"));
  EXPECT_TRUE(stopped.wait());
}

TEST_F(TimeoutsWithThreads, AnAttemptThatNobodyStartsFails) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  Threaded::add_flow(registry, "Flow", "Work", ActivityOptions().tag("gpu").schedule_to_start_timeout(10s));
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(eventually([&] { return client.get_queue_depths().activities == 1; }));
  clock->advance(10s);
  EXPECT_THAT(end_of("i").error_text(), HasSubstr("was not started by any worker"));
}

}  // namespace
}  // namespace perdure::test
