// A whole life that is deleted or replaced at every moment, on two nodes: the next instance of that id has its own
// results only, and nothing of the old one stays.
#include "lifecycles/moments.h"

namespace perdure::test {
namespace {

using MomentsOfDeletion = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(MomentsOfDeletion);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(MomentsOfDeletion);

// Client::delete_instance with force: "whatever runs is told to stop, and nothing of it stays".
TEST_P(MomentsOfDeletion, ForcedDeletionAndANewStart) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.client().delete_instance("w", true);
    EXPECT_EQ(world.client().start_orchestration("w", "Life", 222), StartOutcome::kEnqueued);
    EXPECT_EQ(world.client().get_kv_value<int>("w", "n"), std::nullopt);
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 222");
    expect_deletable(world, "w");
    return reached;
  });
}

// The same while one of the nodes has died with what it had locked.
TEST_P(MomentsOfDeletion, ForcedDeletionAfterTheDeathOfANode) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    RuntimeOptions patient;
    patient.max_attempts = 1'000;
    auto& mortal = world.start_node(whole_life(), patient);
    world.start_node(whole_life(), patient);
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    world.client().delete_instance("w", true);
    world.client().start_orchestration("w", "Life", 222);
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 222");
    expect_deletable(world, "w");
    return reached;
  });
}

// StartPolicy::kReplaceIfTerminal: refused while anything runs; then the new one has nothing of the old one.
TEST_P(MomentsOfDeletion, TerminationAndReplacement) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.client().terminate_instance("w", "by hand");
    std::optional<ClientErrorKind> refused;
    do {
      refused = refusal_kind([&] { world.client().start_orchestration("w", "Life", 222, replacing()); });
      EXPECT_EQ(refused.value_or(ClientErrorKind::kStillRunning), ClientErrorKind::kStillRunning);
    } while (refused && world.step());
    EXPECT_FALSE(refused) << "it can never be replaced";
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 222");
    expect_deletable(world, "w");
    return reached;
  });
}

// A deletion without force: refused while anything runs, and complete when it is not.
TEST_P(MomentsOfDeletion, CancellationAndDeletion) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.client().cancel_instance("w", "by hand");
    std::optional<ClientErrorKind> refused;
    do {
      refused = refusal_kind([&] { world.client().delete_instance("w"); });
      EXPECT_EQ(refused.value_or(ClientErrorKind::kStillRunning), ClientErrorKind::kStillRunning);
    } while (refused && world.step());
    EXPECT_FALSE(refused) << "it can never be deleted";
    world.advance(1min);
    expect_nothing_left(world.client());
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
