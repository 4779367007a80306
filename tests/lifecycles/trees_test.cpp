// Starts, replacements, deletions and pruning of instances with children, in every state that they can be in.
#include <string>
#include <vector>

#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Trees = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Trees);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Trees);

using Text = std::string;
constexpr auto kStillRunning = ClientErrorKind::kStillRunning;

StartInstanceOptions failing() {
  return StartInstanceOptions().policy(StartPolicy::kFail);
}

// Circles(rounds): that many executions, each after the message "next". Root(): its child "leaf" is Circles(9), and a
// detached child "loose" is a Victim. It ends with the message "end".
Registry add_circles(Registry registry) {
  registry.add_orchestration("Circles", [](OrchestrationContext ctx, int rounds) -> Orchestration<int> {
    co_await ctx.dequeue_event<void>("next");
    if (ctx.execution_id() < static_cast<ExecutionId>(rounds)) co_return ctx.continue_as_new(rounds);
    co_return rounds;
  });
  registry.add_orchestration("Root", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto leaf = child_id("leaf");
    const auto loose = child_id("loose");
    auto child = ctx.schedule_sub_orchestration<int>("Circles", 9, leaf);
    ctx.schedule_sub_orchestration<int>("Victim", loose).detach();
    co_await ctx.dequeue_event<void>("end");
    co_return 1;
  });
  return registry;
}
Registry circles() {
  return registry_of(add_circles, add_victims);
}

// StartPolicy: kIgnore "nothing", kFail "fails with kAlreadyExists", kReplaceIfTerminal "a running one: kStillRunning".
TEST_P(Trees, PoliciesHoldInEveryState) {
  const Client& client = world.client();
  const auto expect_taken = [&] {
    EXPECT_EQ(client.start_orchestration("i", "Quick", 9), StartOutcome::kIgnored);
    EXPECT_EQ(refusal_kind([&] { client.start_orchestration("i", "Quick", 9, failing()); }),
              ClientErrorKind::kAlreadyExists);
  };
  const auto expect_running = [&] {
    expect_taken();
    EXPECT_EQ(refusal_kind([&] { client.start_orchestration("i", "Quick", 9, replacing()); }), kStillRunning);
  };
  EXPECT_EQ(client.start_orchestration("i", "Circles", 2, failing()), StartOutcome::kEnqueued);
  expect_running();  // queued
  auto& node = world.start_node(circles());
  world.settle();
  expect_running();  // waiting
  client.enqueue_event("i", "next");
  world.settle();
  EXPECT_EQ(client.get_orchestration_status("i").execution_id, 2U);
  expect_running();  // in a later execution
  client.cancel_instance("i");
  world.settle();
  expect_taken();  // ended
  EXPECT_THAT(outcome_of(client, "i"), HasSubstr("Cancelled"));
  world.stop_node(node);
  EXPECT_EQ(client.start_orchestration("i", "Quick", 4, replacing()), StartOutcome::kReplaced);
  EXPECT_EQ(outcome_of(client, "i"), "Pending");
  expect_running();  // replaced, and not begun
  world.start_node(circles());
  world.settle();
  EXPECT_EQ(outcome_of(client, "i"), "Completed 4");
  EXPECT_EQ(client.list_executions("i").size(), 1U);
}

// Provider: a start with kReplaceIfTerminal "deletes an ended instance with its tree"; a tree in which a detached child
// runs has not ended.
TEST_P(Trees, ADetachedChildKeepsItsTreeFromReplacement) {
  world.start_node(circles());
  const Client& client = world.client();
  client.start_orchestration("r", "Root");
  world.settle();
  client.enqueue_event("r", "end");
  world.settle();
  EXPECT_EQ(outcome_of(client, "r"), "Completed 1");
  EXPECT_THAT(outcome_of(client, "leaf"), HasSubstr("Cancelled"));
  EXPECT_EQ(outcome_of(client, "loose"), "Running");
  EXPECT_EQ(refusal_kind([&] { client.start_orchestration("r", "Root", replacing()); }), kStillRunning);
  EXPECT_EQ(refusal_kind([&] { client.delete_instance("r"); }), kStillRunning);
  EXPECT_EQ(client.delete_instance_bulk(InstanceFilter()).instances, 0U);
  client.enqueue_event("loose", "go");
  world.settle();
  EXPECT_EQ(outcome_of(client, "loose"), "Completed 7");
  EXPECT_EQ(client.start_orchestration("r", "Quick", 3, replacing()), StartOutcome::kReplaced);
  world.settle();
  EXPECT_EQ(outcome_of(client, "r"), "Completed 3");
  EXPECT_EQ(client.list_all_instances(), std::vector<Text>{"r"});
}

// Client::delete_instance: "A running one only by force". A child between two executions runs.
TEST_P(Trees, AChildBetweenExecutionsKeepsItsTree) {
  const Client& client = world.client();
  auto& node = world.start_node(circles());
  client.start_orchestration("r", "Root");
  world.settle();
  client.enqueue_event("leaf", "next");
  world.settle();
  world.stop_node(node);
  // This node ends the second execution of "leaf" and has no code for the third.
  Registry last_round;
  last_round.add_orchestration("Circles", [](OrchestrationContext ctx, int rounds) -> Orchestration<int> {
    co_await ctx.dequeue_event<void>("next");
    const auto elsewhere = StartOptions().version("7.0.0");
    co_return ctx.continue_as_new(rounds, elsewhere);
  });
  client.enqueue_event("leaf", "next");
  run_node(world, last_round);
  EXPECT_EQ(client.get_instance_info("leaf").status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(outcome_of(client, "leaf"), "Running");
  EXPECT_EQ(refusal_kind([&] { client.delete_instance("r"); }), kStillRunning);
  EXPECT_EQ(refusal_kind([&] { client.delete_instance("leaf", true); }), ClientErrorKind::kSubOrchestration);
  client.delete_instance("r", true);
  expect_nothing_left(client);
  client.start_orchestration("leaf", "Quick", 2);
  world.start_node(circles());
  world.advance(2min);
  EXPECT_EQ(outcome_of(client, "leaf"), "Completed 2");
}

// PruneOptions: keep_last executions stay, "the current one stays in any case". A pruned instance continues.
TEST_P(Trees, ARunningInstanceIsPrunedAndContinues) {
  const Client& client = world.client();
  auto& node = world.start_node(circles());
  client.start_orchestration("i", "Circles", 7);
  for (int i = 0; i < 4; ++i) {
    world.advance(1min);
    client.enqueue_event("i", "next");
  }
  world.settle();
  EXPECT_THAT(client.list_executions("i"), ElementsAre(1, 2, 3, 4, 5));
  const Timestamp second = *client.get_execution_info("i", 2).completed_at;
  EXPECT_EQ(client.prune_executions("i", {.keep_last = 1, .completed_before = second}).executions, 1U);
  EXPECT_THAT(client.list_executions("i"), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(client.prune_executions("i", {.keep_last = 3, .completed_before = {}}).executions, 1U);
  EXPECT_THAT(client.list_executions("i"), ElementsAre(3, 4, 5));
  world.stop_node(node);
  EXPECT_EQ(client.prune_executions("i", {.keep_last = 0, .completed_before = {}}).executions, 2U);
  EXPECT_THAT(client.list_executions("i"), ElementsAre(5));
  EXPECT_THAT(client.read_execution_history("i", 2), IsEmpty());
  world.start_node(circles());
  for (int i = 0; i < 3; ++i) client.enqueue_event("i", "next");
  EXPECT_EQ(world.wait("i").result<int>(), 7);
  EXPECT_THAT(client.list_executions("i"), ElementsAre(5, 6, 7));
}

// Guide: terminate_instance ends an instance "with everything it has started ... without running its code"; detached
// children are reached too. The tree can be replaced then.
TEST_P(Trees, ATerminatedTreeCanBeReplaced) {
  world.start_node(circles());
  const Client& client = world.client();
  client.start_orchestration("r", "Root");
  world.settle();
  client.terminate_instance("r", "by hand");
  world.settle();
  EXPECT_THAT(outcome_of(client, "r"), HasSubstr("Terminated"));
  for (const char* child : {"leaf", "loose"}) {
    EXPECT_THAT(outcome_of(client, child), HasSubstr("Cancelled: cancelled: parent terminated"));
  }
  EXPECT_EQ(client.start_orchestration("r", "Root", replacing()), StartOutcome::kReplaced);
  world.settle();
  for (const char* child : {"leaf", "loose"}) EXPECT_EQ(outcome_of(client, child), "Running");
  EXPECT_EQ(client.get_instance_tree("r").ids.size(), 3U);
  client.delete_instance("r", true);
  expect_nothing_left(client);
}

// Architecture: "A cancel or terminate ends a backoff instead of waiting for it".
TEST_P(Trees, ACancelEndsTheBackoffOfUnknownCode) {
  world.start_node(circles());
  const Client& client = world.client();
  for (const char* id : {"cancelled", "terminated"}) client.start_orchestration(id, "Unknown");
  for (int i = 0; i < 4; ++i) world.advance(4s);
  const Timestamp before = world.now();
  client.cancel_instance("cancelled", "by hand");
  client.terminate_instance("terminated", "by hand");
  world.settle();
  EXPECT_EQ(outcome_of(client, "cancelled"), "Cancelled: cancelled: by hand");
  EXPECT_THAT(outcome_of(client, "terminated"), HasSubstr("Terminated"));
  EXPECT_EQ(world.now(), before);
  EXPECT_EQ(client.get_queue_depths(), QueueDepths());
}

// delete_instance with force: "nothing of it stays", so its backoff and its attempts do not delay the next instance.
TEST_P(Trees, ADeletedBackoffDoesNotDelayTheNextInstance) {
  RuntimeOptions options;
  options.max_attempts = 5;
  world.start_node(circles(), options);
  const Client& client = world.client();
  client.start_orchestration("i", "Unknown");
  for (int i = 0; i < 4; ++i) world.advance(4s);
  EXPECT_EQ(outcome_of(client, "i"), "Pending");
  client.delete_instance("i", true);
  client.start_orchestration("i", "Circles", 1);
  world.settle();
  EXPECT_EQ(outcome_of(client, "i"), "Running");
  client.enqueue_event("i", "next");
  EXPECT_EQ(world.wait("i").result<int>(), 1);
}

// Future::detach: "Cancelling or terminating the orchestration still reaches it". A replacement of the id of a deleted
// parent has no part in the old family.
TEST_P(Trees, ACancelReachesDetachedChildren) {
  world.start_node(circles());
  const Client& client = world.client();
  client.start_orchestration("r", "Root");
  world.settle();
  client.cancel_instance("r", "by hand");
  world.settle();
  for (const char* child : {"leaf", "loose"}) {
    EXPECT_THAT(outcome_of(client, child), HasSubstr("Cancelled: cancelled: parent cancelled"));
  }
  EXPECT_EQ(client.delete_instance_bulk(InstanceFilter()).instances, 3U);
  expect_nothing_left(client);
}

// InstanceFilter: "conditions that are given must all hold", for the current execution. An instance that was replaced
// has another age and another end.
TEST_P(Trees, ABulkDeletionSparesReplacements) {
  world.start_node(circles());
  const Client& client = world.client();
  for (const char* id : {"old", "replaced"}) client.start_orchestration(id, "Quick", 1);
  world.advance(1h);
  client.start_orchestration("replaced", "Quick", 2, replacing());
  world.settle();
  InstanceFilter old;
  old.completed_before = world.now();
  EXPECT_EQ(client.delete_instance_bulk(old).instances, 1U);
  EXPECT_EQ(client.list_all_instances(), std::vector<Text>{"replaced"});
  InstanceFilter created;
  created.created_before = world.now();
  EXPECT_EQ(client.delete_instance_bulk(created).instances, 0U);
  InstanceFilter failed;
  failed.statuses = {ExecutionStatus::kFailed};
  client.start_orchestration("cancelled", "Victim");
  client.cancel_instance("cancelled");
  world.settle();
  failed.exact_statuses = true;
  EXPECT_EQ(client.delete_instance_bulk(failed).instances, 0U);
  failed.exact_statuses = false;
  EXPECT_EQ(client.delete_instance_bulk(failed).instances, 1U);
}

}  // namespace
}  // namespace perdure::test
