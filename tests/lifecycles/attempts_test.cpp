// Attempts of activities over timeouts, retries, nodes and executions. Time passes while they run, so these worlds have
// no threads.
#include "lifecycles/held_activities.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Text = std::string;

class Attempts : public ::testing::TestWithParam<WorldKind> {
 protected:
  // Tries(): the outcome of "Held" with these options, as text.
  Registry trying(ActivityOptions options) {
    Registry registry;
    add_held(registry, held);
    registry.add_orchestration("Tries", [options](OrchestrationContext ctx) -> Orchestration<Text> {
      const auto outcome = co_await ctx.schedule_activity<Text>("Held", options).as_result();
      if (outcome) co_return *outcome;
      co_return (outcome.error().is_timeout() ? "timeout: " : "failed: ") + outcome.error().message();
    });
    return registry;
  }
  void begin(const ActivityOptions& options) {
    world.start_node(trying(options));
    world.client().start_orchestration("i", "Tries");
    world.settle();
  }
  [[nodiscard]] Text outcome() {
    world.settle();
    const OrchestrationStatus status = world.client().get_orchestration_status("i");
    return status.completed() ? status.result<Text>() : Text(to_string(status.state));
  }

  World world{GetParam()};
  HeldAttempts held = std::make_shared<std::vector<HeldAttempt>>();
};
INSTANTIATE_TEST_SUITE_P(Worlds, Attempts, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Attempts);

RetryPolicy three_attempts() {
  return RetryPolicy(3).backoff(Backoff::fixed(10s));
}

// Guide: an attempt that runs too long or is silent for too long "failed", and a policy repeats it. last_heartbeat:
// "What the attempt before this one left".
TEST_P(Attempts, EveryTimeoutLeavesItsProgressToTheNext) {
  begin(ActivityOptions().timeout(1min).heartbeat_timeout(20s).retry(three_attempts()));
  ASSERT_EQ(held->size(), 1U);
  EXPECT_EQ(held->at(0).found(), "1 after nothing");
  held->at(0).context.heartbeat("a third");
  world.advance(20s);
  EXPECT_TRUE(held->at(0).context.is_cancelled());
  world.advance(10s);
  ASSERT_EQ(held->size(), 2U);
  EXPECT_EQ(held->at(1).found(), "2 after a third");
  for (int i = 0; i < 4; ++i) {
    held->at(1).context.heartbeat(i < 3 ? "half" : "two thirds");
    world.advance(15s);
  }
  EXPECT_TRUE(held->at(1).context.is_cancelled()) << "its minute is over";
  world.advance(10s);
  ASSERT_EQ(held->size(), 3U);
  EXPECT_EQ(held->at(2).found(), "3 after two thirds");
  held->at(0).completion.complete("the first one's");
  held->at(1).completion.fail("the second one's", false);
  EXPECT_EQ(outcome(), "Running");
  held->at(2).completion.complete("the third one's");
  EXPECT_EQ(outcome(), "the third one's");
}

// RetryPolicy::total_timeout: "Bounds all attempts and waits together". It ends a pause at its time, not after it.
TEST_P(Attempts, TheTotalTimeoutEndsAPause) {
  begin(ActivityOptions().retry(RetryPolicy(5).backoff(Backoff::fixed(1h)).total_timeout(90min)));
  held->at(0).completion.fail("no");
  world.advance(1h);
  ASSERT_EQ(held->size(), 2U);
  held->at(1).completion.fail("no");
  world.advance(30min - 1ms);
  EXPECT_EQ(outcome(), "Running");
  world.advance(1ms);
  EXPECT_THAT(outcome(), StartsWith("timeout: "));
  world.advance(2h);
  EXPECT_EQ(held->size(), 2U);
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

// Guide: "An activity that throws perdure::NonRetryableError is not tried again", whatever attempts failed before.
TEST_P(Attempts, ANonRetryableFailureEndsLaterAttempts) {
  begin(ActivityOptions().retry(three_attempts()));
  held->at(0).completion.fail("try again");
  world.advance(10s);
  ASSERT_EQ(held->size(), 2U);
  held->at(1).completion.fail("never", false);
  EXPECT_EQ(outcome(), "failed: never");
}

// Guide: cancelling "ends an instance with everything it has started". A pause between attempts is no obstacle.
TEST_P(Attempts, ACancelEndsAPauseAtOnce) {
  begin(ActivityOptions().retry(three_attempts()));
  held->at(0).completion.fail("no");
  world.settle();
  world.client().cancel_instance("i", "by hand");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Cancelled: cancelled: by hand");
  world.advance(1min);
  EXPECT_EQ(held->size(), 1U);
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

// Guide: continue-as-new "begins an execution". The attempts of the one before end with it, and count for nothing.
TEST_P(Attempts, ANewExecutionBeginsWithTheFirstAttempt) {
  Registry registry;
  add_held(registry, held);
  registry.add_orchestration("Again", [](OrchestrationContext ctx) -> Orchestration<Text> {
    auto work = ctx.schedule_activity<Text>("Held", ActivityOptions().retry(RetryPolicy(2).backoff(Backoff::none())));
    const auto first = co_await perdure::select{work, ctx.dequeue_event<void>("again")};
    if (first.index() == 1) co_return ctx.continue_as_new();
    co_return std::get<0>(first);
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Again");
  world.settle();
  held->at(0).context.heartbeat("half");
  world.advance(2s);
  held->at(0).completion.fail("no");
  world.settle();
  ASSERT_EQ(held->size(), 2U);
  EXPECT_EQ(held->at(1).found(), "2 after half");
  world.client().enqueue_event("i", "again");
  world.settle();
  ASSERT_EQ(held->size(), 3U);
  EXPECT_TRUE(held->at(1).context.is_cancelled());
  EXPECT_EQ(held->at(2).found(), "1 after nothing");
  EXPECT_NE(held->at(2).context.idempotency_key(), held->at(1).context.idempotency_key());
  held->at(1).completion.complete("of the old execution");
  EXPECT_EQ(outcome(), "Running");
  held->at(2).completion.complete("of the new execution");
  EXPECT_EQ(outcome(), "of the new execution");
}

// ActivityCompletion: "the first outcome counts", and complete() returns false if "the activity has ended already".
TEST_P(Attempts, ASecondCompletionIsRefused) {
  begin(ActivityOptions());
  EXPECT_TRUE(held->at(0).completion.complete("first"));
  EXPECT_FALSE(held->at(0).completion.complete("second"));
  EXPECT_FALSE(held->at(0).completion.fail("third"));
  EXPECT_EQ(outcome(), "first");
  EXPECT_FALSE(held->at(0).completion.complete("fourth"));
  world.client().delete_instance("i");
  held->clear();
  world.settle();
  expect_nothing_left(world.client());
}

// Guide: a node that is killed "costs its work the end of the locks, and nothing else". The attempt that follows finds
// the details that were written, and the late outcome of the dead node's attempt does not count.
TEST_P(Attempts, AnotherNodeContinuesAfterADeath) {
  const auto options = ActivityOptions().retry(three_attempts());
  auto& mortal = world.start_node(trying(options));
  world.client().start_orchestration("i", "Tries");
  world.settle();
  held->at(0).completion.fail("no");
  world.advance(10s);
  ASSERT_EQ(held->size(), 2U);
  held->at(1).context.heartbeat("half");
  world.advance(2s);
  world.kill_node(mortal);
  world.start_node(trying(options));
  world.advance(31s);
  ASSERT_EQ(held->size(), 3U);
  EXPECT_EQ(held->at(2).found(), "3 after half");
  EXPECT_EQ(held->at(2).context.activity_id(), held->at(1).context.activity_id());
  held->at(1).completion.complete("of the dead");
  EXPECT_EQ(outcome(), "Running");
  held->at(2).completion.fail("no");
  world.advance(10s);
  ASSERT_EQ(held->size(), 4U) << "a death is not an attempt of the policy";
  EXPECT_EQ(held->at(3).found(), "4 after half");
  held->at(3).completion.fail("at last");
  EXPECT_EQ(outcome(), "failed: at last");
}

// Guide: "The engine requests a stop when the result is no longer needed: the orchestration dropped or cancelled it".
TEST_P(Attempts, ADroppedRetryStopsItsRunningAttempt) {
  Registry registry;
  add_held(registry, held);
  registry.add_orchestration("Drops", [](OrchestrationContext ctx) -> Orchestration<Text> {
    {
      auto work = ctx.schedule_activity<Text>("Held", ActivityOptions().retry(three_attempts()));
      co_await ctx.dequeue_event<void>("drop");
    }
    co_await ctx.dequeue_event<void>("end");
    co_return "dropped";
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Drops");
  world.settle();
  held->at(0).completion.fail("no");
  world.advance(10s);
  ASSERT_EQ(held->size(), 2U);
  world.client().enqueue_event("i", "drop");
  world.settle();
  EXPECT_TRUE(held->at(1).context.is_cancelled());
  held->at(1).completion.fail("no");
  world.advance(1h);
  EXPECT_EQ(held->size(), 2U);
  world.client().enqueue_event("i", "end");
  EXPECT_EQ(outcome(), "dropped");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// Future::detach: the operation "survives a normal end of the orchestration". Its outcome then changes nothing.
TEST_P(Attempts, ADetachedActivityOutlivesItsInstance) {
  Registry registry;
  add_held(registry, held);
  registry.add_orchestration("Detaches", [](OrchestrationContext ctx, Text end) -> Orchestration<int> {
    ctx.schedule_activity<Text>("Held").detach();
    co_await ctx.schedule_timer(1s);
    if (end == "fail") throw OrchestrationError("as asked");
    if (end == "continue" && ctx.execution_id() == 1) co_return ctx.continue_as_new("complete");
    co_return 1;
  });
  world.start_node(registry);
  for (const char* end : {"complete", "fail", "continue"}) world.client().start_orchestration(end, "Detaches", end);
  for (int i = 0; i < 3; ++i) world.advance(1s);
  ASSERT_EQ(held->size(), 4U);
  for (const HeldAttempt& attempt : *held) EXPECT_FALSE(attempt.context.is_cancelled());
  for (int i = 0; i < 60; ++i) world.advance(10s);
  EXPECT_EQ(held->size(), 4U) << "the locks of all are kept";
  for (const HeldAttempt& attempt : *held) attempt.completion.complete("late");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "complete"), "Completed 1");
  EXPECT_EQ(outcome_of(world.client(), "fail"), "Failed: as asked");
  EXPECT_EQ(outcome_of(world.client(), "continue"), "Completed 1");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

}  // namespace
}  // namespace perdure::test
