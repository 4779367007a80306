// Parents that ask for ids which others have or lose, at every moment, on two nodes. Each parent gets an outcome, and
// no parent ends an instance that is not its child.
#include "lifecycles/collisions.h"

namespace perdure::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ForeignIds = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(ForeignIds);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(ForeignIds);

TEST_P(ForeignIds, AHastyParentDoesNotEndAForeignInstance) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("x", "Victim");
    const bool reached = take_steps(world, moment);
    world.client().start_orchestration("h", "Hasty", "x");
    world.wait("h");
    world.settle();
    EXPECT_EQ(outcome_of(world.client(), "x"), "Running");
    return reached || moment <= 12;
  });
}

TEST_P(ForeignIds, ACancelledParentDoesNotEndTheOthersChild) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    for (const char* id : {"a", "b"}) world.client().start_orchestration(id, "Mother", "x");
    const bool reached = take_steps(world, moment);
    world.client().cancel_instance("a", "by hand");
    world.wait("a");
    world.wait("b");
    EXPECT_THAT(outcome_of(world.client(), "b"), AnyOf("Completed \"child 3\"", HasSubstr("is taken")));
    world.settle();
    for (const char* id : {"a", "b"}) world.client().delete_instance(id);
    expect_nothing_left(world.client());
    return reached;
  });
}

TEST_P(ForeignIds, AParentGetsAnOutcomeWhenTheIdIsDeleted) {
  for (const bool force : {false, true}) {
    at_every_moment(GetParam(), [&](World& world, int moment) {
      start_both_nodes(world);
      world.client().start_orchestration("x", "Quick", 1);
      world.wait("x");
      world.client().start_orchestration("p", "Mother", "x");
      const bool reached = take_steps(world, moment);
      const auto refused = refusal_kind([&] { world.client().delete_instance("x", force); });
      EXPECT_THAT(refused.value_or(ClientErrorKind::kSubOrchestration),
                  AnyOf(ClientErrorKind::kSubOrchestration, ClientErrorKind::kStillRunning));
      world.wait("p");
      EXPECT_THAT(outcome_of(world.client(), "p"), AnyOf("Completed \"child 3\"", HasSubstr("is taken")));
      return reached || moment <= 12;
    });
  }
}

TEST_P(ForeignIds, AParentGetsAnOutcomeWhenTheIdIsReplaced) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("x", "Quick", 1);
    world.wait("x");
    world.client().start_orchestration("p", "Mother", "x");
    const bool reached = take_steps(world, moment);
    world.client().start_orchestration("x", "Quick", 2, replacing());
    world.wait("p");
    world.settle();
    EXPECT_THAT(outcome_of(world.client(), "p"), HasSubstr("is taken"));
    EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 2");
    return reached || moment <= 12;
  });
}

// Guide: a detached operation "survives the end of the orchestration"; its tree cannot be deleted while it runs.
TEST_P(ForeignIds, ADetachedChildOutlivesItsParentAndHoldsItsTree) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("p", "Detacher", "x");
    const bool reached = take_steps(world, moment);
    const bool ended =
        world.client().get_orchestration_status("p").ended() && world.client().get_orchestration_status("x").ended();
    const auto refused = refusal_kind([&] { world.client().delete_instance("p"); });
    EXPECT_EQ(refused.has_value(), !ended) << "a tree is deleted exactly when everything in it has ended";
    world.settle();
    if (!ended) {
      EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 3");
      world.client().delete_instance("p");
    }
    expect_nothing_left(world.client());
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
