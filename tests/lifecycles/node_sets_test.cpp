// Several nodes on one store that differ in code, versions and tags; nodes that stop or die, and stuck instances.
#include <string>
#include <vector>

#include "lifecycles/held_activities.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using NodeSets = InEveryWorld;
PERDURE_IN_EVERY_WORLD(NodeSets);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(NodeSets);

using Text = std::string;

RuntimeOptions serving(TagFilter tags) {
  RuntimeOptions options = only_registered();
  options.worker_tag_filter = std::move(tags);
  return options;
}

Registry activity_named(const Text& name, const Text& answer) {
  Registry registry;
  registry.add_activity(name, [answer](ActivityContext&, Text text) { return text + answer; });
  return registry;
}

// Guide: "Nodes say which tags they serve". One node has the orchestration alone, others have its activities.
TEST_P(NodeSets, EveryStepRunsOnTheNodeThatHasIt) {
  Registry code;
  code.add_orchestration("Travels", [](OrchestrationContext ctx) -> Orchestration<Text> {
    Text text = co_await ctx.schedule_activity<Text>("First", "");
    const auto gpu = ActivityOptions().tag("gpu");
    text = co_await ctx.schedule_activity<Text>("Second", text, gpu);
    co_return co_await ctx.schedule_activity<Text>("Second", text);
  });
  world.start_node(code, serving(TagFilter::none()));
  world.start_node(activity_named("First", "1"), only_registered());
  world.start_node(activity_named("Second", "gpu"), serving(TagFilter::tags({"gpu"})));
  world.client().start_orchestration("i", "Travels");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  world.start_node(activity_named("Second", "2"), only_registered());
  EXPECT_EQ(world.wait("i").result<Text>(), "1gpu2");
}

// Walks(): version 1 answers "1", version 2 answers "2". Each continues once, after the message "next".
void add_walk(Registry& registry, const Text& version) {
  registry.add_orchestration("Walks", version, [version](OrchestrationContext ctx, Text path) -> Orchestration<Text> {
    path += version.substr(0, 1);
    co_await ctx.dequeue_event<void>("next");
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new(path);
    co_return path;
  });
}

// Guide, node by node: with the policy "still at the old one" nothing runs the new version; after the switch
// "those that continue as new, get the new version".
TEST_P(NodeSets, TheSwitchOfThePolicyMovesInstancesOn) {
  Registry old_code;
  add_walk(old_code, "1.0.0");
  Registry deployed = old_code;
  add_walk(deployed, "2.0.0");
  Registry switched = deployed;
  deployed.set_version_policy("Walks", VersionPolicy::exact(SemanticVersion::of("1.0.0")));
  const Client& client = world.client();
  const auto next = [&] {
    client.enqueue_event("i", "next");
    world.settle();
  };
  auto& old_node = world.start_node(old_code);
  client.start_orchestration("i", "Walks", "");
  world.settle();
  auto& new_node = world.start_node(deployed);
  world.stop_node(old_node);
  next();
  EXPECT_EQ(client.get_orchestration_status("i").version->to_string(), "1.0.0");
  world.start_node(switched);
  world.stop_node(new_node);
  next();
  EXPECT_EQ(client.get_orchestration_status("i").version->to_string(), "2.0.0");
  next();
  EXPECT_EQ(outcome_of(client, "i"), "Completed \"112\"");
}

// Guide: find_stuck_instances lists "instances, starts and activities that no registered node can go on with ...: no
// node has the code or that version of it". A continuation may ask for a version, too.
TEST_P(NodeSets, AContinuationWhoseVersionIsMissingIsStuck) {
  Registry old_code;
  old_code.add_orchestration("Moves", "1.0.0", [](OrchestrationContext ctx, Text to) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("Unknown");
    co_await ctx.schedule_timer(1ms);
    const auto version = StartOptions().version(to);
    co_return ctx.continue_as_new(to, version);
  });
  RuntimeOptions patient;
  patient.max_attempts = 1'000;
  world.start_node(old_code, patient);
  const Client& client = world.client();
  client.start_orchestration("missing", "Moves", "2.0.0");
  world.advance(1ms);
  EXPECT_EQ(outcome_of(client, "missing"), "Running");
  const auto stuck = [&] { return client.find_stuck_instances(); };
  EXPECT_THAT(stuck(), ElementsAre(AllOf(Field(&StuckInstance::instance, "missing"),
                                         Field(&StuckInstance::reason, HasSubstr("'Moves' version 2.0.0")))));
  Registry new_code = old_code;
  new_code.add_orchestration("Moves", "2.0.0", [](OrchestrationContext, Text) -> Orchestration<int> { co_return 2; });
  world.start_node(new_code, patient);
  EXPECT_THAT(stuck(), IsEmpty());
  world.wait("missing");
  EXPECT_EQ(outcome_of(client, "missing"), "Completed 2");
  EXPECT_THAT(stuck(), IsEmpty());
}

// Guide: "A start or a child can ask for one"; the child waits for the node that has the version, and the rest
// continues.
TEST_P(NodeSets, AChildOfANewVersionWaitsForItsNode) {
  Registry old_code = add_victims();
  old_code.add_orchestration("Part", "1.0.0", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  old_code.add_orchestration("Whole", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto version = SubOrchestrationOptions().version("2.0.0");
    auto late = ctx.schedule_sub_orchestration<int>("Part", version);
    const int early = co_await ctx.schedule_sub_orchestration<int>("Part");
    ctx.set_custom_status("early " + std::to_string(early));
    co_return early * 10 + co_await late;
  });
  Registry new_code = old_code;
  new_code.add_orchestration("Part", "2.0.0", [](OrchestrationContext) -> Orchestration<int> { co_return 2; });
  new_code.set_version_policy("Part", VersionPolicy::exact(SemanticVersion::of("1.0.0")));
  world.start_node(old_code);
  world.client().start_orchestration("i", "Whole");
  world.advance(10s);
  EXPECT_EQ(world.client().get_orchestration_status("i").custom_status, "early 1");
  world.start_node(new_code);
  EXPECT_EQ(world.wait("i").result<int>(), 12);
}

// Client: it "talks to the store alone, so it needs no runtime". Everything that it sent waits for the first node.
TEST_P(NodeSets, AClientWorksBeforeAnyNode) {
  const Client& client = world.client();
  client.start_orchestration("a", "Victim");
  client.start_orchestration("b", "Victim");
  client.start_orchestration("c", "Victim");
  client.enqueue_event("a", "go");
  client.cancel_instance("b", "by hand");
  client.delete_instance("c", true);
  EXPECT_EQ(outcome_of(client, "a"), "Pending");
  EXPECT_THAT(client.list_all_instances(), IsEmpty());
  EXPECT_EQ(client.find_stuck_instances().size(), 2U);
  world.advance(24h * 30);
  world.start_node(add_victims());
  world.settle();
  EXPECT_EQ(outcome_of(client, "a"), "Completed 7");
  EXPECT_EQ(outcome_of(client, "b"), "Cancelled: cancelled: by hand");
  EXPECT_EQ(outcome_of(client, "c"), "NotFound");
}

class MortalNodes : public ::testing::TestWithParam<WorldKind> {
 protected:
  World world{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Worlds, MortalNodes, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

// Guide: "If the node dies, the session moves to another one". All activities of the session follow it.
TEST_P(MortalNodes, ASessionMovesAsAWhole) {
  const auto on = [](const Text& node) {
    Registry registry;
    registry.add_activity("Where", [node](ActivityContext&) { return node; });
    registry.add_orchestration("Stays", [](OrchestrationContext ctx) -> Orchestration<Text> {
      const auto options = ActivityOptions().session("s");
      Text path;
      for (int i = 0; i < 4; ++i) {
        path += co_await ctx.schedule_activity<Text>("Where", options);
        co_await ctx.dequeue_event<void>("next");
      }
      co_return path;
    });
    return registry;
  };
  auto& first = world.start_node(on("a"));
  world.client().start_orchestration("i", "Stays");
  world.settle();
  world.start_node(on("b"));
  world.client().enqueue_event("i", "next");
  world.settle();
  world.kill_node(first);
  world.client().enqueue_event("i", "next");
  world.advance(31s);
  world.start_node(on("c"));
  for (int i = 0; i < 2; ++i) {
    world.client().enqueue_event("i", "next");
    world.advance(1s);
  }
  EXPECT_EQ(world.wait("i").result<Text>(), "aabb");
}

// Guide: nodes that are shut down "finish what has begun and give back the rest, uncounted". max_attempts is 1.
TEST_P(MortalNodes, AStoppedNodeCostsNoAttempt) {
  RuntimeOptions strict;
  strict.max_attempts = 1;
  const auto held = std::make_shared<std::vector<HeldAttempt>>();
  Registry registry;
  add_held(registry, held);
  registry.add_orchestration("Waits", [](OrchestrationContext ctx) -> Orchestration<Text> {
    auto work = ctx.schedule_activity<Text>("Held");
    co_await ctx.schedule_timer(1h);
    co_return co_await work;
  });
  for (int round = 0; round < 3; ++round) {
    auto& node = world.start_node(registry, strict);
    if (round == 0) world.client().start_orchestration("i", "Waits");
    world.settle();
    ASSERT_EQ(held->size(), 1U + static_cast<std::size_t>(round));
    world.stop_node(node);
    EXPECT_TRUE(held->back().context.is_cancelled());
  }
  world.start_node(registry, strict);
  world.settle();
  held->at(0).completion.complete("stale");
  held->back().completion.complete("fresh");
  world.advance(1h);
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed \"fresh\"");
}

// Client::find_stuck_instances "judges by what nodes have registered, not by whether they are alive".
TEST_P(MortalNodes, ADeadNodeStaysRegistered) {
  auto& node = world.start_node(add_victims());
  world.client().start_orchestration("i", "Victim");
  world.settle();
  world.kill_node(node);
  EXPECT_EQ(world.client().list_nodes().size(), 1U);
  EXPECT_THAT(world.client().find_stuck_instances(), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
