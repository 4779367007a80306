// Sessions over time: how long a node keeps them, and where they go when it dies, forgets to renew them or has no use
// for them any more. Nodes without threads, which can die.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/connections.h"
#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Node = SteppedCluster::Node;

constexpr Milliseconds kSessionLock{30'000};  // RuntimeOptions::session_lock_timeout, and worker_lock_timeout
constexpr Milliseconds kIdle{300'000};        // RuntimeOptions::session_idle_timeout
constexpr Milliseconds kCleanup{300'000};     // RuntimeOptions::session_cleanup_interval
constexpr Milliseconds kStep{10'000};         // of time that passes: short enough for every renewal

class MovingSessions : public InEveryCluster {
 protected:
  Node& start(const std::string& host, RuntimeOptions options = {}, std::shared_ptr<Provider> view = nullptr) {
    Registry registry = process(host, log);
    calls.add_to(registry);
    add_flow(registry, in_session("s"));
    return cluster.start_node(registry, std::move(options), std::move(view));
  }
  void begin_chat(const std::string& instance, const std::string& session) {
    cluster.client().start_orchestration(instance, "Chat", session);
  }
  // "2 a": the second query was answered on host a.
  std::string answer(const std::string& instance) {
    cluster.settle();
    return cluster.client().get_orchestration_status(instance).custom_status.value_or("none");
  }
  void say(const std::string& instance) { cluster.client().enqueue_event(instance, "say", "hello"); }
  std::string say_and_hear(const std::string& instance) {
    say(instance);
    return answer(instance);
  }
  // Time in which everybody does what he should.
  void pass(Milliseconds time) {
    for (; time > kStep; time -= kStep) cluster.advance(kStep);
    cluster.advance(time);
  }
  static RuntimeOptions named(const std::string& name) {
    RuntimeOptions options;
    options.worker_node_id = name;
    return options;
  }

  ConnectionLog log;
  OpenCalls calls;
};
PERDURE_IN_EVERY_CLUSTER(MovingSessions);

// ---- A process dies ------------------------------------------------------------------------------------------------

TEST_P(MovingSessions, TheSessionsOfANodeThatDiesMoveWhenTheirLocksEnd) {
  auto& first = start("a");
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  cluster.kill_node(first);
  start("b");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  cluster.advance(kSessionLock - 1ms);
  EXPECT_EQ(answer("i"), "1 a");
  cluster.advance(1ms);
  EXPECT_EQ(answer("i"), "2 b");
  EXPECT_EQ(say_and_hear("i"), "3 b");
  EXPECT_THAT(log.opened_on("a"), ElementsAre("s"));
  EXPECT_THAT(log.opened_on("b"), ElementsAre("s")) << "it opens its own connection, once";
}

TEST_P(MovingSessions, OtherSessionsAreNotTouchedWhenANodeDies) {
  RuntimeOptions one;
  one.max_sessions_per_runtime = 1;
  auto& first = start("a", one);
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  start("b", one);
  begin_chat("j", "t");
  EXPECT_EQ(say_and_hear("j"), "1 b");
  cluster.kill_node(first);
  pass(10min);
  EXPECT_EQ(say_and_hear("j"), "2 b");
  EXPECT_THAT(log.opened_on("b"), ElementsAre("t"));
}

// Its lock and the session's end at the same time.
TEST_P(MovingSessions, AnActivityThatWasRunningGoesToTheNewHolder) {
  auto& first = start("a");
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  cluster.kill_node(first);
  start("b");
  cluster.advance(kSessionLock - 1ms);
  EXPECT_EQ(calls.size(), 1U);
  cluster.advance(1ms);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.latest().ctx.attempt(), 2U);
  EXPECT_NE(calls.latest().ctx.worker_id(), calls.at(0).ctx.worker_id());
  calls.latest().done.complete("on b");
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "done: on b");
}

// ---- A process dies, and another takes its name --------------------------------------------------------------------

TEST_P(MovingSessions, AProcessThatDiedIsContinuedByTheNextOfItsName) {
  auto& first = start("a", named("alpha"));
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  cluster.kill_node(first);
  start("b", named("beta"));
  start("c", named("alpha"));
  EXPECT_EQ(say_and_hear("i"), "2 c") << "at once: the lock is alpha's";
  EXPECT_THAT(log.opened_on("b"), IsEmpty());
}

TEST_P(MovingSessions, TheNextProcessRenewsFromItsStartWhatTheOneBeforeHeld) {
  auto& first = start("a", named("alpha"));
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  cluster.kill_node(first);
  start("b", named("beta"));
  pass(20s);
  start("c", named("alpha"));
  pass(2min);  // without anything to do in the session
  EXPECT_EQ(say_and_hear("i"), "2 c");
  EXPECT_THAT(log.opened_on("b"), IsEmpty());
}

TEST_P(MovingSessions, SessionsOfAnEarlierProcessCountAgainstTheCapacityOfTheNext) {
  RuntimeOptions one = named("alpha");
  one.max_sessions_per_runtime = 1;
  auto& first = start("a", one);
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  cluster.kill_node(first);
  start("c", one);
  begin_chat("j", "t");
  EXPECT_EQ(say_and_hear("j"), "none");
  EXPECT_EQ(say_and_hear("i"), "2 c");
}

// ---- How long ------------------------------------------------------------------------------------------------------

TEST_P(MovingSessions, ASessionThatIsUsedNowAndThenStaysWhereItIs) {
  start("a");
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  start("b");
  for (int i = 2; i <= 10; ++i) {
    pass(kIdle - kSessionLock);
    EXPECT_EQ(say_and_hear("i"), std::to_string(i) + " a");
  }
  EXPECT_EQ(log.opened_on("a").size() + log.opened_on("b").size(), 1U);
}

TEST_P(MovingSessions, ASessionThatIsNotUsedGoesAfterItsIdleTimeout) {
  RuntimeOptions one;
  one.max_sessions_per_runtime = 1;
  start("a", one);
  begin_chat("i", "s");
  EXPECT_EQ(say_and_hear("i"), "1 a");
  begin_chat("j", "t");
  EXPECT_EQ(say_and_hear("j"), "none") << "there is no room";
  pass(kIdle - 1ms);
  EXPECT_EQ(answer("j"), "none");
  cluster.advance(1ms);
  EXPECT_EQ(answer("j"), "1 a") << "at once, although its lock was renewed just before";
  EXPECT_EQ(say_and_hear("i"), "1 a") << "now the other has the place";
}

// The lock says how soon others notice that a node has died, not how long a session stays.
TEST_P(MovingSessions, ASessionMayBeIdleForLessTimeThanItsLock) {
  RuntimeOptions brief;
  brief.max_sessions_per_runtime = 1;
  brief.worker_lock_timeout = 10s;
  brief.session_idle_timeout = 7s;
  start("a", brief);
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  begin_chat("j", "t");
  say("j");
  for (int i = 0; i < 60; ++i) cluster.advance(1s);
  EXPECT_EQ(answer("j"), "none") << "the other session is in use";
  calls.latest().done.complete("after a minute");
  cluster.settle();
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kCompleted);
  cluster.advance(7s - 1ms);
  EXPECT_EQ(answer("j"), "none");
  cluster.advance(1ms);
  EXPECT_EQ(answer("j"), "1 a");
}

TEST_P(MovingSessions, ASessionIsInUseAsLongAsAnActivityOfItRuns) {
  start("a");
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  start("b");
  pass(2h);
  begin_chat("j", "s");
  EXPECT_EQ(say_and_hear("j"), "1 a");
  ASSERT_EQ(calls.size(), 1U) << "and the activity has run only once";
  calls.latest().done.complete("after two hours");
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "done: after two hours");
}

// ---- The item's lock is the item's ---------------------------------------------------------------------------------

class ForgetsSessions final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  ProviderResult<std::size_t> renew_sessions(std::span<const std::string>, Milliseconds, Milliseconds) override {
    return ProviderError(ProviderErrorKind::kUnavailable, "no sessions today");
  }
};

TEST_P(MovingSessions, AnActivityWhoseSessionHasMovedIsCompletedAllTheSame) {
  RuntimeOptions full;  // with one activity
  full.worker_concurrency = 1;
  full.max_async_activities = 1;
  start("a", full, std::make_shared<ForgetsSessions>(cluster.store()));
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  start("b");
  begin_chat("j", "s");
  EXPECT_EQ(say_and_hear("j"), "none");
  pass(kSessionLock);
  EXPECT_EQ(answer("j"), "1 b") << "the session has moved";
  pass(kSessionLock);
  EXPECT_FALSE(calls.latest().ctx.is_cancelled()) << "the lock of the activity holds";
  calls.latest().done.complete("by its first worker");
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "done: by its first worker");
  EXPECT_EQ(calls.size(), 1U);
}

// ---- The end of a node ---------------------------------------------------------------------------------------------

TEST_P(MovingSessions, ANodeThatEndsKeepsASessionUntilItsLastActivityHasEnded) {
  auto& first = start("a");
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  start("b");
  first.drain();
  begin_chat("j", "s");
  say("j");
  pass(5min);
  EXPECT_EQ(answer("j"), "none") << "nobody uses the session besides";
  calls.latest().done.complete("at last");
  cluster.stop_node(first);
  EXPECT_EQ(answer("j"), "1 b") << "and then at once";
  EXPECT_EQ(cluster.wait("i").result<std::string>(), "done: at last");
}

TEST_P(MovingSessions, ANodeThatStopsItsActivitiesLeavesTheirSessionsToTheOthers) {
  auto& first = start("a");
  cluster.client().start_orchestration("i", "Flow");
  cluster.settle();
  start("b");
  first.drain();
  first.stop_activities();
  cluster.stop_node(first);
  cluster.settle();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  EXPECT_EQ(calls.at(1).ctx.attempt(), 1U) << "the attempt that was given back does not count";
}

// ---- Cleaning up ---------------------------------------------------------------------------------------------------

class CountsCleanedSessions final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  ProviderResult<std::size_t> cleanup_sessions() override {
    auto cleaned = ForwardingProvider::cleanup_sessions();
    if (cleaned) sessions += *cleaned;
    return cleaned;
  }
  std::size_t sessions = 0;
};

TEST_P(MovingSessions, WhatIsLeftOfOldSessionsIsSweptUp) {
  const auto view = std::make_shared<CountsCleanedSessions>(cluster.store());
  start("a", {}, view);
  for (const std::string session : {"s", "t", "u"}) {
    begin_chat(session, session);
    EXPECT_EQ(say_and_hear(session), "1 a");
  }
  pass(kIdle - 1ms);
  EXPECT_EQ(view->sessions, 0U) << "they are still held";
  pass(2 * kCleanup);
  EXPECT_EQ(view->sessions, 3U);
  EXPECT_EQ(cluster.store()->cleanup_sessions().value(), 0U);
  EXPECT_EQ(say_and_hear("s"), "2 a") << "and may begin anew";
}

}  // namespace
}  // namespace perdure::test
