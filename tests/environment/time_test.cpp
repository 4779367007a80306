// Virtual time: it stands still while anything can be done, and jumps to exactly the next moment at which something is
// due.
#include <cstdint>
#include <string>
#include <vector>

#include <perdure/json.h>
#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Registry sleeper() {
  Registry registry;
  registry.add_orchestration("Sleep", [](Ctx ctx, std::int64_t milliseconds) -> Orchestration<std::int64_t> {
    co_await ctx.schedule_timer(Milliseconds(milliseconds));
    co_return since_start(ctx.utc_now());
  });
  return registry;
}

constexpr std::int64_t kMonth = Milliseconds(30 * kDay).count();

// A node that lived through these 30 days would ask the store every 30 s, sweep up sessions every 5 min and read its
// gauges every minute: 140,000 moments.
TEST(VirtualTime, ThirtyDaysAreAHandfulOfSteps) {
  const auto metrics = std::make_shared<CapturingMetrics>();
  TestOptions options;
  options.runtime.metrics = Metrics(metrics);
  options.max_steps = 30;
  TestEnvironment env(sleeper(), options);
  EXPECT_EQ(env.run("i", "Sleep", kMonth).result<std::int64_t>(), kMonth);
  EXPECT_EQ(passed(env), 30 * kDay);
}

TEST(VirtualTime, ATimerIsMetAtExactlyItsTime) {
  TestEnvironment env(sleeper());
  EXPECT_EQ(env.run("i", "Sleep", 1'234'567).result<std::int64_t>(), 1'234'567);
  EXPECT_EQ(passed(env), 1'234'567ms);
  EXPECT_EQ(env.run("j", "Sleep", 1).result<std::int64_t>(), 1'234'568);
  EXPECT_EQ(env.run("k", "Sleep", 0).result<std::int64_t>(), 1'234'568);
}

TEST(VirtualTime, BeginsWhereTheOptionsSay) {
  TestOptions options;
  options.start = Timestamp(5s);
  TestEnvironment env(sleeper(), options);
  EXPECT_TRUE(env.run("i", "Sleep", 1'000).completed());
  EXPECT_EQ(env.now(), Timestamp(6s));
}

Registry two_timers() {
  Registry registry;
  registry.add_activity("Note", [](ActivityContext&, std::string text) { return text; });
  registry.add_orchestration("Two", [](Ctx ctx) -> Orchestration<std::vector<std::int64_t>> {
    auto late = ctx.schedule_timer(3h);
    auto early = ctx.schedule_timer(90min);
    std::vector<std::int64_t> times;
    co_await std::move(early);
    times.push_back(since_start(ctx.utc_now()));
    co_await ctx.schedule_activity<std::string>("Note", "early");
    co_await std::move(late);
    times.push_back(since_start(ctx.utc_now()));
    co_await ctx.schedule_activity<std::string>("Note", "late");
    co_return times;
  });
  return registry;
}

TEST(VirtualTime, TimersAreMetInTheOrderOfTheirTimes) {
  TestEnvironment env(two_timers());
  EXPECT_THAT(env.run("i", "Two").result<std::vector<std::int64_t>>(),
              ElementsAre(Milliseconds(90min).count(), Milliseconds(3h).count()));
  const auto calls = env.calls("Note");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(passed(calls[0].at), 90min);
  EXPECT_EQ(passed(calls[1].at), 3h);
}

TEST(VirtualTime, NothingLaterHappensEarly) {
  TestEnvironment env(two_timers());
  env.start("i", "Two");
  env.advance(90min - 1ms);
  EXPECT_THAT(env.calls("Note"), IsEmpty());
  env.advance(1ms);
  EXPECT_THAT(env.inputs<std::string>("Note"), ElementsAre("early"));
  env.advance(90min - 1ms);
  EXPECT_EQ(env.calls("Note").size(), 1U);
  EXPECT_FALSE(env.client().get_orchestration_status("i").ended());
  env.advance(1ms);
  EXPECT_THAT(env.inputs<std::string>("Note"), ElementsAre("early", "late"));
  EXPECT_TRUE(env.client().get_orchestration_status("i").completed());
  EXPECT_EQ(passed(env), 3h);
}

TEST(VirtualTime, SettlingDoesWhatCanBeDoneNow) {
  TestEnvironment env(two_timers());
  env.start("i", "Two");
  EXPECT_EQ(env.client().get_orchestration_status("i").state, OrchestrationState::kPending);
  env.settle();
  EXPECT_EQ(env.client().get_orchestration_status("i").state, OrchestrationState::kRunning);
  EXPECT_THAT(env.event_kinds("i"), ElementsAre("OrchestrationStarted", "TimerCreated", "TimerCreated"));
  EXPECT_EQ(passed(env), 0ms);
}

TEST(VirtualTime, AdvancesThroughSeveralMomentsInOrder) {
  TestEnvironment env(sleeper());
  for (const int days : {3, 1, 2}) {
    env.start("day-" + std::to_string(days), "Sleep", Milliseconds(days * kDay).count());
  }
  env.advance(10 * kDay);
  EXPECT_EQ(passed(env), 10 * kDay);
  for (const int days : {1, 2, 3}) {
    EXPECT_EQ(env.wait("day-" + std::to_string(days)).result<std::int64_t>(), Milliseconds(days * kDay).count());
  }
}

TEST(VirtualTime, DoesNotGoBack) {
  TestEnvironment env(sleeper());
  EXPECT_THROW(env.advance(-1ms), std::invalid_argument);
}

// ---- Planned calls ----

TEST(PlannedCalls, ComeInTheOrderOfTheirTimesAndOfTheirPlanning) {
  TestEnvironment env(sleeper());
  std::vector<std::string> heard;
  const auto note = [&](const std::string& text) {
    return [&heard, &env, text] { heard.push_back(text + "@" + std::to_string(since_start(env.now()))); };
  };
  env.after(20ms, note("late"));
  env.at(kStart + 10ms, note("first"));
  env.after(10ms, note("second"));
  env.at(kStart - 1h, note("overdue"));
  EXPECT_THAT(heard, IsEmpty());
  env.advance(30ms);
  EXPECT_THAT(heard, ElementsAre("overdue@0", "first@10", "second@10", "late@20"));
}

TEST(PlannedCalls, AreMadeBetweenTheMomentsOfWorkflows) {
  TestEnvironment env(sleeper());
  env.start("i", "Sleep", Milliseconds(2h).count());
  OrchestrationState seen{};
  env.after(2h - 1ms, [&] { seen = env.client().get_orchestration_status("i").state; });
  EXPECT_TRUE(env.wait("i").completed());
  EXPECT_EQ(seen, OrchestrationState::kRunning);
}

TEST(PlannedCalls, MayUseTheEnvironment) {
  TestEnvironment env(sleeper());
  env.after(1h, [&] {
    env.start("i", "Sleep", 1'000);
    env.after(1h, [&] { env.start("j", "Sleep", 1'000); });
    EXPECT_TRUE(env.wait("i").completed());
  });
  EXPECT_TRUE(env.wait("j").completed());
  EXPECT_EQ(passed(env), 2h + 1s);
}

TEST(PlannedCalls, LetTheirExceptionsOut) {
  TestEnvironment env(sleeper());
  env.after(1h, [] { throw std::runtime_error("planned trouble"); });
  EXPECT_THROW(env.advance(2h), std::runtime_error);
  EXPECT_EQ(passed(env), 1h);
  env.advance(1h);  // it was called once
  EXPECT_THROW(env.after(1s, nullptr), std::invalid_argument);
}

// ---- Events against a timeout ----

TEST(EventsAtVirtualTimes, BeatALaterTimeout) {
  TestEnvironment env(approval());
  env.raise_event_after(1h - 1ms, "i", "go", "yes");
  EXPECT_EQ(env.run("i", "Approval").result<std::string>(), "yes");
  EXPECT_EQ(passed(env), 1h - 1ms);
}

TEST(EventsAtVirtualTimes, LoseToAnEarlierTimeout) {
  TestEnvironment env(approval());
  env.raise_event_after(1h + 1ms, "i", "go", "yes");
  EXPECT_EQ(env.run("i", "Approval").result<std::string>(), "too late");
  EXPECT_EQ(passed(env), 1h);
}

// A planned call comes before anything else of its moment, and so do the messages that it sends.
TEST(EventsAtVirtualTimes, BeatATimeoutOfTheSameMoment) {
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    TestOptions options;
    options.seed = seed;
    TestEnvironment env(approval(), options);
    env.raise_event_after(1h, "i", "go", "yes");
    EXPECT_EQ(env.run("i", "Approval").result<std::string>(), "yes");
    EXPECT_EQ(passed(env), 1h);
  }
}

TEST(EventsAtVirtualTimes, OfOneMomentKeepTheirOrder) {
  TestEnvironment env(approval());
  env.after(1h, [&] {
    env.client().raise_event("i", "go", "first");
    env.client().raise_event("i", "go", "second");
  });
  env.raise_event_after(1h, "i", "go", "third");
  EXPECT_EQ(env.run("i", "Approval").result<std::string>(), "first");
}

TEST(EventsAtVirtualTimes, OfOverdueCallsDoNotOvertake) {
  TestEnvironment env(approval());
  env.start("i", "Approval");
  env.settle();
  env.client().raise_event("i", "go", "sent");
  env.raise_event_after(0ms, "i", "go", "planned");
  EXPECT_EQ(env.wait("i").result<std::string>(), "sent");
}

TEST(EventsAtVirtualTimes, NeedNoData) {
  Registry registry;
  registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  TestEnvironment env(registry);
  env.raise_event_after(2h, "i", "go");
  EXPECT_TRUE(env.run("i", "Waits").completed());
  EXPECT_EQ(passed(env), 2h);
}

// ---- Sessions ----

// A node renews the sessions that it holds, also when nothing else is due.
TEST(SessionsInVirtualTime, AreHeldUntilTheirIdleTimeout) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext& ctx) { return ctx.session_id().value_or("none"); });
  registry.add_orchestration("Once", [](Ctx ctx, std::string session) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Work", ActivityOptions().session(session));
  });
  TestOptions options;
  options.runtime.max_sessions_per_runtime = 1;
  TestEnvironment env(registry, options);
  EXPECT_TRUE(env.run("i", "Once", "s").completed());
  env.advance(4min);
  env.start("j", "Once", "t");
  env.advance(1min - 1ms);
  EXPECT_FALSE(env.client().get_orchestration_status("j").ended()) << "its node may hold one session only";
  env.advance(1ms);
  EXPECT_TRUE(env.client().get_orchestration_status("j").completed());
}

// ---- Waits of clients ----

TEST(WaitsOfClients, LetVirtualTimePass) {
  TestEnvironment env(sleeper());
  env.client().start_orchestration("i", "Sleep", kMonth);
  EXPECT_EQ(env.client().wait_for_orchestration("i", 31 * kDay).result<std::int64_t>(), kMonth);
  EXPECT_EQ(passed(env), 30 * kDay);
}

TEST(WaitsOfClients, EndAtTheirTimeout) {
  TestEnvironment env(sleeper());
  env.start("i", "Sleep", kMonth);
  try {
    env.client().wait_for_orchestration("i", 29 * kDay);
    ADD_FAILURE() << "it did not time out";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientErrorKind::kTimeout);
  }
  EXPECT_EQ(passed(env), 29 * kDay);
  EXPECT_THROW(env.client().wait_for_orchestration("nobody", 1h), ClientError);
  EXPECT_EQ(passed(env), 29 * kDay + 1h);
}

TEST(WaitsOfClients, WithoutAnEndStallInsteadOfHanging) {
  TestEnvironment env(sleeper());
  EXPECT_THAT(stall_of([&] { env.client().wait_for_orchestration("nobody", Milliseconds::max()); }),
              HasSubstr("a wait on the store has no deadline"));
}

TEST(WaitsOfClients, WorkInsideOfActivities) {
  Registry registry = sleeper();
  registry.add_activity("Ask", [](ActivityContext& ctx) {
    ctx.client().start_orchestration("other", "Sleep", Milliseconds(48h).count());
    return ctx.client().wait_for_orchestration("other", 72h).result<std::int64_t>();
  });
  registry.add_orchestration("Asks", [](Ctx ctx) -> Orchestration<std::int64_t> {
    co_return co_await ctx.schedule_activity<std::int64_t>("Ask");
  });
  TestEnvironment env(registry);
  EXPECT_EQ(env.run("i", "Asks").result<std::int64_t>(), Milliseconds(48h).count());
  EXPECT_EQ(passed(env), 48h);
  EXPECT_EQ(env.calls("Ask").size(), 1U);
}

TEST(TheLog, IsKeptInVirtualTime) {
  Registry registry;
  registry.add_orchestration("Traces", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_timer(5 * kDay);
    ctx.trace_info("awake");
  });
  TestEnvironment env(registry);
  EXPECT_TRUE(env.run("i", "Traces").completed());
  const auto records = env.log().find("awake");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].time, kStart + 5 * kDay);
}

}  // namespace
}  // namespace perdure::test
