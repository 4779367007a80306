// Ids that look alike, and instances that are changed from inside their own activities.
#include <string>
#include <vector>

#include "lifecycles/readers.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using Ids = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Ids);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Ids);

using Text = std::string;

const std::vector<Text>& similar_ids() {
  static const std::vector<Text> kIds{"a",
                                      "A",
                                      "a ",
                                      " a",
                                      "a_",
                                      "a%",
                                      "a'b",
                                      "a\"b",
                                      "a\\b",
                                      "a::sub::2",
                                      "\xc3\xa9",
                                      "e\xcc\x81",
                                      "a;--",
                                      "$1",
                                      "{a,b}",
                                      "NULL",
                                      Text(1'024, 'x'),
                                      Text(1'023, 'x'),
                                      "\xf0\x9f\x98\x80",
                                      "0",
                                      "00"};
  return kIds;
}

// Guide: "Names are text ... One rule holds for all stores". Ids that differ in a byte are different instances.
TEST_P(Ids, SimilarIdsAreDifferentInstances) {
  const Client& client = world.client();
  world.start_node(add_readers());
  for (const Text& id : similar_ids()) {
    EXPECT_EQ(client.start_orchestration(id, "Reader", 2), StartOutcome::kEnqueued) << id;
    client.enqueue_event(id, "go", id);
  }
  world.settle();
  for (const Text& id : similar_ids()) client.enqueue_event(id, "go", "!");
  world.settle();
  for (const Text& id : similar_ids()) {
    EXPECT_EQ(client.get_orchestration_status(id).result<Text>(), id + "!");
    EXPECT_EQ(client.get_instance_tree(id).ids, std::vector<Text>{id});
  }
  std::size_t left = similar_ids().size();
  EXPECT_EQ(client.list_all_instances().size(), left);
  for (const Text& id : similar_ids()) {
    EXPECT_EQ(client.delete_instance(id).instances, 1U) << id;
    EXPECT_EQ(client.list_all_instances().size(), --left) << id;
  }
  expect_nothing_left(client);
}

// The same for sessions, tags, queues, events and keys of one instance.
TEST_P(Ids, SimilarNamesInsideAnInstanceStayApart) {
  Registry registry;
  registry.add_orchestration("Names", [](OrchestrationContext ctx) -> Orchestration<int> {
    int mistakes = 0;
    for (const Text& name : similar_ids()) ctx.set_kv_value(name, name);
    for (const Text& name : similar_ids()) {
      const auto session = ActivityOptions().session(name);
      const Text echoed = co_await ctx.schedule_activity<Text>("Session", session);
      const Text message = co_await ctx.dequeue_event<Text>(name);
      const auto value = co_await ctx.get_kv_value_from_instance<Text>(ctx.instance_id(), name);
      mistakes += (echoed == name ? 0 : 1) + (message == name ? 0 : 1) + (value == name ? 0 : 1);
    }
    co_return mistakes;
  });
  registry.add_activity("Session", [](ActivityContext& context) { return context.session_id().value_or("none"); });
  RuntimeOptions options;
  options.max_sessions_per_runtime = 100;
  world.start_node(registry, options);
  world.client().start_orchestration("i", "Names");
  for (auto name = similar_ids().rbegin(); name != similar_ids().rend(); ++name) {
    world.client().enqueue_event("i", *name, *name);
  }
  EXPECT_EQ(world.wait("i").result<int>(), 0);
  EXPECT_EQ(world.client().get_kv_all_values("i").size(), similar_ids().size());
}

// SubOrchestrationOptions: without an id "the engine makes one from the parent's". A child whose id is taken "fails
// with an error that says so", and the owner of the id "does not notice".
TEST_P(Ids, AGeneratedIdMayBeTaken) {
  Registry registry = add_victims();
  registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const auto child = co_await ctx.schedule_sub_orchestration<int>("Quick", 1).as_result();
    if (child) co_return "child " + std::to_string(*child);
    co_return child.error().message();
  });
  world.start_node(registry);
  const Client& client = world.client();
  client.start_orchestration("p::sub::2", "Victim");
  client.start_orchestration("p", "Parent");
  EXPECT_THAT(world.wait("p").result<Text>(), HasSubstr("is taken"));
  EXPECT_EQ(outcome_of(client, "p::sub::2"), "Running");
  client.delete_instance("p");
  client.enqueue_event("p::sub::2", "go");
  EXPECT_EQ(world.wait("p::sub::2").result<int>(), 7);
  client.delete_instance("p::sub::2");
  client.start_orchestration("p", "Parent");
  EXPECT_EQ(world.wait("p").result<Text>(), "child 1");
}

// Registers Changed(how): one activity that does that to its own instance, and completes afterwards.
Registry add_changed(Registry registry) {
  registry.add_activity("Change", [](ActivityContext& context, Text how) {
    const Client client = context.client();
    const Text& id = context.instance_id();
    if (how == "cancel") client.cancel_instance(id, "from inside");
    if (how == "terminate") client.terminate_instance(id, "from inside");
    if (how == "delete" || how == "restart") client.delete_instance(id, true);
    if (how == "restart") client.start_orchestration(id, "Changed", "nothing");
    if (how == "enqueue") client.enqueue_event(id, "q", "from inside");
    return how;
  });
  registry.add_orchestration("Changed", [](OrchestrationContext ctx, Text how) -> Orchestration<Text> {
    Text text = co_await ctx.schedule_activity<Text>("Change", how);
    if (how == "enqueue") text += " " + co_await ctx.dequeue_event<Text>("q");
    co_await ctx.schedule_timer(1s);
    co_return text;
  });
  return registry;
}

// ActivityContext::client(): "For starting and signalling orchestrations from here". Its own instance is one of them.
TEST_P(Ids, AnActivityMayChangeItsOwnInstance) {
  world.start_node(add_changed({}));
  const Client& client = world.client();
  for (const char* how : {"cancel", "terminate", "delete", "restart", "enqueue"}) {
    client.start_orchestration(how, "Changed", how);
  }
  world.settle();
  world.advance(1s);
  EXPECT_EQ(outcome_of(client, "cancel"), "Cancelled: cancelled: from inside");
  EXPECT_THAT(outcome_of(client, "terminate"), HasSubstr("from inside"));
  EXPECT_EQ(outcome_of(client, "delete"), "NotFound");
  EXPECT_EQ(outcome_of(client, "restart"), "Completed \"nothing\"");
  EXPECT_EQ(outcome_of(client, "enqueue"), "Completed \"enqueue from inside\"");
  world.advance(1min);
  EXPECT_EQ(client.get_queue_depths(), QueueDepths());
}

}  // namespace
}  // namespace perdure::test
