// Starting, signalling, cancelling and terminating at every moment of a life; and lives whose node dies at every
// moment.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;
using State = OrchestrationState;

using Control = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Control);
using SteppedControl = InEveryWorld;
INSTANTIATE_TEST_SUITE_P(Worlds, SteppedControl, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

State current_state(World& world, const std::string& instance) {
  return world.client().get_orchestration_status(instance).state;
}

// An activity that runs until it is told to stop, and then ends with a result that nobody wants.
struct SlowWork {
  // Where there are threads a world does not settle while an activity runs.
  void await_started(World& world, int count) {
    if (!world.kind().threads) world.settle();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return started >= count || !world.kind().threads; });
    EXPECT_EQ(started, count);
  }

  std::mutex mutex;
  std::condition_variable changed;
  int started = 0;
  std::atomic<int> stopped = 0;
  std::list<std::stop_callback<std::function<void()>>> callbacks;
};

// Waits for what its input names.
Orchestration<int> busy(Ctx ctx, std::string what) {
  ctx.trace_info(ctx.instance_id() + " runs");
  if (what == "a timer") co_await ctx.schedule_timer(24h * 365);
  if (what == "an event") co_return co_await ctx.schedule_wait<int>("event");
  if (what == "a message") co_return co_await ctx.dequeue_event<int>("queue");
  if (what == "an activity") co_return co_await ctx.schedule_activity<int>("SlowWork");
  if (what == "a worker") {
    const auto options = ActivityOptions().tag("nobody serves it");
    co_return co_await ctx.schedule_activity<int>("SlowWork", options);
  }
  if (what == "a child") {
    const auto options = SubOrchestrationOptions().instance_id("child of " + ctx.instance_id());
    co_return co_await ctx.schedule_sub_orchestration<int>("Busy", std::string("an event"), options);
  }
  if (what == "the next version") co_return ctx.continue_as_new(what, StartOptions().version("9.9.9"));
  if (what == "the next execution") co_return ctx.continue_as_new(std::string("an event"));
  if (what == "a last word") {
    if (co_await ctx.schedule_wait<bool>("go on")) co_return ctx.continue_as_new(std::string("an event"));
  }
  co_return 0;
}

Registry with_slow(const std::shared_ptr<SlowWork>& slow) {
  Registry registry;
  registry.add_async_activity("SlowWork", [slow](ActivityContext context, ActivityCompletion<int> completion) {
    const std::scoped_lock lock(slow->mutex);
    ++slow->started;
    slow->changed.notify_all();
    const auto on_stop = [it = slow.get(), completion] { it->stopped += completion.complete(1) ? 1 : 0; };
    slow->callbacks.emplace_back(context.stop_token(), on_stop);
  });
  return registry;
}

Registry office(const std::shared_ptr<SlowWork>& slow = std::make_shared<SlowWork>()) {
  return with_slow(slow).add_orchestration("Busy", busy);
}

void end(World& world, const std::string& instance, State how) {
  if (how == State::kCancelled) world.client().cancel_instance(instance, "enough of " + instance);
  if (how == State::kTerminated) world.client().terminate_instance(instance, "enough of " + instance);
}

constexpr State kEnds[] = {State::kCancelled, State::kTerminated};

TEST_P(Control, EndsWhateverTheInstanceWaitsForAtOnce) {
  world.start_node(office());
  std::map<std::string, State> ends;
  for (const std::string what :
       {"a timer", "an event", "a message", "a worker", "a child", "the next version", "code"}) {
    for (const State how : kEnds) {
      const std::string id = what + ", " + std::string(to_string(how));
      world.client().start_orchestration(id, what == "code" ? "Unknown" : "Busy", what);
      ends[id] = how;
    }
  }
  world.advance(10s);
  for (const auto& [id, how] : ends) end(world, id, how);
  world.settle();
  for (const auto& [id, how] : ends) {
    EXPECT_EQ(current_state(world, id), how) << id;
    EXPECT_THAT(world.client().get_orchestration_status(id).error_text(), HasSubstr("enough of " + id));
    EXPECT_EQ(world.client().list_executions(id).size(), id.starts_with("the next version") ? 2U : 1U) << id;
    const State child = id.starts_with("a child") ? State::kCancelled : State::kNotFound;
    EXPECT_EQ(current_state(world, "child of " + id), child) << id;
  }
  EXPECT_THAT(world.event_kinds("code, " + std::string(to_string(State::kCancelled))),
              ElementsAre("OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"));
  world.advance(24h * 366);  // the timers are found to be of no use when they fire
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Control, ARunningActivityIsToldToStopAndItsLateResultIsDroppedInSilence) {
  const auto slow = std::make_shared<SlowWork>();
  Registry registry = office(slow);
  registry.add_orchestration("Race", [](Ctx ctx) -> Orchestration<int> {
    auto first = co_await perdure::select{ctx.schedule_activity<int>("SlowWork"), ctx.schedule_wait<int>("event")};
    co_await ctx.schedule_timer(1min);
    co_return first.index() == 1 ? std::get<1>(first) : -1;
  });
  world.start_node(registry);
  world.client().start_orchestration("race", "Race");
  for (const char* id : {"cancelled", "terminated"}) world.client().start_orchestration(id, "Busy", "an activity");
  slow->await_started(world, 3);
  world.client().raise_event("race", "event", 5);
  end(world, "cancelled", State::kCancelled);
  end(world, "terminated", State::kTerminated);
  world.settle();
  EXPECT_EQ(slow->stopped, 3);
  EXPECT_EQ(current_state(world, "cancelled"), State::kCancelled);
  EXPECT_EQ(current_state(world, "terminated"), State::kTerminated);
  EXPECT_EQ(world.wait("race").result<int>(), 5);
  // W23. That two orchestrations failed may be said aloud; of activities there is nothing to say.
  EXPECT_EQ(world.log().count(LogLevel::kWarn), world.log().find("orchestration failed").size());
  EXPECT_EQ(world.log().count(LogLevel::kError), 0U);
  EXPECT_EQ(world.metrics().counter_total(metric::kActivityInfrastructureErrors.name), 0U);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(SteppedControl, WheneverTheCancelComesWhatHasBegunIsToldToStop) {
  for (int steps = 0; steps < 100 && !HasFailure(); ++steps) {
    World each(world.kind());
    const auto slow = std::make_shared<SlowWork>();
    each.start_node(office(slow));
    for (const char* id : {"1", "2", "3", "4", "5"}) each.client().start_orchestration(id, "Busy", "an activity");
    for (int i = 0; i < steps; ++i) each.step();
    for (const char* id : {"1", "2", "3", "4", "5"}) each.client().cancel_instance(id);
    each.advance(1min);
    for (const char* id : {"1", "2", "3", "4", "5"}) EXPECT_EQ(current_state(each, id), State::kCancelled);
    EXPECT_EQ(slow->stopped, slow->started) << "cancelled after " << steps << " steps";
  }
}

// Here and below time passes while an activity runs, which a world with threads does not do.
TEST_P(SteppedControl, AnActivityOnAnotherNodeLearnsOfItWhenItsLockIsRenewed) {
  const auto slow = std::make_shared<SlowWork>();
  RuntimeOptions only_known;
  only_known.fetch_only_registered = true;
  world.start_node(with_slow(slow), only_known);
  world.start_node(Registry().add_orchestration("Busy", busy), only_known);
  world.client().start_orchestration("i", "Busy", "an activity");
  slow->await_started(world, 1);
  EXPECT_EQ(world.metrics().counter_total(metric::kUnregisteredBackoff.name), 0U);
  world.client().cancel_instance("i");
  world.settle();
  EXPECT_EQ(current_state(world, "i"), State::kCancelled);
  EXPECT_EQ(slow->stopped, 0);
  world.advance(15s);
  EXPECT_EQ(slow->stopped, 1);
  EXPECT_EQ(world.metrics().counter_total(metric::kActivityInfrastructureErrors.name), 0U);
}

TEST_P(SteppedControl, AnAsynchronousActivityThatTimesOutIsToldToStopAndMakesRoom) {
  const auto slow = std::make_shared<SlowWork>();
  Registry registry = with_slow(slow);
  registry.add_orchestration("Timeouts", [](Ctx ctx) -> Orchestration<int> {
    int timeouts = 0;
    for (int i = 0; i < 3; ++i) {
      const auto options = ActivityOptions().timeout(1min);
      const auto outcome = co_await ctx.schedule_activity<int>("SlowWork", options).as_result();
      if (!outcome && outcome.error().is_timeout()) ++timeouts;
    }
    co_return timeouts;
  });
  RuntimeOptions options;
  options.max_async_activities = 2;
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Timeouts");
  for (int i = 0; i < 30; ++i) world.advance(10s);  // less than what is left of a lock when it is renewed
  EXPECT_EQ(slow->started, 3);
  EXPECT_EQ(slow->stopped, slow->started);
  EXPECT_EQ(current_state(world, "i"), State::kCompleted);
}

TEST_P(Control, EndsAnInstanceBeforeItsFirstTurn) {
  const auto slow = std::make_shared<SlowWork>();
  for (const char* id : {"cancelled", "terminated"}) {
    world.client().start_orchestration(id, "Busy", "an activity");
    EXPECT_EQ(current_state(world, id), State::kPending);
  }
  end(world, "cancelled", State::kCancelled);
  end(world, "terminated", State::kTerminated);
  world.start_node(office(slow));
  EXPECT_EQ(world.wait("cancelled").state, State::kCancelled);
  EXPECT_EQ(world.wait("terminated").state, State::kTerminated);
  slow->await_started(world, 0);
  // Cancelled code runs once more for what arrived before; terminated code does not.
  EXPECT_EQ(world.log().find("cancelled runs").size(), 1U);
  EXPECT_EQ(world.log().find("terminated runs").size(), 0U);
}

TEST_P(SteppedControl, EndsAnInstanceBetweenTwoExecutions) {
  for (const State how : kEnds) {
    const std::string id(to_string(how));
    auto& node = world.start_node(office());
    world.client().start_orchestration(id, "Busy", "the next execution");
    while (world.event_kinds(id).empty()) ASSERT_TRUE(world.step());
    EXPECT_THAT(world.event_kinds(id), Contains("OrchestrationContinuedAsNew"));
    end(world, id, how);
    world.settle();
    EXPECT_EQ(current_state(world, id), how);
    EXPECT_THAT(world.client().list_executions(id), ElementsAre(1, 2));
    world.stop_node(node);
  }
}

TEST_P(Control, NothingHasAnEffectAfterTheEnd) {
  for (const char* id : {"completed", "cancelled", "terminated"}) world.client().start_orchestration(id, "Busy", id);
  end(world, "cancelled", State::kCancelled);
  end(world, "terminated", State::kTerminated);
  world.start_node(office());
  world.settle();
  for (const char* id : {"completed", "cancelled", "terminated"}) {
    const auto before = world.client().get_orchestration_status(id);
    const auto history = world.event_kinds(id);
    EXPECT_TRUE(before.ended()) << id;
    world.client().cancel_instance(id, "once more");
    world.client().terminate_instance(id, "once more");
    world.client().raise_event(id, "event", 1);
    world.client().enqueue_event(id, "queue", 1);
    world.settle();
    EXPECT_EQ(world.client().get_orchestration_status(id), before) << id;
    EXPECT_EQ(world.event_kinds(id), history) << id;
  }
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(Control, WhatComesInOneBatchIsWeighed) {
  auto& node = world.start_node(office());
  for (const char* id : {"twice", "result", "renewal", "both"}) {
    world.client().start_orchestration(id, "Busy", "a last word");
  }
  world.settle();
  world.stop_node(node);
  const Client& client = world.client();
  client.cancel_instance("twice", "first");
  client.cancel_instance("twice", "second");
  client.raise_event("result", "go on", false);
  client.cancel_instance("result", "too late, and yet");
  client.raise_event("renewal", "go on", true);
  client.cancel_instance("renewal", "too late, and yet");
  client.cancel_instance("both", "gently");
  client.terminate_instance("both", "firmly");
  world.start_node(office());
  EXPECT_THAT(world.wait("twice").error_text(), HasSubstr("first"));
  const std::vector<std::string> kinds = world.event_kinds("twice");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "OrchestrationCancelRequested"), 1);
  // A cancel counts for more than a result or a continuation, a terminate for more than a cancel.
  EXPECT_EQ(world.wait("result").state, State::kCancelled);
  EXPECT_EQ(world.wait("renewal").state, State::kCancelled);
  EXPECT_THAT(client.list_executions("renewal"), ElementsAre(1));
  EXPECT_EQ(world.wait("both").state, State::kTerminated);
}

TEST_P(Control, AnEventReachesWhoeverWaitsWhenItIsTakenAndNobodyElse) {
  const Client& client = world.client();
  client.start_orchestration("with the start", "Busy", "an event");
  client.raise_event("with the start", "event", 1);
  world.start_node(office());
  EXPECT_EQ(world.wait("with the start").result<int>(), 1);
  client.start_orchestration("not yet", "Busy", "a last word");
  world.settle();
  client.raise_event("not yet", "event", 2);  // it waits for another one
  world.settle();
  client.raise_event("not yet", "go on", true);
  world.advance(1h);
  EXPECT_EQ(current_state(world, "not yet"), State::kRunning);
  client.raise_event("not yet", "event", 3);
  EXPECT_EQ(world.wait("not yet").result<int>(), 3);
}

// W27: what nobody will ever take must not stand in the way of others.
TEST_P(Control, MessagesForUnknownInstancesHurtNobody) {
  const Client& client = world.client();
  world.start_node(office());
  client.raise_event("unknown", "event", 1, {.even_if_missing = true});
  client.enqueue_event("unknown", "queue", 1);
  client.cancel_instance("unknown", "early", {.even_if_missing = true});
  client.terminate_instance("unknown", "early", {.even_if_missing = true});
  world.settle();
  client.start_orchestration("i", "Busy", "an event");
  world.settle();
  client.raise_event("i", "event", 7);
  EXPECT_EQ(world.wait("i").result<int>(), 7);
  EXPECT_EQ(world.metrics().counter_total(metric::kOrphanMessagesDropped.name), 0U);
  world.advance(25h);
  client.start_orchestration("j", "Busy", "an event");  // so that a fetch comes
  world.settle();
  EXPECT_EQ(world.metrics().counter_total(metric::kOrphanMessagesDropped.name), 4U);
}

TEST_P(Control, ADuplicateStartDoesWhatItsPolicySays) {
  const Client& client = world.client();
  const auto start = [&](StartPolicy policy, const std::string& what) {
    return client.start_orchestration("i", "Busy", what, StartInstanceOptions().policy(policy));
  };
  const auto refusal = [&](StartPolicy policy) {
    try {
      start(policy, "nothing");
    } catch (const ClientError& error) {
      return error.kind();
    }
    return ClientErrorKind::kStore;
  };
  EXPECT_EQ(start(StartPolicy::kIgnore, "an event"), StartOutcome::kEnqueued);
  EXPECT_EQ(start(StartPolicy::kIgnore, "nothing"), StartOutcome::kIgnored);  // while it is pending
  world.start_node(office());
  world.settle();
  EXPECT_EQ(client.start_orchestration("i", "Other"), StartOutcome::kIgnored);  // while it runs
  EXPECT_EQ(refusal(StartPolicy::kFail), ClientErrorKind::kAlreadyExists);
  EXPECT_EQ(refusal(StartPolicy::kReplaceIfTerminal), ClientErrorKind::kStillRunning);
  client.raise_event("i", "event", 1);
  EXPECT_EQ(world.wait("i").result<int>(), 1);
  EXPECT_EQ(start(StartPolicy::kIgnore, "nothing"), StartOutcome::kIgnored);
  EXPECT_EQ(refusal(StartPolicy::kFail), ClientErrorKind::kAlreadyExists);
  EXPECT_EQ(start(StartPolicy::kReplaceIfTerminal, "an event"), StartOutcome::kReplaced);
  world.settle();
  client.raise_event("i", "event", 2);
  EXPECT_EQ(world.wait("i").result<int>(), 2);
}

// The new one has as many events as the old one, which a node may remember that the new one has not been on yet.
TEST_P(Control, ADeletedInstanceLeavesNothingToOneOfTheSameName) {
  const Client& client = world.client();
  world.start_node(office());
  for (int i = 0; i < 30; ++i) client.start_orchestration(std::to_string(i), "Busy", "a timer");
  world.settle();
  world.start_node(office());
  for (int i = 0; i < 30; ++i) {
    client.delete_instance(std::to_string(i), true);
    EXPECT_EQ(client.start_orchestration(std::to_string(i), "Busy", "a message"), StartOutcome::kEnqueued);
    world.settle();
  }
  world.advance(24h * 366);
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(world.event_kinds(std::to_string(i)), ElementsAre("OrchestrationStarted", "QueueSubscribed"));
    client.enqueue_event(std::to_string(i), "queue", 7);
    world.settle();
    EXPECT_EQ(current_state(world, std::to_string(i)), State::kCompleted) << i;
  }
}

}  // namespace
}  // namespace perdure::test
