// Starts for one id by parents and clients, at every moment, on two nodes: one has it, and every parent gets an
// outcome.
#include "lifecycles/collisions.h"

namespace perdure::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Collisions = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(Collisions);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Collisions);

// A client's start and a child's start for one id: one of them has it, and the parent gets an outcome.
TEST_P(Collisions, AClientsStartAndAChildsStartForOneId) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("p", "Mother", "x");
    const bool reached = take_steps(world, moment);
    const StartOutcome start = world.client().start_orchestration("x", "Quick", 2);
    world.wait("p");
    world.settle();
    if (start == StartOutcome::kIgnored) {
      EXPECT_EQ(outcome_of(world.client(), "p"), "Completed \"child 3\"");
    } else {
      EXPECT_THAT(outcome_of(world.client(), "p"), HasSubstr("is taken"));
      EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 2");
    }
    return reached;
  });
}

TEST_P(Collisions, AChildThatAClientCancelsTellsItsParent) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("p", "Mother", "x");
    const bool reached = take_steps(world, moment);
    const auto refused = refusal_kind([&] { world.client().cancel_instance("x", "by hand"); });
    EXPECT_EQ(refused.value_or(ClientErrorKind::kNotFound), ClientErrorKind::kNotFound);
    world.wait("p");
    EXPECT_THAT(outcome_of(world.client(), "p"), AnyOf("Completed \"child 3\"", HasSubstr("by hand")));
    return reached;
  });
}

// schedule_orchestration: "Starts another orchestration and forgets it." An id that is in use is left alone, its own
// too.
TEST_P(Collisions, ADetachedStartForAnIdInUseChangesNothing) {
  for (const std::string id : {"x", "s"}) {
    at_every_moment(GetParam(), [&](World& world, int moment) {
      start_both_nodes(world);
      world.client().start_orchestration("x", "Quick", 1);
      world.wait("x");
      world.client().start_orchestration("s", "Starter", id);
      const bool reached = take_steps(world, moment);
      world.client().prune_executions_bulk(InstanceFilter());
      world.wait("s");
      world.settle();
      EXPECT_EQ(outcome_of(world.client(), "s"), "Completed 1");
      EXPECT_EQ(outcome_of(world.client(), "x"), "Completed 1");
      for (const char* each : {"s", "x"}) world.client().delete_instance(each);
      expect_nothing_left(world.client());
      return reached || moment <= 12;
    });
  }
}

// The parent of a running child is deleted by force and started again: the new child is the new parent's.
TEST_P(Collisions, AParentThatIsDeletedAndStartedAgainGetsItsNamedChildAgain) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_both_nodes(world);
    world.client().start_orchestration("p", "Mother", "x");
    const bool reached = take_steps(world, moment);
    world.client().delete_instance("p", true);
    world.client().start_orchestration("p", "Mother", "x");
    world.wait("p");
    EXPECT_EQ(outcome_of(world.client(), "p"), "Completed \"child 3\"");
    world.settle();
    world.client().delete_instance("p");
    expect_nothing_left(world.client());
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
