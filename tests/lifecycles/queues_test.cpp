// Messages and events over the life of an instance: order, races, continue-as-new, limits and ends.
#include <string>
#include <vector>

#include "lifecycles/readers.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using Queues = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Queues);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Queues);

using Text = std::string;

// Guide: messages of a queue are read "first in, first out". Each queue has its own order.
TEST_P(Queues, EveryQueueHasItsOwnOrder) {
  Registry registry;
  registry.add_orchestration("Sorts", [](OrchestrationContext ctx) -> Orchestration<Text> {
    Text text;
    for (int i = 0; i < 3; ++i) text += co_await ctx.dequeue_event<Text>("right");
    for (int i = 0; i < 3; ++i) text += co_await ctx.dequeue_event<Text>("left");
    co_return text;
  });
  world.start_node(registry);
  world.start_node(registry);
  world.client().start_orchestration("i", "Sorts");
  for (const char* text : {"1", "2", "3"}) {
    world.client().enqueue_event("i", "left", Text("l") + text);
    world.client().enqueue_event("i", "right", Text("r") + text);
    world.settle();
  }
  EXPECT_EQ(world.wait("i").result<Text>(), "r1r2r3l1l2l3");
}

// Guide, continue-as-new: "unread ones go along". The order and the empty payload of each queue stay as they were.
TEST_P(Queues, UnreadMessagesOfSeveralQueuesGoAlong) {
  Registry registry;
  registry.add_orchestration("Rounds", [](OrchestrationContext ctx, Text seen) -> Orchestration<Text> {
    if (ctx.execution_id() < 4) {
      seen += co_await ctx.dequeue_event<Text>("a");
      co_return ctx.continue_as_new(seen);
    }
    co_await ctx.dequeue_event<void>("empty");
    const auto none = co_await ctx.dequeue_event<std::optional<int>>("empty");
    for (int i = 0; i < 2; ++i) seen += co_await ctx.dequeue_event<Text>("b");
    co_return seen + (none ? "some" : "none");
  });
  for (const char* text : {"1", "2", "3"}) {
    world.client().enqueue_event("i", "a", Text("a") + text);
    world.client().enqueue_event("i", "b", Text("b") + text);
    world.client().enqueue_event("i", "empty");
  }
  world.client().start_orchestration("i", "Rounds", "");
  world.start_node(registry);
  EXPECT_EQ(world.wait("i").result<Text>(), "a1a2a3b1b2none");
  EXPECT_EQ(world.client().get_orchestration_stats("i")->carried_forward, 6U);
}

// Architecture: a message whose dequeue loses a race "returns to its place in the queue".
TEST_P(Queues, AMessageOfALosingJoinIsReadAgain) {
  Registry registry;
  registry.add_orchestration("Pairs", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const auto first = co_await perdure::select{
        perdure::join{ctx.dequeue_event<Text>("a"), ctx.dequeue_event<Text>("b")}, ctx.schedule_timer(1h)};
    if (first.index() == 0) throw OrchestrationError("b has no message");
    Text text;
    for (int i = 0; i < 3; ++i) text += co_await ctx.dequeue_event<Text>("a");
    co_return text;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Pairs");
  world.client().enqueue_event("i", "a", "1");
  world.settle();
  world.client().enqueue_event("i", "a", "2");
  world.advance(1h);
  world.client().enqueue_event("i", "a", "3");
  EXPECT_EQ(world.wait("i").result<Text>(), "123");
}

// Guide: "first in, first out". The calls of dequeue_event decide the order, and not the order of co_await.
TEST_P(Queues, DequeuesAreServedInTheOrderOfTheirCalls) {
  Registry registry;
  registry.add_orchestration("Backwards", [](OrchestrationContext ctx) -> Orchestration<Text> {
    auto first = ctx.dequeue_event<Text>("q");
    auto second = ctx.dequeue_event<Text>("q");
    {
      auto dropped = ctx.dequeue_event<Text>("q");
    }
    auto fourth = ctx.dequeue_event<Text>("q");
    const Text c = co_await fourth;
    const Text b = co_await second;
    const Text a = co_await first;
    co_return a + b + c;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Backwards");
  for (const char* text : {"1", "2", "3"}) {
    world.client().enqueue_event("i", "q", text);
    world.settle();
  }
  EXPECT_EQ(world.wait("i").result<Text>(), "123");
}

// Guide, events: "the n-th wait gets the n-th event". A wait that was dropped is none.
TEST_P(Queues, TheNthWaitGetsTheNthEvent) {
  Registry registry;
  registry.add_orchestration("Hears", [](OrchestrationContext ctx) -> Orchestration<Text> {
    auto first = ctx.schedule_wait<Text>("e");
    {
      auto dropped = ctx.schedule_wait<Text>("e");
    }
    auto second = ctx.schedule_wait<Text>("e");
    const Text b = co_await second;
    const Text a = co_await first;
    co_return a + b;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Hears");
  world.settle();
  for (const char* text : {"1", "2"}) world.client().raise_event("i", "e", text);
  EXPECT_EQ(world.wait("i").result<Text>(), "12");
}

// Guide: events and queues are "two ways in"; an event is not a message of the queue of that name.
TEST_P(Queues, EventsAndMessagesOfOneNameStayApart) {
  Registry registry;
  registry.add_orchestration("Both", [](OrchestrationContext ctx) -> Orchestration<Text> {
    auto event = ctx.schedule_wait<Text>("x");
    auto message = ctx.dequeue_event<Text>("x");
    const auto first = co_await perdure::select{event, message};
    const Text read = co_await message;
    const Text heard = co_await event;
    co_return std::to_string(first.index()) + heard + read;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Both");
  world.settle();
  world.client().enqueue_event("i", "x", "message");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  world.client().raise_event("i", "x", "event");
  EXPECT_EQ(world.wait("i").result<Text>(), "1eventmessage");
}

// Guide, events: "continue-as-new: lost". The event came while the first execution waited for something else.
TEST_P(Queues, AnEventIsLostAtContinueAsNew) {
  Registry registry;
  registry.add_orchestration("Deaf", [](OrchestrationContext ctx) -> Orchestration<Text> {
    if (ctx.execution_id() == 1) {
      co_await ctx.dequeue_event<void>("go");
      co_return ctx.continue_as_new();
    }
    const auto first = co_await perdure::select{ctx.schedule_wait<Text>("e"), ctx.schedule_timer(1h)};
    if (first.index() == 0) co_return std::get<0>(first);
    co_return "lost";
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Deaf");
  world.settle();
  world.client().raise_event("i", "e", "early");
  world.settle();
  world.client().enqueue_event("i", "go");
  EXPECT_EQ(world.wait("i").result<Text>(), "lost");
}

// Limits::max_unread_messages: "delivered to the queues of one execution and not dequeued". Carried ones count too.
TEST_P(Queues, TooManyUnreadMessagesFailTheInstance) {
  RuntimeOptions options;
  options.limits.max_unread_messages = 3;
  Registry registry;
  registry.add_orchestration("Idle", [](OrchestrationContext ctx) -> Orchestration<void> {
    if (ctx.execution_id() == 1) {
      co_await ctx.dequeue_event<void>("go");
      co_await ctx.continue_as_new();
    }
    co_await ctx.dequeue_event<void>("end");
  });
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Idle");
  for (int i = 0; i < 3; ++i) world.client().enqueue_event("i", "unread", i);
  world.settle();
  world.client().enqueue_event("i", "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  world.client().enqueue_event("i", "unread", 4);
  world.settle();
  EXPECT_THAT(outcome_of(world.client(), "i"), HasSubstr("max_unread_messages"));
}

// Decision 31: messages before the start have no limit of their own. Too many of them fail the instance at its start,
// and its history has all of them.
TEST_P(Queues, TooManyMessagesBeforeTheStartFailTheInstance) {
  RuntimeOptions options;
  options.limits.max_unread_messages = 3;
  Registry registry;
  registry.add_orchestration(
      "Idle", [](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.dequeue_event<void>("end"); });
  world.start_node(registry, options);
  for (const char* id : {"within", "beyond"}) {
    for (int i = 0; i < 3; ++i) world.client().enqueue_event(id, "unread", i);
  }
  world.client().enqueue_event("beyond", "unread", 3);
  for (const char* id : {"within", "beyond"}) world.client().start_orchestration(id, "Idle");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "within"), "Running");
  EXPECT_THAT(outcome_of(world.client(), "beyond"), HasSubstr("max_unread_messages"));
  const auto kinds = world.event_kinds("beyond");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "QueueEventDelivered"), 4);
}

// Architecture: "Carrying more than max_carry_forward messages fails the execution"; the ones that arrived stay in its
// history.
TEST_P(Queues, TooManyMessagesToCarryFailTheInstance) {
  RuntimeOptions options;
  options.limits.max_carry_forward = 2;
  Registry registry;
  registry.add_orchestration("Carries", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.dequeue_event<void>("go");
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new();
    co_return 1;
  });
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Carries");
  for (int i = 0; i < 2; ++i) world.client().enqueue_event("i", "unread", i);
  world.client().enqueue_event("i", "go");
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("i").execution_id, 2U);
  world.client().enqueue_event("i", "unread", 3);
  world.client().enqueue_event("i", "go");
  world.settle();
  EXPECT_THAT(outcome_of(world.client(), "i"), HasSubstr("max_carry_forward"));
  const auto kinds = world.event_kinds("i");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "QueueEventDelivered"), 4);
}

// ActivityContext::client(): "For starting and signalling orchestrations from here". Messages keep their order.
TEST_P(Queues, OneInstanceSendsToAnotherThroughActivities) {
  Registry registry = add_readers();
  registry.add_activity(
      "Send", [](ActivityContext& context, Text text) { context.client().enqueue_event("reader", "go", text); });
  registry.add_orchestration("Sender", [](OrchestrationContext ctx) -> Orchestration<void> {
    for (char c = 'a'; c <= 'e'; ++c) co_await ctx.schedule_activity<void>("Send", Text(1, c));
  });
  world.start_node(registry);
  world.start_node(registry);
  world.client().start_orchestration("sender", "Sender");
  world.client().start_orchestration("reader", "Reader", 5);
  EXPECT_EQ(world.wait("reader").result<Text>(), "abcde");
}

// StartPolicy::kReplaceIfTerminal "deletes an ended instance with its tree": the new one gets none of its messages.
TEST_P(Queues, AReplacementGetsNoOldMessages) {
  world.client().start_orchestration("i", "Reader", 1);
  world.client().enqueue_event("i", "go", "first");
  world.client().enqueue_event("i", "go", "unread");
  run_node(world, add_readers());
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed \"first\"");
  world.client().enqueue_event("i", "go", "late");
  EXPECT_EQ(world.client().start_orchestration("i", "Reader", 1, replacing()), StartOutcome::kReplaced);
  world.client().enqueue_event("i", "go", "new");
  world.start_node(add_readers());
  EXPECT_EQ(world.wait("i").result<Text>(), "new");
}

// Guide: a queue message "may also come before the start", and "the instance receives it with its start". More come
// than one fetch delivers.
TEST_P(Queues, ManyMessagesMayPrecedeTheStart) {
  constexpr int kMessages = 1'100;
  Registry registry;
  registry.add_orchestration("Adds", [](OrchestrationContext ctx, int messages) -> Orchestration<Text> {
    for (int i = 0; i < messages; ++i) {
      const int number = co_await ctx.dequeue_event<int>("numbers");
      if (number != i) co_return "message " + std::to_string(number) + " instead of " + std::to_string(i);
    }
    co_return "in order";
  });
  for (int i = 0; i < kMessages; ++i) world.client().enqueue_event("i", "numbers", i);
  world.client().start_orchestration("i", "Adds", kMessages);
  world.start_node(registry);
  EXPECT_EQ(world.wait("i").result<Text>(), "in order");
}

// Client::cancel_instance: "its code runs once more for what arrived before". More messages arrived than a batch holds.
TEST_P(Queues, ACancelAfterManyMessagesEndsTheInstance) {
  constexpr int kMessages = 1'100;
  Registry registry;
  registry.add_orchestration("Counts", [](OrchestrationContext ctx) -> Orchestration<void> {
    for (int i = 1;; ++i) {
      co_await ctx.dequeue_event<void>("ticks");
      ctx.set_kv_value("count", i);
    }
  });
  world.client().start_orchestration("i", "Counts");
  for (int i = 0; i < kMessages; ++i) world.client().enqueue_event("i", "ticks");
  world.client().cancel_instance("i", "by hand");
  world.start_node(registry);
  world.wait("i");
  EXPECT_EQ(outcome_of(world.client(), "i"), "Cancelled: cancelled: by hand");
  EXPECT_EQ(world.client().get_kv_value<int>("i", "count"), kMessages);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

}  // namespace
}  // namespace perdure::test
