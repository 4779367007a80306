// Activities in a test environment: real and mocked ones, what they were called with, and how long they take.
#include <string>
#include <vector>

#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Activity<int(int)> kWork("Work");
const Activity<std::string()> kName("Name");

Registry real() {
  Registry registry = caller();
  registry.add_activity(kWork, [](ActivityContext&, int n) { return n + 1; });
  return registry;
}

TEST(Activities, OfTheRegistryRun) {
  TestEnvironment env(real());
  EXPECT_EQ(env.run("i", "Caller", 1).result<int>(), 2);
  EXPECT_THAT(env.inputs(kWork), ElementsAre(1));
}

TEST(Activities, AreReplacedByMocks) {
  TestEnvironment env(real());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n * 100; });
  EXPECT_EQ(env.run("i", "Caller", 3).result<int>(), 300);
  EXPECT_THAT(env.inputs<int>("Work"), ElementsAre(3));
}

TEST(Activities, AreAddedByMocks) {
  TestEnvironment env(caller());
  env.mock_activity(kWork, [](ActivityContext&, int n) { return n * 100; });
  EXPECT_EQ(env.run("i", "Caller", 3).result<int>(), 300);
}

TEST(Activities, WithoutInputAreMockedToo) {
  Registry registry;
  registry.add_orchestration(
      "Asks", [](Ctx ctx) -> Orchestration<std::string> { co_return co_await ctx.schedule_activity(kName); });
  TestEnvironment env(registry);
  env.mock_activity(kName, [](ActivityContext&) -> std::string { return "Ada"; });
  EXPECT_EQ(env.run("i", "Asks").result<std::string>(), "Ada");
  EXPECT_EQ(env.calls(kName).size(), 1U);
  EXPECT_FALSE(env.calls(kName)[0].encoded_input);
}

TEST(Activities, CanBeMockedAnewBetweenRuns) {
  TestEnvironment env(real());
  EXPECT_EQ(env.run("a", "Caller", 1).result<int>(), 2);
  env.mock_activity(kWork, [](ActivityContext&, int) { return 10; });
  EXPECT_EQ(env.run("b", "Caller", 1).result<int>(), 10);
  env.mock_activity(kWork, [](ActivityContext&, int) -> int { throw NonRetryableError("no more"); });
  EXPECT_THAT(env.run("c", "Caller", 1).error_text(), HasSubstr("no more"));
  EXPECT_EQ(env.calls(kWork).size(), 3U);
}

// The node that ran "a" has no place for it; another one takes over, and nothing of "a" is lost.
TEST(Activities, CanBeAddedBetweenRuns) {
  Registry registry = real();
  registry.add_orchestration("Sleeps", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(1h);
    co_return co_await ctx.schedule_activity<int>("New");
  });
  TestEnvironment env(registry);
  env.start("sleeper", "Sleeps");
  EXPECT_EQ(env.run("a", "Caller", 1).result<int>(), 2);
  env.mock_activity("New", [](ActivityContext&) { return 5; });
  EXPECT_EQ(env.wait("sleeper").result<int>(), 5);
  EXPECT_EQ(passed(env), 1h);
}

TEST(Activities, CanBeAddedWhileOthersAreUnderWay) {
  Registry registry = real();
  registry.add_orchestration(
      "CallsNew", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("New"); });
  TestEnvironment env(registry);
  env.set_activity_duration("Work", 1h);
  env.start("i", "Caller", 1);
  env.settle();
  env.mock_activity("New", [](ActivityContext&) { return 5; });
  EXPECT_EQ(env.run("j", "CallsNew").result<int>(), 5);
  EXPECT_EQ(passed(env), 0h);
  EXPECT_EQ(env.wait("i").result<int>(), 2);
  EXPECT_EQ(passed(env), 1h);
  EXPECT_EQ(env.calls("Work").size(), 1U) << "it was not begun anew";
}

// Nothing is tried and put off by the code of before.
TEST(Activities, CanBeAddedBetweenAStartAndItsRun) {
  TestEnvironment env(caller());
  env.settle();
  env.start("i", "Caller", 3);
  env.mock_activity(kWork, [](ActivityContext&, int n) { return n; });
  EXPECT_EQ(env.wait("i").result<int>(), 3);
  EXPECT_EQ(passed(env), 0h);
}

TEST(Activities, BadMocksAreRefused) {
  TestEnvironment env(real());
  EXPECT_THROW(env.mock_activity("", [](ActivityContext&) { return 5; }), std::invalid_argument);
}

TEST(Activities, ThatNobodyStartedHaveNoCalls) {
  TestEnvironment env(real());
  EXPECT_THAT(env.calls("Work"), IsEmpty());
  EXPECT_THAT(env.inputs<int>("Unknown"), IsEmpty());
}

TEST(Activities, AreDescribedByTheirCalls) {
  Registry registry;
  registry.add_orchestration("Tagged", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(10min);
    co_return co_await ctx.schedule_activity<int>("Work", 7, ActivityOptions().tag("gpu").session("s"));
  });
  TestOptions options;
  options.runtime.worker_tag_filter = TagFilter::any();
  TestEnvironment env(registry, options);
  env.mock_activity(kWork, [](ActivityContext&, int n) { return n; });
  EXPECT_EQ(env.run("i", "Tagged").result<int>(), 7);
  const std::vector<ActivityRun> calls = env.calls(kWork);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].instance_id, "i");
  EXPECT_EQ(calls[0].execution_id, 1U);
  EXPECT_EQ(calls[0].attempt, 1U);
  EXPECT_EQ(calls[0].tag, "gpu");
  EXPECT_EQ(calls[0].session_id, "s");
  EXPECT_EQ(passed(calls[0].at), 10min);
  EXPECT_EQ(calls[0].input<int>(), 7);
  EXPECT_ANY_THROW(static_cast<void>(calls[0].input<std::string>()));
}

// ---- Retries ----

Registry retrying() {
  Registry registry;
  registry.add_orchestration("Retries", [](Ctx ctx) -> Orchestration<int> {
    RetryPolicy policy(5);
    policy.backoff(Backoff::exponential(1min, 10.0, 24h));
    co_return co_await ctx.schedule_activity<int>("Work", 1, ActivityOptions().retry(policy));
  });
  return registry;
}

TEST(Retries, TakeExactlyTheirVirtualTime) {
  TestEnvironment env(retrying());
  int failures = 3;
  env.mock_activity(kWork, [&](ActivityContext&, int) {
    if (failures-- > 0) throw std::runtime_error("not yet");
    return 42;
  });
  EXPECT_EQ(env.run("i", "Retries").result<int>(), 42);
  std::vector<Milliseconds> times;
  for (const ActivityRun& call : env.calls(kWork)) times.push_back(passed(call.at));
  EXPECT_THAT(times, ElementsAre(0min, 1min, 11min, 111min));
  EXPECT_EQ(passed(env), 111min);
}

TEST(Retries, EndWithTheirPolicy) {
  TestEnvironment env(retrying());
  env.mock_activity(kWork, [](ActivityContext&, int) -> int { throw std::runtime_error("never"); });
  EXPECT_THAT(env.run("i", "Retries").error_text(), HasSubstr("never"));
  EXPECT_EQ(env.calls(kWork).size(), 5U);
  EXPECT_EQ(passed(env), 1111min);
}

// ---- Code that is not there ----

// 1 + 2 + 4 + 8 + 16 + 32 + 4 * 60 s of rest, and the eleventh attempt is one too many.
TEST(UnregisteredActivities, EndAsPoisonInVirtualTime) {
  TestEnvironment env(caller());
  const auto status = env.run("i", "Caller", 1);
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(), HasSubstr("poison"));
  EXPECT_THAT(status.error_text(), HasSubstr("Work#2"));
  EXPECT_EQ(passed(env), 303s);
  EXPECT_FALSE(env.log().find("activity not registered on this node").empty());
}

TEST(UnregisteredActivities, RunOnceTheyAreMocked) {
  TestEnvironment env(caller());
  env.start("i", "Caller", 1);
  env.advance(2s);
  env.mock_activity(kWork, [](ActivityContext&, int n) { return n; });
  EXPECT_EQ(env.wait("i").result<int>(), 1);
  EXPECT_EQ(passed(env), 3s);
  EXPECT_EQ(env.calls(kWork)[0].attempt, 3U);
}

TEST(UnregisteredOrchestrations, EndAsPoisonInVirtualTime) {
  TestEnvironment env(caller());
  EXPECT_THAT(env.run("i", "Nobody").error_text(), HasSubstr("poison"));
  EXPECT_EQ(passed(env), 303s);
}

// ---- Activities that take virtual time ----

TEST(Durations, AreSpentBeforeTheFunctionIsCalled) {
  TestEnvironment env(caller());
  Timestamp called{};
  env.mock_activity(kWork, [&](ActivityContext&, int n) {
    called = env.now();
    return n;
  });
  env.set_activity_duration("Work", 36h);
  EXPECT_EQ(env.run("i", "Caller", 8).result<int>(), 8);
  EXPECT_EQ(passed(env), 36h);
  EXPECT_EQ(passed(called), 36h);
  EXPECT_EQ(passed(env.calls(kWork)[0].at), 0h);
}

TEST(Durations, CostNoRenewals) {
  TestOptions options;
  options.max_steps = 40;
  TestEnvironment env(real(), options);
  env.set_activity_duration("Work", 365 * kDay);
  EXPECT_EQ(env.run("i", "Caller", 8).result<int>(), 9);
  EXPECT_EQ(passed(env), 365 * kDay);
}

TEST(Durations, OfZeroAndOfNothingAreTheSame) {
  TestEnvironment env(real());
  env.set_activity_duration("Work", 1h);
  env.set_activity_duration("Work", 0h);
  EXPECT_EQ(env.run("i", "Caller", 8).result<int>(), 9);
  EXPECT_EQ(passed(env), 0h);
  EXPECT_THROW(env.set_activity_duration("Work", -1ms), std::invalid_argument);
}

Registry impatient() {
  Registry registry;
  registry.add_orchestration("Impatient", [](Ctx ctx) -> Orchestration<std::string> {
    const auto first = co_await select{ctx.schedule_activity<int>("Work", 1), ctx.schedule_timer(1h)};
    co_return first.index() == 0 ? std::string("done") : std::string("given up");
  });
  registry.add_orchestration("Bounded", [](Ctx ctx) -> Orchestration<std::string> {
    const auto outcome = co_await ctx.schedule_activity<int>("Work", 1, ActivityOptions().timeout(2h)).as_result();
    co_return outcome ? std::string("done") : outcome.error().message();
  });
  registry.add_orchestration("Listening", [](Ctx ctx) -> Orchestration<std::string> {
    const auto outcome =
        co_await ctx.schedule_activity<int>("Work", 1, ActivityOptions().heartbeat_timeout(3h)).as_result();
    co_return outcome ? std::string("done") : outcome.error().message();
  });
  return registry;
}

TEST(Durations, LoseAndWinRaces) {
  for (const auto& [duration, outcome] : {std::pair(59min, "done"), std::pair(61min, "given up")}) {
    TestEnvironment env(impatient());
    int calls = 0;
    env.mock_activity(kWork, [&](ActivityContext&, int) { return ++calls; });
    env.set_activity_duration("Work", duration);
    EXPECT_EQ(env.run("i", "Impatient").result<std::string>(), outcome);
    EXPECT_EQ(passed(env), std::min<Milliseconds>(duration, 1h));
    env.advance(1h);
    EXPECT_EQ(calls, duration < 1h ? 1 : 0) << "one that was given up is not called";
  }
}

TEST(Durations, MeetTimeouts) {
  TestEnvironment env(impatient());
  env.mock_activity(kWork, [](ActivityContext&, int n) { return n; });
  env.set_activity_duration("Work", TestEnvironment::kForEver);
  EXPECT_EQ(env.run("a", "Impatient").result<std::string>(), "given up");
  EXPECT_EQ(passed(env), 1h);
  EXPECT_THAT(env.run("b", "Bounded").result<std::string>(), HasSubstr("did not end within"));
  EXPECT_EQ(passed(env), 3h);
  EXPECT_THAT(env.run("c", "Listening").result<std::string>(), HasSubstr("sent no heartbeat"));
  EXPECT_EQ(passed(env), 6h);
}

// What an asynchronous activity plans is taken for its end, so that time passes while it is under way.
TEST(Durations, FollowFromWhatAnActivityPlans) {
  TestEnvironment env(caller());
  env.mock_async_activity("Work", [&env](ActivityContext, int n, ActivityCompletion<int> done) {
    env.after(1h, [&env, n, done] { env.after(1h, [n, done] { done.complete(n + 1); }); });
  });
  EXPECT_EQ(env.run("i", "Caller", 1).result<int>(), 2);
  EXPECT_EQ(passed(env), 2h);
}

TEST(Durations, AreSurvivedWithHeartbeats) {
  TestEnvironment env(impatient());
  env.mock_async_activity("Work", [&env](ActivityContext ctx, int n, ActivityCompletion<int> done) {
    for (const int hour : {2, 4, 6}) env.after(std::chrono::hours(hour), [ctx, hour] { ctx.heartbeat(hour); });
    env.after(7h, [n, done] { done.complete(n); });
  });
  EXPECT_EQ(env.run("i", "Listening").result<std::string>(), "done");
  EXPECT_EQ(passed(env), 7h);
}

TEST(Durations, OfSeveralActivitiesOverlap) {
  Registry registry;
  registry.add_orchestration("Both", [](Ctx ctx) -> Orchestration<void> {
    co_await join{ctx.schedule_activity<int>("Short", 1), ctx.schedule_activity<int>("Long", 1)};
  });
  TestEnvironment env(registry);
  for (const char* name : {"Short", "Long"}) env.mock_activity(name, [](ActivityContext&, int n) { return n; });
  env.set_activity_duration("Short", 2h).set_activity_duration("Long", 5h);
  EXPECT_TRUE(env.run("i", "Both").completed());
  EXPECT_EQ(passed(env), 5h);
}

TEST(AsynchronousActivities, AreCompletedAtOnceOrLaterByTheTest) {
  TestEnvironment env(caller());
  env.mock_async_activity("Work", [](ActivityContext, int n, ActivityCompletion<int> done) { done.complete(n * 2); });
  EXPECT_EQ(env.run("i", "Caller", 21).result<int>(), 42);
  EXPECT_EQ(passed(env), 0ms);
}

}  // namespace
}  // namespace perdure::test
