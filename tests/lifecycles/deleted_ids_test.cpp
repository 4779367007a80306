// A child's start that waits at the id of another instance outlives that one's deletion and replacement, and goes with
// its own parent. provider_admin.h: "kSubOrchestration if it has a parent, even with force"; and a parent never waits
// forever.
#include "lifecycles/queued_child.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using DeletedIds = InEveryWorld;
PERDURE_IN_EVERY_WORLD(DeletedIds);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(DeletedIds);

TEST_P(DeletedIds, AQueuedChildIsNotDeletedAlone) {
  queue_child_start(world, false);
  for (const bool force : {false, true}) {
    EXPECT_EQ(refusal_kind([&] { world.client().delete_instance("x", force); }), ClientErrorKind::kSubOrchestration);
  }
  finish_mother(world);
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed \"child 3\"");
  world.client().delete_instance("p");
  expect_nothing_left(world.client());
}

TEST_P(DeletedIds, AfterTheDeletionOfAnEndedInstanceTheChildGetsItsId) {
  queue_child_start(world, true);
  world.client().delete_instance("x");
  finish_mother(world);
  EXPECT_EQ(world.client().get_orchestration_status("p").result<std::string>(), "child 3");
  EXPECT_EQ(world.client().get_instance_info("x").parent, "p");
}

TEST_P(DeletedIds, AfterAForcedDeletionOfAnEndedInstanceTheChildGetsItsId) {
  queue_child_start(world, true);
  world.client().delete_instance("x", true);
  finish_mother(world);
  EXPECT_EQ(world.client().get_orchestration_status("p").result<std::string>(), "child 3");
}

TEST_P(DeletedIds, ABulkDeletionOfAnEndedInstanceLeavesTheParentAnOutcome) {
  queue_child_start(world, true);
  InstanceFilter completed;
  completed.statuses = {ExecutionStatus::kCompleted};
  world.client().delete_instance_bulk(completed);
  finish_mother(world);
  EXPECT_EQ(outcome_of(world.client(), "p"), "Completed \"child 3\"");
}

TEST_P(DeletedIds, AReplacementKeepsTheIdAndTheChildIsRefused) {
  queue_child_start(world, true);
  EXPECT_EQ(world.client().start_orchestration("x", "Quick", 5, replacing()), StartOutcome::kReplaced);
  finish_mother(world);
  EXPECT_THAT(world.client().get_orchestration_status("p").result<std::string>(), HasSubstr("is taken"));
  EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 5");
  EXPECT_EQ(world.client().get_instance_info("x").parent, std::nullopt);
}

TEST_P(DeletedIds, DeletingTheParentRemovesTheQueuedChild) {
  queue_child_start(world, false);
  world.client().delete_instance("p", true);
  world.start_node(registry_of(add_mother, add_victims), only_registered());
  world.advance(1h);
  EXPECT_EQ(outcome_of(world.client(), "x"), "NotFound");
  expect_nothing_left(world.client());
}

TEST_P(DeletedIds, DeletingTheParentLeavesTheEndedInstanceAlone) {
  queue_child_start(world, true);
  world.client().delete_instance("p", true);
  world.start_node(registry_of(add_mother, add_victims), only_registered());
  world.advance(1h);
  EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 1");
  EXPECT_EQ(world.client().list_all_instances(), std::vector<std::string>{"x"});
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// The same, and the one whose child it would have been is deleted: the other gets it.
TEST_P(DeletedIds, WhenTheFirstParentIsDeletedTheSecondGetsTheChild) {
  world.client().start_orchestration("a", "Mother", "x");
  run_node(world, registry_of(add_mother));
  world.client().start_orchestration("b", "Mother", "x");
  run_node(world, registry_of(add_mother));
  world.client().delete_instance("a", true);
  finish_mother(world);
  EXPECT_EQ(outcome_of(world.client(), "b"), "Completed \"child 3\"");
  EXPECT_EQ(world.client().get_instance_info("x").parent, "b");
  world.client().delete_instance("b");
  expect_nothing_left(world.client());
}

}  // namespace
}  // namespace perdure::test
