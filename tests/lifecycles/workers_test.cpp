// Activities of instances that come and go: an outcome belongs to the activity that was scheduled, whichever node ran
// it and how often. Time passes and nodes die while activities run, so these worlds have no threads.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lifecycles/moments.h"

namespace perdure::test {
namespace {

using Workers = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(Workers);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Workers);

// Activities that were started and that a test completes.
struct HeldActivities {
  struct Run {
    std::string input;
    std::string last_heartbeat;
    ActivityCompletion<std::string> completion;
  };
  std::vector<Run> runs;
};

// Holder(text): completes with what the held activity makes of it.
Registry with_held(const std::shared_ptr<HeldActivities>& held) {
  Registry registry;
  registry.add_async_activity(
      "Held", [held](ActivityContext context, std::string input, ActivityCompletion<std::string> completion) {
        held->runs.push_back({input, context.last_heartbeat<std::string>().value_or("none"), completion});
        context.heartbeat(input);
      });
  registry.add_orchestration("Holder", [](OrchestrationContext ctx, std::string text) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Held", text);
  });
  return registry;
}

// Client::delete_instance with force: "whatever runs is told to stop, and nothing of it stays".
TEST_P(Workers, ALateOutcomeOfADeletedInstanceIsNobodysResult) {
  World world(GetParam());
  const auto held = std::make_shared<HeldActivities>();
  world.start_node(with_held(held));
  world.start_node(with_held(held));
  world.client().start_orchestration("i", "Holder", "old");
  world.settle();
  world.advance(2s);  // its heartbeat is written
  world.client().delete_instance("i", true);
  world.client().start_orchestration("i", "Holder", "new");
  world.settle();
  ASSERT_EQ(held->runs.size(), 2U);
  EXPECT_EQ(held->runs[1].input, "new");
  EXPECT_EQ(held->runs[1].last_heartbeat, "none");
  held->runs[0].completion.complete("the old one's");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  held->runs[1].completion.complete("the new one's");
  EXPECT_EQ(world.wait("i").result<std::string>(), "the new one's");
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

TEST_P(Workers, ALateOutcomeOfAReplacedInstanceIsNobodysResult) {
  World world(GetParam());
  const auto held = std::make_shared<HeldActivities>();
  world.start_node(with_held(held));
  world.client().start_orchestration("i", "Holder", "old");
  world.settle();
  world.client().terminate_instance("i", "by hand");
  world.settle();
  EXPECT_EQ(world.client().start_orchestration("i", "Holder", "new", replacing()), StartOutcome::kReplaced);
  held->runs.at(0).completion.complete("the old one's");
  world.settle();
  ASSERT_EQ(held->runs.size(), 2U);
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  held->runs[1].completion.complete("the new one's");
  EXPECT_EQ(world.wait("i").result<std::string>(), "the new one's");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// The same for a timer that an ended execution has left in the queue: it is not the new one's timer.
TEST_P(Workers, ATimerOfTheReplacedInstanceDoesNotFireForTheNewOne) {
  World world(GetParam());
  Registry registry;
  registry.add_orchestration("Sleeper", [](OrchestrationContext ctx, int hours) -> Orchestration<int> {
    const Milliseconds time = std::chrono::hours(hours);
    const auto first = co_await perdure::select{ctx.schedule_timer(time), ctx.dequeue_event<void>("wake")};
    co_return static_cast<int>(first.index());
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Sleeper", 1);
  world.settle();
  world.client().enqueue_event("i", "wake");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed 1");
  world.client().start_orchestration("i", "Sleeper", 3, replacing());
  world.advance(2h);
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  world.advance(2h);
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed 0");
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

// RetryPolicy(n): n attempts and no more, "the last error is the result", whenever the node dies. A death repeats the
// activity that it met, "without a policy".
TEST_P(Workers, ARetryPolicyCountsItsOwnAttemptsOnly) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    const auto ids = std::make_shared<std::map<EventId, int>>();
    Registry registry;
    registry.add_activity("Fails", [ids](ActivityContext& context) -> int {
      ++(*ids)[context.activity_id()];
      throw std::runtime_error("failure " + std::to_string(ids->size()));
    });
    registry.add_orchestration("Stubborn", [](OrchestrationContext ctx) -> Orchestration<std::string> {
      const auto options = ActivityOptions().retry(RetryPolicy(3).backoff(Backoff::fixed(10ms)));
      const auto outcome = co_await ctx.schedule_activity<int>("Fails", options).as_result();
      co_return outcome.error().message();
    });
    RuntimeOptions patient;
    patient.max_attempts = 1'000;
    auto& mortal = world.start_node(registry, patient);
    world.client().start_orchestration("i", "Stubborn");
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    world.start_node(registry, patient);
    EXPECT_EQ(world.wait("i").result<std::string>(), "failure 3");
    EXPECT_EQ(ids->size(), 3U);
    return reached;
  });
}

// Guide: "Shut nodes down ...: they finish what has begun and give back the rest, uncounted." max_attempts is 1, so
// that one attempt that counted would end the instance as poison.
TEST_P(Workers, AnOrderlyShutdownAtAnyMomentCostsNoAttempt) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    RuntimeOptions impatient;
    impatient.max_attempts = 1;
    auto& first = world.start_node(whole_life(), impatient);
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.stop_node(first);
    world.start_node(whole_life(), impatient);
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 111");
    expect_deletable(world, "w");
    return reached;
  });
}

// Guide: "If the node dies, the session moves to another one". Its instance is deleted and restarted in between.
TEST_P(Workers, ASessionServesTheNextInstanceOfTheSameIdToo) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    Registry registry;
    registry.add_activity("Echo", [](ActivityContext&, int n) { return n; });
    registry.add_orchestration("Trains", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
      const auto options = ActivityOptions().session("gpu");
      int sum = 0;
      for (int i = 0; i < 3; ++i) sum += co_await ctx.schedule_activity<int>("Echo", n, options);
      co_return sum;
    });
    RuntimeOptions patient;
    patient.max_attempts = 1'000;
    auto& mortal = world.start_node(registry, patient);
    world.start_node(registry, patient);
    world.client().start_orchestration("i", "Trains", 1);
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    world.client().delete_instance("i", true);
    world.client().start_orchestration("i", "Trains", 100);
    EXPECT_EQ(world.wait("i").result<int>(), 300);
    expect_deletable(world, "i");
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
