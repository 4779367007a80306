// An id that is used again belongs to a new instance. Client::delete_instance promises "nothing of it stays", the guide
// "removes every trace"; so the new instance sees results, refusals, timers and cancels of its own only.
#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using Incarnations = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Incarnations);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Incarnations);

// Keeper(n): completes with what its child "Later" makes of n, which is n. Asks(id): completes with what the child `id`
// says. Detaches(id): detaches the child `id` and completes with 1. Innocent(): an activity, then the message "go", 9.
Registry add_keepers(Registry registry) {
  registry.add_orchestration("Keeper", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
    co_return co_await ctx.schedule_sub_orchestration<int>("Later", n);
  });
  registry.add_orchestration("Asks", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    co_return co_await ctx.schedule_sub_orchestration<int>("Victim", options);
  });
  registry.add_orchestration("Detaches", [](OrchestrationContext ctx, std::string id) -> Orchestration<int> {
    const auto options = child_id(id);
    ctx.schedule_sub_orchestration<int>("Victim", options).detach();
    co_return 1;
  });
  registry.add_orchestration("Innocent", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_activity<void>("Nothing");
    co_await ctx.dequeue_event<void>("go");
    co_return 9;
  });
  registry.add_activity("Nothing", [](ActivityContext&) {});
  return registry;
}
Registry add_later(Registry registry) {
  registry.add_orchestration("Later", [](OrchestrationContext, int n) -> Orchestration<int> { co_return n; });
  return registry;
}

enum class Again { kForced, kDeleted, kReplaced };

// Ends the first "w", whose child is only queued, and starts the second. False: the store refuses, because the queued
// child counts as running.
bool start_keeper_again(World& world, Again how) {
  const Client& client = world.client();
  client.start_orchestration("w", "Keeper", 111);
  auto& node = world.start_node(registry_of(add_keepers), only_registered());
  world.settle();
  EXPECT_EQ(outcome_of(client, "w"), "Running");
  if (how != Again::kForced) client.terminate_instance("w", "by hand");
  world.settle();
  world.stop_node(node);
  if (how == Again::kReplaced) {
    const auto refused = refusal_kind([&] { client.start_orchestration("w", "Keeper", 222, replacing()); });
    EXPECT_EQ(refused.value_or(ClientErrorKind::kStillRunning), ClientErrorKind::kStillRunning);
    return !refused;
  }
  const auto refused = refusal_kind([&] { client.delete_instance("w", how == Again::kForced); });
  EXPECT_EQ(refused.value_or(ClientErrorKind::kStillRunning), ClientErrorKind::kStillRunning);
  if (!refused) client.start_orchestration("w", "Keeper", 222);
  return !refused;
}

void expect_its_own_result(World& world, Again how) {
  const bool again = start_keeper_again(world, how);
  EXPECT_TRUE(again || how != Again::kForced) << "force removes whatever runs";
  world.start_node(registry_of(add_keepers, add_later), only_registered());
  world.settle();
  if (!again) {  // the queued child has been told to end by now
    world.client().start_orchestration("w", "Keeper", 222, replacing());
    world.settle();
  }
  EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 222");
  world.client().delete_instance("w");
  expect_nothing_left(world.client());
}

TEST_P(Incarnations, AfterAForcedDeletionTheNewOneGetsItsOwnChildsResult) {
  expect_its_own_result(world, Again::kForced);
}
TEST_P(Incarnations, AfterADeletionTheNewOneGetsItsOwnChildsResult) {
  expect_its_own_result(world, Again::kDeleted);
}
TEST_P(Incarnations, AfterAReplacementTheNewOneGetsItsOwnChildsResult) {
  expect_its_own_result(world, Again::kReplaced);
}

// "p" asks for the id of "x"; it is gone before "x" can refuse, and the refusal comes to the next "p".
TEST_P(Incarnations, ALateRefusalDoesNotReachTheNextIncarnationAfterAForcedDeletion) {
  world.client().start_orchestration("x", "Victim");
  world.client().start_orchestration("p", "Asks", "x");
  auto& node = world.start_node(registry_of(add_keepers), only_registered());
  world.settle();
  world.client().delete_instance("p", true);
  world.client().start_orchestration("p", "Innocent");
  world.settle();
  world.stop_node(node);
  world.start_node(registry_of(add_keepers, add_victims), only_registered());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "p"), "Running");
  EXPECT_EQ(outcome_of(world.client(), "x"), "Running");
  world.client().enqueue_event("p", "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 9");
}

// The same when the refusal waits at the id before there is a new "p".
TEST_P(Incarnations, ALateRefusalDoesNotWaitForTheNextIncarnation) {
  world.client().start_orchestration("x", "Victim");
  world.client().start_orchestration("p", "Asks", "x");
  run_node(world, registry_of(add_keepers));
  world.client().delete_instance("p", true);
  world.start_node(registry_of(add_keepers, add_victims), only_registered());
  world.settle();
  world.client().start_orchestration("p", "Innocent");
  world.settle();
  world.client().enqueue_event("p", "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 9");
}

TEST_P(Incarnations, TheRefusalOfADetachedChildDoesNotReachTheReplacement) {
  world.client().start_orchestration("x", "Victim");
  world.client().start_orchestration("p", "Detaches", "x");
  auto& node = world.start_node(registry_of(add_keepers), only_registered());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 1");
  const auto refused = refusal_kind([&] { world.client().start_orchestration("p", "Innocent", replacing()); });
  world.settle();
  world.stop_node(node);
  world.start_node(registry_of(add_keepers, add_victims), only_registered());
  world.settle();
  if (refused) {  // the queued start of the detached child counted as running
    EXPECT_EQ(*refused, ClientErrorKind::kStillRunning);
    world.client().start_orchestration("p", "Innocent", replacing());
    world.settle();
  }
  EXPECT_EQ(outcome_of(world.client(), "p"), "Running");
  world.client().enqueue_event("p", "go");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed 9");
  EXPECT_EQ(outcome_of(world.client(), "x"), "Running");
}

// The old child, queued under a generated id, must not stand in the way of the new one's child of the same id.
TEST_P(Incarnations, TheNewOnesChildGetsItsGeneratedIdAgain) {
  for (int round = 1; round <= 3; ++round) {
    world.client().start_orchestration("w", "Keeper", round);
    run_node(world, registry_of(add_keepers));
    world.client().delete_instance("w", true);
  }
  world.client().start_orchestration("w", "Keeper", 4);
  world.start_node(registry_of(add_keepers, add_later), only_registered());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 4");
  EXPECT_EQ(world.client().get_instance_tree("w").ids.size(), 2U);
}

}  // namespace
}  // namespace perdure::test
