// Heartbeats: what a running activity tells of its progress, who can read it, and the attempts that go on from it.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
using ::testing::IsEmpty;

constexpr Milliseconds kInterval{1'000};  // RuntimeOptions::heartbeat_interval
constexpr Milliseconds kLock{30'000};     // RuntimeOptions::worker_lock_timeout

class HeartbeatScenes : public InEveryCluster {
 protected:
  SteppedCluster::Node& start_node(const ActivityOptions& how = {}, std::shared_ptr<Provider> view = nullptr) {
    Registry registry;
    calls.add_to(registry);
    add_flow(registry, how);
    return cluster.start_node(registry, {}, std::move(view));
  }
  SteppedCluster::Node& begin(const ActivityOptions& how = {}, std::shared_ptr<Provider> view = nullptr) {
    auto& node = start_node(how, std::move(view));
    cluster.client().start_orchestration("i", "Flow");
    cluster.settle();
    return node;
  }
  template <class T>
  void says(const T& details) {
    calls.latest().ctx.heartbeat(details);
    cluster.settle();
  }
  // What clients see of the one activity there is.
  [[nodiscard]] QueuedActivity seen() const {
    const auto page = cluster.client().list_activities({.instance = "i", .limit = 100, .cursor = {}});
    EXPECT_EQ(page.activities.size(), 1U);
    return page.activities.empty() ? QueuedActivity() : page.activities.front();
  }
  std::string complete(const std::string& with) {
    calls.latest().done.complete(with);
    cluster.settle();
    return cluster.client().get_orchestration_status("i").result<std::string>();
  }

  OpenCalls calls;
};
PERDURE_IN_EVERY_CLUSTER(HeartbeatScenes);

// ---- For clients ---------------------------------------------------------------------------------------------------

TEST_P(HeartbeatScenes, ClientsReadTheProgressOfWhatRuns) {
  begin();
  EXPECT_EQ(seen().heartbeat_details, std::nullopt);
  says(10);
  const QueuedActivity activity = seen();
  EXPECT_EQ(activity.instance, "i");
  EXPECT_EQ(activity.execution, 1U);
  EXPECT_EQ(activity.activity_id, calls.latest().ctx.activity_id());
  EXPECT_EQ(activity.name, "Work");
  EXPECT_TRUE(activity.locked);
  EXPECT_EQ(activity.attempts, 1U);
  EXPECT_EQ(activity.heartbeat_details, "10");
  EXPECT_EQ(complete("ready"), "done: ready");
  EXPECT_THAT(cluster.client().list_activities().activities, IsEmpty());
}

TEST_P(HeartbeatScenes, DetailsAreWrittenAtMostEveryInterval) {
  begin();
  says(1);
  for (int i = 2; i <= 10; ++i) says(i);
  EXPECT_EQ(seen().heartbeat_details, "1");
  cluster.advance(kInterval - 1ms);
  EXPECT_EQ(seen().heartbeat_details, "1");
  cluster.advance(1ms);
  EXPECT_EQ(seen().heartbeat_details, "10");
}

TEST_P(HeartbeatScenes, OneWithoutDetailsLeavesThemAsTheyAre) {
  begin();
  says(1);
  cluster.advance(kInterval);
  calls.latest().ctx.heartbeat();
  cluster.advance(kInterval);
  EXPECT_EQ(seen().heartbeat_details, "1");
}

TEST_P(HeartbeatScenes, AfterTheEndTheyHaveNoEffect) {
  begin();
  const OpenCalls::Call call = calls.latest();
  EXPECT_EQ(complete("ready"), "done: ready");
  call.ctx.heartbeat(1);
  call.ctx.heartbeat();
  cluster.advance(1h);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
  EXPECT_THAT(cluster.warnings(), IsEmpty());
}

TEST_P(HeartbeatScenes, DetailsThatAreTooLargeAreRefusedWithTheLimit) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext& ctx) {
    ctx.heartbeat(std::string(1'000, 'x'));
    return std::string("never");
  });
  add_flow(registry, {});
  RuntimeOptions options;
  options.limits.max_payload_bytes = 1'000;  // with its quotes it has 1002
  cluster.start_node(registry, options);
  cluster.client().start_orchestration("i", "Flow");
  EXPECT_THAT(cluster.wait("i").result<std::string>(),
              AllOf(HasSubstr("heartbeat"), HasSubstr("'Work'"), HasSubstr("1002 bytes"), HasSubstr("is 1000"),
                    HasSubstr("max_payload_bytes")));
}

// ---- For the next attempt at the same activity ---------------------------------------------------------------------

TEST_P(HeartbeatScenes, TheFirstAttemptFindsNothing) {
  begin();
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), std::nullopt);
}

TEST_P(HeartbeatScenes, AnAttemptGoesOnWhereTheProcessBeforeDied) {
  auto& first = begin();
  says("42 of 100");
  cluster.kill_node(first);
  start_node();
  cluster.advance(kLock);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.attempt(), 2U);
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<std::string>(), "42 of 100");
  EXPECT_ANY_THROW(static_cast<void>(calls.latest().ctx.last_heartbeat<int>())) << "it is no number";
  says("43 of 100");
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<std::string>(), "42 of 100") << "it is what the attempt before left";
  EXPECT_EQ(complete("ready"), "done: ready");
}

TEST_P(HeartbeatScenes, WhatAnAttemptFoundIsKeptForTheNextIfItSaysNothing) {
  auto* node = &begin();
  says(7);
  for (std::uint32_t attempt = 2; attempt <= 4; ++attempt) {
    cluster.kill_node(*node);
    node = &start_node();
    cluster.advance(kLock);
    ASSERT_EQ(calls.latest().ctx.attempt(), attempt);
    EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 7);
  }
}

// Cuts a node's workers off from the store.
class CutOff final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  bool cut = false;

  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override {
    if (cut) return std::vector<ProviderResult<Timestamp>>(tokens.size(), away());
    return ForwardingProvider::renew_work_locks(tokens, extend_for);
  }
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override {
    if (cut) return std::vector<ProviderResult<Timestamp>>(heartbeats.size(), away());
    return ForwardingProvider::heartbeat(heartbeats);
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    if (cut) return away();
    return ForwardingProvider::fetch_work_items(fetch);
  }
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override {
    if (cut) return std::vector<ProviderResult<void>>(abandons.size(), away());
    return ForwardingProvider::abandon_work_items(abandons);
  }

 private:
  static ProviderError away() { return {ProviderErrorKind::kUnavailable, "the store is away"}; }
};

TEST_P(HeartbeatScenes, AnAttemptThatLostItsLockIsStoppedAndAnotherGoesOn) {
  const auto view = std::make_shared<CutOff>(cluster.store());
  begin({}, view);
  says("known");
  start_node();
  view->cut = true;
  for (int second = 0; second < 30; ++second) {
    says("unknown");
    cluster.advance(1s);
  }
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  EXPECT_EQ(calls.at(1).ctx.attempt(), 2U) << "its node could not tell the store that the attempt does not count";
  EXPECT_EQ(calls.at(1).ctx.last_heartbeat<std::string>(), "known");
  calls.at(0).done.complete("by the wrong one");
  EXPECT_EQ(complete("by the right one"), "done: by the right one");
}

// A failure of the store is not an attempt of the activity: its node says so as soon as it reaches the store.
TEST_P(HeartbeatScenes, AnAttemptThatLostItsLockToAnOutageDoesNotCount) {
  const auto view = std::make_shared<CutOff>(cluster.store());
  begin({}, view);
  says("known");
  view->cut = true;
  for (int second = 0; second < 40; ++second) cluster.advance(1s);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  view->cut = false;
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.at(1).ctx.attempt(), 1U);
  EXPECT_EQ(calls.at(1).ctx.last_heartbeat<std::string>(), "known");
  calls.latest().done.complete("after the outage");
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "done: after the outage");
}

// Another node has cancelled it: this one learns of it when it speaks.
TEST_P(HeartbeatScenes, OneThatNobodyWantsAnyMoreIsToldSo) {
  Registry worker;
  calls.add_to(worker);
  RuntimeOptions works;
  works.fetch_only_registered = true;
  cluster.start_node(worker, works);
  Registry orchestrator;
  add_flow(orchestrator, {});
  RuntimeOptions decides;
  decides.worker_tag_filter = TagFilter::none();
  cluster.start_node(orchestrator, decides);
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  cluster.client().cancel_instance("i");
  cluster.settle();
  EXPECT_FALSE(calls.latest().ctx.is_cancelled());
  says(1);
  EXPECT_TRUE(calls.latest().ctx.is_cancelled());
}

TEST_P(HeartbeatScenes, ANodeThatEndsLeavesTheNewestDetails) {
  auto& first = begin();
  says(1);
  says(2);  // too early to be written
  EXPECT_EQ(seen().heartbeat_details, "1");
  first.drain();
  first.stop_activities();
  cluster.stop_node(first);
  const QueuedActivity left = seen();
  EXPECT_EQ(left.heartbeat_details, "2");
  EXPECT_FALSE(left.locked);
  EXPECT_EQ(left.attempts, 0U) << "it does not count";
  start_node();
  cluster.settle();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.attempt(), 1U);
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 2);
}

// ---- For the next activity of a retry ------------------------------------------------------------------------------

TEST_P(HeartbeatScenes, ARetryGoesOnWhereTheFailedAttemptStood) {
  begin(ActivityOptions().retry(RetryPolicy(4).backoff(Backoff::fixed(1min))));
  says(30);
  says(31);  // too early to be written
  calls.latest().done.fail("connection lost");
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_NE(calls.at(1).ctx.activity_id(), calls.at(0).ctx.activity_id());
  EXPECT_EQ(calls.at(1).ctx.attempt(), 2U) << "it counts the attempts of the policy";
  EXPECT_EQ(calls.at(1).ctx.last_heartbeat<int>(), 31);
  calls.latest().done.fail("lost again, before anything could be said");
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls.at(2).ctx.last_heartbeat<int>(), 31) << "it was passed on";
  says(80);
  calls.latest().done.fail("and again");
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls.at(3).ctx.last_heartbeat<int>(), 80);
  EXPECT_EQ(complete("100"), "done: 100");
}

TEST_P(HeartbeatScenes, ARetryGoesOnWhereTheSilentAttemptStood) {
  begin(ActivityOptions().heartbeat_timeout(20s).retry(RetryPolicy(2).backoff(Backoff::none())));
  says(5);
  cluster.advance(10s);
  cluster.advance(10s);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 5);
}

TEST_P(HeartbeatScenes, ARetryOnAnotherNodeGoesOnAsWell) {
  const ActivityOptions how = ActivityOptions().retry(RetryPolicy(2).backoff(Backoff::fixed(1min)));
  auto& first = begin(how);
  says(5);
  calls.latest().done.fail("no luck");
  cluster.settle();
  cluster.stop_node(first);
  start_node(how);
  cluster.advance(1min);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 5);
}

// An attempt that no worker started has no progress of its own, and must not lose that of the one before.
TEST_P(HeartbeatScenes, AnAttemptThatNobodyStartedLosesNothing) {
  const ActivityOptions how =
      ActivityOptions().tag("gpu").schedule_to_start_timeout(10s).retry(RetryPolicy(5).backoff(Backoff::none()));
  start_node(how);
  RuntimeOptions gpu;
  gpu.worker_tag_filter = TagFilter::tags({"gpu"});
  gpu.fetch_only_registered = true;
  Registry registry;
  calls.add_to(registry);
  auto& worker = cluster.start_node(registry, gpu);
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  says(5);
  worker.drain();
  calls.latest().done.fail("no luck");
  cluster.stop_node(worker);
  cluster.advance(10s);
  cluster.start_node(registry, gpu);
  cluster.settle();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 5);
}

// ---- With threads --------------------------------------------------------------------------------------------------

class HeartbeatsWithThreads : public Threaded {
 protected:
  HeartbeatsWithThreads() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)))) {
    options.orchestrator_lock_timeout = 1h;  // locks are not renewed while the clock is moved
    options.worker_lock_timeout = 1h;
    options.session_idle_timeout = 2h;
  }
};

TEST_F(HeartbeatsWithThreads, ManyThreadsTellOfTheirProgressAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kBeats = 2'000;
  const OpenCalls calls;
  Registry registry;
  calls.add_to(registry);
  test::add_flow(registry, ActivityOptions().heartbeat_timeout(1h));
  const auto runtime = run(registry);
  for (int i = 0; i < kThreads; ++i) client.start_orchestration(std::to_string(i), "Flow");
  ASSERT_TRUE(eventually([&] { return calls.size() == kThreads; }));
  std::vector<std::thread> threads;
  for (const OpenCalls::Call& call : calls.all()) {
    threads.emplace_back([call] {
      for (int i = 1; i <= kBeats; ++i) call.ctx.heartbeat(i);
      call.done.complete("ready");
      call.ctx.heartbeat(0);
    });
  }
  for (int i = 0; i < 20; ++i) clock->advance(500ms);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(end_of(std::to_string(i)).result<std::string>(), "done: ready");
  EXPECT_TRUE(eventually([&] { return runtime->idle(); }));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(HeartbeatsWithThreads, AShutdownLeavesTheNewestDetails) {
  const OpenCalls calls;
  Registry registry;
  calls.add_to(registry);
  test::add_flow(registry, {});
  auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(eventually([&] { return calls.size() == 1; }));
  for (int i = 1; i <= 100; ++i) calls.latest().ctx.heartbeat(i);
  runtime->shutdown(0ms);
  const auto left = client.list_activities().activities;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].heartbeat_details, "100");
  EXPECT_FALSE(left[0].locked);
  EXPECT_EQ(left[0].attempts, 0U);
  calls.latest().ctx.heartbeat(101);  // long after the node
  runtime = run(registry);
  ASSERT_TRUE(eventually([&] { return calls.size() == 2; }));
  EXPECT_EQ(calls.latest().ctx.last_heartbeat<int>(), 100);
  calls.latest().done.complete("ready");
  EXPECT_EQ(end_of("i").result<std::string>(), "done: ready");
}

}  // namespace
}  // namespace perdure::test
