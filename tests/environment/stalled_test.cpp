// A test that waits for what cannot come is told what is missing; it never hangs.
#include <string>

#include "environment/scene.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AStalledWait, NamesAnEventThatNobodyRaises) {
  Registry registry;
  registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_wait<std::string>("heard");
    co_await ctx.schedule_timer(1h);
    co_await ctx.schedule_wait<std::string>("missing");
  });
  TestEnvironment env(registry);
  env.raise_event_after(1min, "i", "heard", "x");
  env.raise_event_after(2min, "i", "missing", "nobody waits for it yet, so it is lost");
  EXPECT_THAT(stall_of([&] { env.run("i", "Waits"); }),
              AllOf(HasSubstr("instance 'i' of 'Waits' has not ended at 0d 01:01:00.000"),
                    HasSubstr("event 'missing' (7): raise it with raise_event_after()"),
                    Not(HasSubstr("event 'heard'")), HasSubstr("Its history:"), HasSubstr("TimerFired")));
  EXPECT_EQ(passed(env), 61min) << "time does not pass without a reason";
  env.client().raise_event("i", "missing", "now");
  EXPECT_TRUE(env.wait("i").completed());
}

TEST(AStalledWait, NamesAQueueThatStaysEmpty) {
  Registry registry;
  registry.add_orchestration("Reads", [](Ctx ctx, bool first) -> Orchestration<void> {
    co_await ctx.dequeue_event<int>("orders");
    if (first) co_await ctx.continue_as_new(false);
    co_await ctx.dequeue_event<int>("orders");
    co_await ctx.dequeue_event<int>("orders");
  });
  TestEnvironment env(registry);
  env.start("i", "Reads", true);
  for (int i = 0; i < 3; ++i) env.client().enqueue_event("i", "orders", i);
  EXPECT_THAT(stall_of([&] { env.wait("i"); }),
              AllOf(HasSubstr("a message of queue 'orders' (6): send it with client().enqueue_event()"),
                    Not(HasSubstr("(4)")), Not(HasSubstr("(5)"))));
  env.client().enqueue_event("i", "orders", 4);
  EXPECT_TRUE(env.wait("i").completed());
}

TEST(AStalledWait, NamesAnActivityWhoseTagNobodyServes) {
  Registry registry;
  registry.add_activity("Render", [](ActivityContext&) { return 1; });
  registry.add_orchestration("Tagged", [](Ctx ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Render", ActivityOptions().tag("gpu"));
  });
  TestEnvironment env(registry);
  EXPECT_THAT(stall_of([&] { env.run("i", "Tagged"); }),
              AllOf(HasSubstr("activity 'Render' (2): it has tag 'gpu', which this environment does not serve"),
                    HasSubstr("worker_tag_filter")));
  EXPECT_EQ(passed(env), 0ms);
}

TEST(AStalledWait, NamesAnActivityThatNeverEnds) {
  TestEnvironment env(caller());
  env.mock_activity("Work", [](ActivityContext&, int n) { return n; });
  env.set_activity_duration("Work", TestEnvironment::kForEver);
  EXPECT_THAT(stall_of([&] { env.run("i", "Caller", 1); }),
              HasSubstr("activity 'Work' (2): it has been started and never ends"));
  EXPECT_EQ(passed(env), 0ms);
}

TEST(AStalledWait, LooksIntoChildren) {
  Registry registry = approval();
  registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_wait<int>("sign"); });
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<void>("Waits", SubOrchestrationOptions().instance_id("kid"));
  });
  TestEnvironment env(registry);
  EXPECT_THAT(stall_of([&] { env.run("i", "Parent"); }),
              AllOf(HasSubstr("  child 'kid' (2), which waits for\n"), HasSubstr("    event 'sign' (2)")));
}

TEST(AStalledWait, NamesAnInstanceThatThisNodeDoesNotTake) {
  TestOptions options;
  options.runtime.fetch_only_registered = true;
  TestEnvironment env(approval(), options);
  EXPECT_THAT(stall_of([&] { env.run("i", "Nobody"); }), HasSubstr("does not fetch instances of 'Nobody'"));
}

TEST(AStalledWait, NamesAnInstanceThatDoesNotExist) {
  TestEnvironment env(approval());
  EXPECT_THAT(stall_of([&] { env.wait("typo"); }),
              AllOf(HasSubstr("instance 'typo' does not exist"), HasSubstr("there is no instance at all")));
  EXPECT_TRUE(env.run("right", "Approval").completed());
  EXPECT_THAT(stall_of([&] { env.wait("typo"); }), HasSubstr("those that do: 'right'"));
}

TEST(AWait, IsForAnInstanceThatSomebodyWillStart) {
  TestEnvironment env(approval());
  env.after(3h, [&] { env.start("i", "Approval"); });
  EXPECT_EQ(env.wait("i").result<std::string>(), "too late");
  EXPECT_EQ(passed(env), 4h);
}

TEST(LoopsWithoutEnd, AreFound) {
  Registry registry = approval();
  registry.add_orchestration("Round", [](Ctx ctx) -> Orchestration<void> { co_await ctx.continue_as_new(); });
  registry.add_orchestration("Hourly", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_timer(1h);
    co_await ctx.continue_as_new();
  });
  TestOptions options;
  options.max_steps = 2'000;
  {
    TestEnvironment env(registry, options);
    EXPECT_THAT(stall_of([&] { env.run("i", "Round"); }),
                AllOf(HasSubstr("after 2000 steps"), HasSubstr("TestOptions::max_steps")));
    EXPECT_EQ(passed(env), 0ms);
  }
  {
    TestEnvironment env(registry, options);
    env.start("hourly", "Hourly");
    EXPECT_THAT(stall_of([&] { env.wait("nobody"); }), HasSubstr("events still occur"));
    EXPECT_THAT(stall_of([&] { env.client().wait_for_orchestration("hourly", Milliseconds::max()); }),
                HasSubstr("events still occur"));
  }
}

TEST(Environments, RefuseWhatMakesNoSense) {
  Registry twice;
  for (int i = 0; i < 2; ++i) twice.add_activity("Same", [](ActivityContext&) { return 1; });
  EXPECT_THROW(TestEnvironment{twice}, std::invalid_argument);
  TestOptions options;
  options.runtime.worker_concurrency = 0;
  EXPECT_THROW(TestEnvironment(Registry(), options), std::invalid_argument);
  options = {};
  options.max_steps = 0;
  EXPECT_THROW(TestEnvironment(Registry(), options), std::invalid_argument);
}

}  // namespace
}  // namespace perdure::test
