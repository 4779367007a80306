// A child whose start is only queued has its id, is found and can be ended.
#include <perdure/engine_metrics.h>
#include "lifecycles/queued_child.h"
#include "model/message_codec.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using QueuedChildren = InEveryWorld;
PERDURE_IN_EVERY_WORLD(QueuedChildren);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(QueuedChildren);

// Two parents ask for one id before any instance has it: one gets it, the other is refused.
TEST_P(QueuedChildren, OfTwoParentsOneGetsTheChildAndTheOtherIsRefused) {
  world.client().start_orchestration("a", "Mother", "x");
  world.client().start_orchestration("b", "Mother", "x");
  run_node(world, registry_of(add_mother));
  finish_mother(world);
  const std::string a = world.client().get_orchestration_status("a").result<std::string>();
  const std::string b = world.client().get_orchestration_status("b").result<std::string>();
  const std::string& winner = a == "child 3" ? a : b;
  const std::string& loser = a == "child 3" ? b : a;
  EXPECT_EQ(winner, "child 3");
  EXPECT_THAT(loser, HasSubstr("is taken"));
}

// A client's start for the same id is ignored or refused while a child's start is queued: the id is in use.
TEST_P(QueuedChildren, AClientsStartMeetsTheQueuedChild) {
  queue_child_start(world, false);
  EXPECT_EQ(world.client().start_orchestration("x", "Quick", 8), StartOutcome::kIgnored);
  const auto fail = StartInstanceOptions().policy(StartPolicy::kFail);
  EXPECT_EQ(refusal_kind([&] { world.client().start_orchestration("x", "Quick", 8, fail); }),
            ClientErrorKind::kAlreadyExists);
  EXPECT_EQ(refusal_kind([&] { world.client().start_orchestration("x", "Quick", 8, replacing()); }),
            ClientErrorKind::kSubOrchestration);
  finish_mother(world);
  EXPECT_EQ(world.client().get_orchestration_status("p").result<std::string>(), "child 3");
}

// A parent that waits for a child whose code no node has is listed as waiting for it, so that it can be found.
TEST_P(QueuedChildren, AQueuedChildWithoutCodeIsListedAsStuck) {
  queue_child_start(world, false);
  world.start_node(registry_of(add_mother), only_registered());
  world.settle();
  const auto stuck = world.client().find_stuck_instances();
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck.front().instance, "x");
  EXPECT_THAT(stuck.front().reason, HasSubstr("Quick"));
}

// An instance that has ended needs no code to refuse a child: its parent would wait for a node that may never come.
TEST_P(QueuedChildren, AnEndedInstanceRefusesAChildOnNodesWithoutItsCode) {
  world.client().start_orchestration("x", "Quick", 1);
  run_node(world, add_victims());
  world.client().start_orchestration("p", "Mother", "x");
  world.start_node(registry_of(add_mother), only_registered());
  world.settle();
  EXPECT_THAT(outcome_of(world.client(), "p"), HasSubstr("is taken"));
  EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 1");
}

// Mothers ask for the id of a running instance whose code this node does not have. They are refused, and the instance
// loses no attempt: it continues where its code is.
TEST_P(QueuedChildren, ARunningInstanceRefusesChildrenOnNodesWithoutItsCode) {
  const Client& client = world.client();
  client.start_orchestration("x", "Victim");
  run_node(world, add_victims());
  RuntimeOptions options;
  options.max_attempts = 2;
  auto& node = world.start_node(registry_of(add_mother), options);
  for (int i = 0; i < 5; ++i) {
    const std::string mother = "p" + std::to_string(i);
    client.start_orchestration(mother, "Mother", "x");
    EXPECT_THAT(world.wait(mother).result<std::string>(), HasSubstr("is taken"));
  }
  EXPECT_EQ(outcome_of(client, "x"), "Running");
  world.stop_node(node);
  world.start_node(add_victims());
  client.enqueue_event("x", "go");
  EXPECT_EQ(world.wait("x").result<int>(), 7);
}

// The same of parents that drop the child before they are refused: their cancels do not concern the instance.
TEST_P(QueuedChildren, ForeignCancelsAreDiscardedOnNodesWithoutTheCode) {
  const Client& client = world.client();
  client.start_orchestration("x", "Victim");
  run_node(world, add_victims());
  Registry registry;
  registry.add_orchestration("Drops", [](OrchestrationContext ctx) -> Orchestration<int> {
    {
      const auto options = child_id("x");
      auto child = ctx.schedule_sub_orchestration<int>("Quick", 1, options);
      co_await ctx.schedule_timer(1s);
    }
    co_return 1;
  });
  postpone(world, "x", 30min);  // so that no start is refused before the cancels arrive
  auto& node = world.start_node(registry);
  for (int i = 0; i < 5; ++i) client.start_orchestration("d" + std::to_string(i), "Drops");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.wait("d" + std::to_string(i)).result<int>(), 1);
  world.advance(30min);
  EXPECT_EQ(outcome_of(client, "x"), "Running");
  EXPECT_EQ(world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", "foreign_link"}}), 5U);
  EXPECT_EQ(world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", "already_started"}}), 5U);
  EXPECT_THAT(world.log().find("it is from or for another parent"), Not(IsEmpty()));
  world.stop_node(node);
  world.start_node(add_victims());
  client.enqueue_event("x", "go");
  EXPECT_EQ(world.wait("x").result<int>(), 7);
}

// The same of outcomes of children that another incarnation of the instance had scheduled.
TEST_P(QueuedChildren, ForeignOutcomesAreDiscardedOnNodesWithoutTheCode) {
  constexpr std::uint64_t kOtherIncarnation = 7;
  const Client& client = world.client();
  client.start_orchestration("x", "Victim");
  run_node(world, add_victims());
  RuntimeOptions options;
  options.max_attempts = 2;
  auto& node = world.start_node(registry_of(add_mother), options);
  const ErrorDetails lost = ApplicationError{ApplicationErrorKind::kOrchestrationFailed, "late", false};
  for (EventId id = 2; id < 7; ++id) {
    const Message outcome = id % 2 == 0 ? Message{"x", kFirstExecutionId, std::nullopt,
                                                  messages::SubOrchestrationCompleted{id, "1", kOtherIncarnation}}
                                        : Message{"x", kFirstExecutionId, std::nullopt,
                                                  messages::SubOrchestrationFailed{id, lost, kOtherIncarnation}};
    ASSERT_TRUE(world.store()->enqueue_message(encode_message(outcome)));
    world.advance(1min);
  }
  EXPECT_EQ(outcome_of(client, "x"), "Running");
  EXPECT_EQ(world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", "foreign_link"}}), 5U);
  EXPECT_THAT(world.log().find("it is from or for another parent"), Not(IsEmpty()));
  EXPECT_EQ(world.metrics().counter_total(metric::kUnregisteredBackoff.name), 0U);
  world.stop_node(node);
  world.start_node(add_victims());
  client.enqueue_event("x", "go");
  EXPECT_EQ(world.wait("x").result<int>(), 7);
}

// An outcome that arrives together with a message for this incarnation leaves that message in the queue.
TEST_P(QueuedChildren, AForeignOutcomeIsDiscardedWithoutTheMessagesAroundIt) {
  constexpr std::uint64_t kOtherIncarnation = 7;
  const Client& client = world.client();
  client.start_orchestration("x", "Victim");
  run_node(world, add_victims());
  client.enqueue_event("x", "go");
  ASSERT_TRUE(world.store()->enqueue_message(encode_message(
      {"x", kFirstExecutionId, std::nullopt, messages::SubOrchestrationCompleted{2, "1", kOtherIncarnation}})));
  run_node(world, registry_of(add_mother), 0ms, {});
  EXPECT_EQ(outcome_of(client, "x"), "Running");
  EXPECT_EQ(world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", "foreign_link"}}), 1U);
  world.start_node(add_victims());
  EXPECT_EQ(world.wait("x").result<int>(), 7);
}

TEST_P(QueuedChildren, AQueuedChildIsCancelledByAClient) {
  // Control: "A cancel and a terminate need no code"; the parent hears of it.
  queue_child_start(world, false);
  world.client().cancel_instance("x", "by hand");
  finish_mother(world);
  EXPECT_THAT(world.client().get_orchestration_status("p").result<std::string>(), HasSubstr("by hand"));
  EXPECT_THAT(outcome_of(world.client(), "x"), HasSubstr("Cancelled: "));
}

}  // namespace
}  // namespace perdure::test
