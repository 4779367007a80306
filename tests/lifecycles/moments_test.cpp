// A whole life, interfered with by a client at every moment, on two nodes.
#include "lifecycles/moments.h"

namespace perdure::test {
namespace {

using Moments = AtEveryMoment;
PERDURE_AT_EVERY_MOMENT(Moments);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Moments);

// Client::cancel_instance: "ends as cancelled, with everything it has started".
TEST_P(Moments, CancellationEndsTheWholeTree) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.client().cancel_instance("w", "by hand");
    world.advance(1min);
    for (const std::string& id : world.client().get_instance_tree("w").ids) {
      EXPECT_TRUE(world.client().get_orchestration_status(id).ended()) << id;
    }
    EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
    EXPECT_TRUE(world.client().find_stuck_instances().empty());
    world.client().delete_instance("w");
    expect_nothing_left(world.client());
    return reached;
  });
}

// ProviderAdmin::prune_executions: "Past executions with their histories; key-values stay".
TEST_P(Moments, Prune) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    refusal_kind([&] { world.client().prune_executions("w"); });
    world.client().prune_executions_bulk(InstanceFilter());
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 111");
    EXPECT_EQ(world.client().get_kv_value<int>("w", "n"), 111);
    world.client().prune_executions("w");
    EXPECT_EQ(world.client().list_executions("w"), std::vector<ExecutionId>{2});
    expect_deletable(world, "w");
    return reached;
  });
}

// A bulk deletion leaves trees alone in which something runs.
TEST_P(Moments, BulkDeletionLeavesAloneWhatRuns) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    start_two_nodes(world, whole_life());
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    const bool ended = world.client().get_orchestration_status("w").ended();
    const auto deleted = world.client().delete_instance_bulk(InstanceFilter()).instances;
    if (!ended) {
      EXPECT_EQ(deleted, 0U);
      world.wait("w");
      EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 111");
    }
    world.advance(1min);
    world.client().delete_instance_bulk(InstanceFilter());
    expect_nothing_left(world.client());
    return reached;
  });
}

// Guide: unread messages of a queue "go along" with continue-as-new; "first in, first out".
TEST_P(Moments, MessagesArriveOnceAndInOrder) {
  Registry mailbox;
  mailbox.add_activity("Echo", [](ActivityContext&, std::string text) { return text; });
  mailbox.add_orchestration("Mailbox", [](OrchestrationContext ctx, std::string text) -> Orchestration<std::string> {
    for (int i = 0; i < 2; ++i) {
      const auto message = co_await ctx.dequeue_event<std::string>("inbox");
      if (message == "stop") co_return text;
      text += co_await ctx.schedule_activity<std::string>("Echo", message);
    }
    co_return ctx.continue_as_new(text);
  });
  at_every_moment(GetParam(), [&](World& world, int moment) {
    start_two_nodes(world, mailbox);
    world.client().start_orchestration("m", "Mailbox", "");
    for (const char* letter : {"a", "b", "c"}) world.client().enqueue_event("m", "inbox", letter);
    const bool reached = take_steps(world, moment);
    for (const char* letter : {"d", "e", "f"}) world.client().enqueue_event("m", "inbox", letter);
    take_steps(world, moment / 2);
    world.client().prune_executions_bulk(InstanceFilter());
    for (const char* letter : {"g", "h", "stop"}) world.client().enqueue_event("m", "inbox", letter);
    world.wait("m");
    EXPECT_EQ(outcome_of(world.client(), "m"), "Completed \"abcdefgh\"");
    expect_deletable(world, "m");
    return reached;
  });
}

// A node that dies at any moment costs nothing but time; the number of attempts is not what is tested here.
TEST_P(Moments, DeathOfANode) {
  at_every_moment(GetParam(), [](World& world, int moment) {
    RuntimeOptions patient;
    patient.max_attempts = 1'000;
    auto& mortal = world.start_node(whole_life(), patient);
    world.client().start_orchestration("w", "Life", 111);
    const bool reached = take_steps(world, moment);
    world.kill_node(mortal);
    world.start_node(whole_life(), patient);
    world.wait("w");
    EXPECT_EQ(outcome_of(world.client(), "w"), "Completed 111");
    expect_deletable(world, "w");
    return reached;
  });
}

}  // namespace
}  // namespace perdure::test
