// A process that dies in a test environment: workflows survive it, and what it had locked comes back when the locks
// end.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Registry counting() {
  Registry registry;
  registry.add_orchestration("Counts", [](Ctx ctx) -> Orchestration<int> {
    int sum = 0;
    for (int i = 1; i <= 3; ++i) {
      sum += co_await ctx.schedule_activity<int>("Work", i);
      ctx.set_kv_value("sum", sum);
      co_await ctx.schedule_timer(24h);
    }
    co_return sum;
  });
  return registry;
}

TEST(ARestart, LeavesWorkflowsWhereTheyWere) {
  TestEnvironment env(counting());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n * 10; });
  env.start("i", "Counts");
  env.advance(36h);
  EXPECT_EQ(env.client().get_kv_value<int>("i", "sum"), 30);
  env.restart();
  EXPECT_EQ(env.wait("i").result<int>(), 60);
  EXPECT_EQ(passed(env), 72h);
  EXPECT_THAT(env.inputs<int>("Work"), ElementsAre(1, 2, 3)) << "nothing ran twice";
  EXPECT_EQ(env.client().list_nodes().size(), 2U);
}

TEST(ARestart, CanHappenAtAnyTime) {
  TestEnvironment env(counting());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n * 10; });
  for (int hour = 1; hour < 72; hour += 7) env.after(std::chrono::hours(hour), [&] { env.restart(); });
  EXPECT_EQ(env.run("i", "Counts").result<int>(), 60);
  EXPECT_EQ(passed(env), 72h);
}

// The worker's lock, 30 s from the moment of the crash, must end before another process may try again.
TEST(ARestart, InsideOfAnActivityLosesItsOutcome) {
  TestEnvironment env(caller());
  int charges = 0;
  env.mock_activity("Work", [&](ActivityContext& ctx, int n) {
    if (++charges == 1) env.restart();
    EXPECT_EQ(ctx.attempt(), static_cast<std::uint32_t>(charges));
    return n;
  });
  EXPECT_EQ(env.run("i", "Caller", 5).result<int>(), 5);
  EXPECT_EQ(charges, 2);
  EXPECT_EQ(passed(env), 30s);
}

// A living node would have renewed the lock every 15 s, the last time at 2:00:00.
TEST(ARestart, LeavesTheLocksThatALivingProcessWouldHaveHad) {
  TestEnvironment env(caller());
  int ended = 0;
  env.mock_activity("Work", [&](ActivityContext&, int n) {
    ++ended;
    return n;
  });
  env.set_activity_duration("Work", 3h);
  env.start("i", "Caller", 5);
  env.advance(2h + 4s);
  env.restart();
  EXPECT_EQ(env.wait("i").result<int>(), 5);
  std::vector<Milliseconds> times;
  for (const ActivityRun& call : env.calls("Work")) times.push_back(passed(call.at));
  EXPECT_THAT(times, ElementsAre(0h, 2h + 30s));
  EXPECT_EQ(passed(env), 5h + 30s);
  EXPECT_EQ(ended, 1) << "the dead process does nothing any more";
}

// What an activity has set going in the world outside goes on, but an outcome that comes to the dead process is lost.
TEST(ARestart, DoesNotStopTheWorldOutside) {
  TestEnvironment env(caller());
  std::vector<std::string> heard;
  env.mock_async_activity("Work", [&](ActivityContext ctx, int n, ActivityCompletion<int> done) {
    env.after(1h, [&heard, worker = ctx.worker_id(), n, done] {
      heard.push_back(worker);
      done.complete(n);
    });
  });
  env.after(10min, [&] { env.restart(); });
  EXPECT_EQ(env.run("i", "Caller", 5).result<int>(), 5);
  EXPECT_THAT(heard, ElementsAre("test-process-1", "test-process-2"));
  EXPECT_EQ(passed(env), 70min + 30s);
}

TEST(ARestart, OfANodeInTheMiddleOfAMomentLosesItsLocks) {
  Registry registry;
  int turns = 0;
  TestEnvironment* environment = nullptr;
  registry.add_orchestration("Dies", [&](Ctx ctx) -> Orchestration<int> {
    if (++turns == 1) environment->restart();
    co_await ctx.schedule_timer(1s);
    co_return turns;
  });
  TestOptions options;
  options.runtime.orchestrator_lock_timeout = 7s;
  TestEnvironment env(registry, options);
  environment = &env;
  EXPECT_EQ(env.run("i", "Dies").result<int>(), 2);
  EXPECT_EQ(passed(env), 8s) << "its turn was never committed, and its lock had to end";
}

// The session belongs to the dead process until the lock of the session ends.
TEST(ARestart, FreesSessionsWhenTheirLocksEnd) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext& ctx) { return ctx.worker_id(); });
  registry.add_orchestration("InASession", [](Ctx ctx) -> Orchestration<std::string> {
    const ActivityOptions options = ActivityOptions().session("s");
    std::string workers = co_await ctx.schedule_activity<std::string>("Work", options);
    co_await ctx.schedule_wait<int>("go");
    workers += " " + co_await ctx.schedule_activity<std::string>("Work", options);
    co_return workers;
  });
  for (const bool named : {false, true}) {
    TestOptions options;
    if (named) options.runtime.worker_node_id = "me";
    TestEnvironment env(registry, options);
    env.start("i", "InASession");
    env.advance(1s);
    env.restart();
    env.client().raise_event("i", "go", 1);
    EXPECT_EQ(env.wait("i").result<std::string>(), named ? "me me" : "test-process-1 test-process-2");
    EXPECT_EQ(passed(env), named ? 1s : 30s) << "a process with a name takes its sessions up again";
  }
}

TEST(ARestart, CanBringOtherCode) {
  TestEnvironment env(approval());
  env.start("i", "Approval");
  env.advance(1min);
  Registry changed;
  changed.add_orchestration("Approval", [](Ctx ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_timer(2h);
    co_return std::string("changed");
  });
  env.restart(changed);
  const auto status = env.wait("i");
  EXPECT_THAT(status.error_text(), HasSubstr("ExternalSubscribed"));

  Registry wrong;
  for (int i = 0; i < 2; ++i) wrong.add_activity("Same", [](ActivityContext&) { return 1; });
  EXPECT_THROW(env.restart(wrong), std::invalid_argument);
}

TEST(ARestart, KeepsTheMocks) {
  TestEnvironment env(caller());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n + 1; });
  EXPECT_EQ(env.run("a", "Caller", 1).result<int>(), 2);
  env.restart(caller());
  EXPECT_EQ(env.run("b", "Caller", 2).result<int>(), 3);
}

TEST(ARestart, IsRefusedWhileAnActivityWaitsForAWorkflow) {
  Registry registry = approval();
  registry.add_activity("Ask", [](ActivityContext& ctx) {
    ctx.client().start_orchestration("other", "Approval");
    return ctx.client().wait_for_orchestration("other", 72h).result<std::string>();
  });
  registry.add_orchestration("Asks", [](Ctx ctx) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Ask");
  });
  TestEnvironment env(registry);
  bool refused = false;
  env.after(1min, [&] {
    try {
      env.restart();
    } catch (const std::logic_error&) {
      refused = true;
    }
  });
  EXPECT_EQ(env.run("i", "Asks").result<std::string>(), "too late");
  EXPECT_TRUE(refused);
}

// The key of an effect depends neither on the node that attempts it nor on the reason.
TEST(ARestart, LeavesTheIdempotencyKeyAsItIs) {
  Registry registry;
  registry.add_orchestration("Caller", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Work", ActivityOptions().retry(RetryPolicy(3)));
  });
  TestEnvironment env(registry);
  std::vector<std::string> keys;
  std::vector<std::uint32_t> attempts;
  env.mock_activity("Work", [&](ActivityContext& ctx) {
    keys.push_back(ctx.idempotency_key());
    attempts.push_back(ctx.attempt());
    if (keys.size() == 1) env.restart();
    if (keys.size() == 2) throw std::runtime_error("the bank is closed");
    return 5;
  });
  EXPECT_EQ(env.run("i", "Caller").result<int>(), 5);
  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_THAT(keys, ::testing::Each(keys.front()));
}

}  // namespace
}  // namespace perdure::test
