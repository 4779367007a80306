// Client::find_stuck_instances: who waits for something that no registered node can do, why, and what would help.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/gate.h"
#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;
using ::testing::Not;
using Ctx = OrchestrationContext;
using Node = SteppedCluster::Node;

template <class... Texts>
Matcher<StuckInstance> stuck(const std::string& instance, Texts... texts) {
  return AllOf(Field(&StuckInstance::instance, instance), Field(&StuckInstance::reason, AllOf(HasSubstr(texts)...)));
}

class Stuck : public InEveryCluster {
 protected:
  [[nodiscard]] std::vector<StuckInstance> found() {
    cluster.settle();
    return cluster.client().find_stuck_instances();
  }
  // Ends a node in order and signs it off, as a runtime does.
  void retire(Node& node) {
    const std::string id = node.id();
    cluster.stop_node(node);
    cluster.store()->remove_node(id).value();
  }
  void start(const std::string& instance, const std::string& name) {
    cluster.client().start_orchestration(instance, name);
  }
  // Waits for an event, in these versions.
  static Registry waiting(std::initializer_list<const char*> versions) {
    Registry registry;
    for (const char* version : versions) {
      registry.add_orchestration("Wait", version,
                                 [](Ctx ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
    }
    return registry;
  }
  // Flow with one activity.
  static Registry flow(const ActivityOptions& how = {}) {
    Registry registry;
    add_flow(registry, how);
    return registry;
  }
  static RuntimeOptions serving(TagFilter filter) {
    RuntimeOptions options;
    options.worker_tag_filter = std::move(filter);
    return options;
  }
};
PERDURE_IN_EVERY_CLUSTER(Stuck);

TEST_P(Stuck, NobodyIsWhenEverythingIsServed) {
  OpenCalls calls;
  Registry registry = waiting({"1.0.0"});
  calls.add_to(registry);
  add_flow(registry, ActivityOptions().tag("gpu"));
  cluster.start_node(registry, serving(TagFilter::untagged_and({"gpu"})));
  start("waits", "Wait");
  start("works", "Flow");
  EXPECT_THAT(found(), IsEmpty());
  start("queued", "Wait");
  EXPECT_THAT(cluster.client().find_stuck_instances(), IsEmpty()) << "its node has not come to it";
  calls.latest().done.complete("ready");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_P(Stuck, AnEmptyStoreHasNobody) {
  EXPECT_THAT(found(), IsEmpty());
}

// ---- Nodes ---------------------------------------------------------------------------------------------------------

TEST_P(Stuck, EverybodyIsWhenNoNodeIsRegistered) {
  Registry registry = waiting({"1.0.0"});
  registry.merge(flow(ActivityOptions().tag("gpu")));
  Node& node = cluster.start_node(registry);
  start("running", "Wait");
  start("working", "Flow");
  cluster.settle();
  retire(node);
  start("queued", "Wait");
  const auto nobody = [](const char* instance) { return stuck(instance, "no node is registered", "start a runtime"); };
  EXPECT_THAT(found(), ::testing::UnorderedElementsAre(nobody("running"), nobody("working"), nobody("queued"),
                                                       nobody("working")));
}

// The message of the timer stays in the queue when the execution continues as new.
TEST_P(Stuck, AnInstanceWithATimerWithoutEndIsNot) {
  Registry registry;
  registry.add_orchestration("Patient", [](Ctx ctx, int round) -> Orchestration<void> {
    if (round == 0) {
      auto never = ctx.schedule_timer(Milliseconds::max());
      co_await ctx.schedule_wait<void>("go");
      co_await ctx.continue_as_new(1);
    }
    co_await ctx.schedule_wait<void>("go");
  });
  cluster.start_node(registry);
  cluster.client().start_orchestration("i", "Patient", 0);
  EXPECT_THAT(found(), IsEmpty());
  cluster.client().raise_event("i", "go");
  EXPECT_THAT(found(), IsEmpty());
  EXPECT_EQ(cluster.client().get_instance_info("i").execution_id, 2U);
}

TEST_P(Stuck, WhatHasEndedIsNot) {
  Registry registry;
  registry.add_orchestration("Quick", [](Ctx) -> Orchestration<void> { co_return; });
  Node& node = cluster.start_node(registry);
  start("i", "Quick");
  cluster.settle();
  retire(node);
  EXPECT_THAT(found(), IsEmpty());
}

// ---- Orchestrations ------------------------------------------------------------------------------------------------

TEST_P(Stuck, AStartIsWhoseOrchestrationNobodyHas) {
  cluster.start_node(waiting({"1.0.0"}));
  start("i", "Unknown");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "'Unknown'", "not registered on any node", "register it")));
}

TEST_P(Stuck, AStartIsWhoseVersionNobodyHas) {
  cluster.start_node(waiting({"1.0.0", "2.0.0"}));
  const auto asking_for = [](const char* version) { return StartInstanceOptions().version(version); };
  cluster.client().start_orchestration("first", "Wait", asking_for("1.0.0"));
  cluster.client().start_orchestration("latest", "Wait");
  cluster.client().start_orchestration("third", "Wait", asking_for("3.0.0"));
  EXPECT_THAT(found(),
              ElementsAre(stuck("third", "'Wait' version 3.0.0", "not registered on any node", "register it")));
  cluster.start_node(waiting({"3.0.0"}));
  EXPECT_THAT(cluster.client().find_stuck_instances(), IsEmpty());
}

TEST_P(Stuck, AChildIsWhoseVersionNobodyHas) {
  Registry registry = waiting({"1.0.0"});
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<void>("Wait",
                                                  SubOrchestrationOptions().instance_id("child").version("2.0.0"));
  });
  cluster.start_node(registry);
  start("parent", "Parent");
  EXPECT_THAT(found(), ElementsAre(stuck("child", "'Wait' version 2.0.0", "not registered on any node")));
}

TEST_P(Stuck, AChildIsWhoseOrchestrationNobodyHas) {
  Registry registry;
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<void>("Child", SubOrchestrationOptions().instance_id("child"));
  });
  cluster.start_node(registry);
  start("parent", "Parent");
  EXPECT_THAT(found(), ElementsAre(stuck("child", "'Child'", "not registered on any node")));
}

TEST_P(Stuck, ARunningInstanceIsWhoseCodeHasGone) {
  Node& node = cluster.start_node(waiting({"1.0.0"}));
  start("i", "Wait");
  cluster.settle();
  retire(node);
  cluster.start_node(flow());
  EXPECT_THAT(found(), ElementsAre(stuck("i", "'Wait' version 1.0.0", "not registered on any node", "register it")));
}

TEST_P(Stuck, ARunningInstanceIsWhoseVersionHasGone) {
  Node& node = cluster.start_node(waiting({"1.0.0"}));
  start("i", "Wait");
  cluster.settle();
  retire(node);
  Node& next = cluster.start_node(waiting({"2.0.0"}));
  EXPECT_THAT(found(), ElementsAre(stuck("i", "'Wait' version 1.0.0", "not registered on any node")));
  retire(next);
  cluster.start_node(waiting({"1.0.0", "2.0.0"}));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_P(Stuck, AnInstanceBetweenTwoExecutionsIsWhoseCodeHasGone) {
  Registry registry;
  registry.add_orchestration("Eternal", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_wait<void>("again");
    co_await ctx.continue_as_new();
  });
  Node& node = cluster.start_node(registry);
  start("i", "Eternal");
  cluster.settle();
  cluster.client().raise_event("i", "again");
  ASSERT_TRUE(cluster.step_until(
      [&] { return cluster.client().get_instance_info("i").status == ExecutionStatus::kContinuedAsNew; }));
  const std::string id = node.id();
  cluster.kill_node(node);
  cluster.store()->remove_node(id).value();
  EXPECT_THAT(found(), ElementsAre(stuck("i", "no node is registered")));
  cluster.start_node(flow());
  EXPECT_THAT(found(), ElementsAre(stuck("i", "'Eternal'", "not registered on any node")));
  cluster.start_node(registry);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_P(Stuck, AnInstanceIsWhosePinNobodyReplays) {
  const Ran ran;
  begin_pinned(cluster, ran, "i", "1.5.0");
  for (const NodeInfo& node : cluster.client().list_nodes()) cluster.store()->remove_node(node.id).value();
  cluster.start_node(gate("new", ran), supporting("2.0.0", "2.999.0"));
  EXPECT_THAT(found(), ElementsAre(stuck("i", "pinned to engine version 1.5.0", "supported_replay_versions")));
  // One that replays it and has other code does not help.
  cluster.start_node(flow(), supporting("1.0.0", "1.999.0"));
  EXPECT_THAT(found(), ElementsAre(stuck("i", "pinned to engine version 1.5.0", "no registered node with its code")));
  cluster.start_node(gate("old", ran), supporting("1.0.0", "1.999.0"));
  EXPECT_THAT(found(), IsEmpty());
}

// ---- Activities ----------------------------------------------------------------------------------------------------

TEST_P(Stuck, AnInstanceIsWhoseActivityNobodyHas) {
  cluster.start_node(flow());
  start("i", "Flow");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "activity 'Work' (2)", "not registered on any node", "register it")));
}

TEST_P(Stuck, AnInstanceIsWhoseTagNobodyServes) {
  OpenCalls calls;
  Registry registry = flow(ActivityOptions().tag("gpu"));
  calls.add_to(registry);
  cluster.start_node(registry);
  start("i", "Flow");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "activity 'Work' (2)", "has tag 'gpu'", "worker_tag_filter")));
  // A worker of that tag without the activity does not help either.
  cluster.start_node(Registry(), serving(TagFilter::tags({"gpu"})));
  EXPECT_THAT(found(), ElementsAre(stuck("i", "has tag 'gpu'", "no registered node with its code")));
  cluster.start_node(registry, serving(TagFilter::any()));
  EXPECT_THAT(cluster.client().find_stuck_instances(), IsEmpty());
}

TEST_P(Stuck, AnInstanceIsWhoseUntaggedActivityNobodyServes) {
  OpenCalls calls;
  Registry registry = flow();
  calls.add_to(registry);
  cluster.start_node(registry, serving(TagFilter::tags({"gpu"})));
  start("i", "Flow");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "activity 'Work' (2)", "has no tag", "worker_tag_filter")));
}

TEST_P(Stuck, ANodeThatRunsNoActivitiesServesNone) {
  OpenCalls calls;
  Registry registry = flow();
  calls.add_to(registry);
  cluster.start_node(registry, serving(TagFilter::none()));
  start("i", "Flow");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "has no tag")));
}

// Every node serves the engine's own, whatever its tag filter.
TEST_P(Stuck, AReadOfAnotherInstancesValueIsNot) {
  Registry registry;
  registry.add_orchestration("Reader", [](Ctx ctx) -> Orchestration<int> {
    co_return (co_await ctx.get_kv_value_from_instance<int>("other", "key")).value_or(0);
  });
  Node& node = cluster.start_node(registry, serving(TagFilter::none()));
  start("i", "Reader");
  ASSERT_TRUE(cluster.step_until([&] { return !cluster.client().list_activities({}).activities.empty(); }));
  cluster.kill_node(node);
  EXPECT_THAT(cluster.client().find_stuck_instances(), IsEmpty()) << "a node that died is still registered";
  cluster.start_node(registry, serving(TagFilter::tags({"gpu"})));
  EXPECT_EQ(cluster.wait("i").result<int>(), 0);
}

// ---- Many ----------------------------------------------------------------------------------------------------------

TEST_P(Stuck, OfEachKindThereAreAtMostAsManyAsAskedFor) {
  Registry registry = waiting({"1.0.0"});
  registry.merge(flow());
  Node& node = cluster.start_node(registry);
  for (int i = 0; i < 130; ++i) start("w" + std::to_string(i), "Wait");
  for (int i = 0; i < 20; ++i) start("f" + std::to_string(i), "Flow");
  cluster.settle();
  retire(node);
  for (int i = 0; i < 130; ++i) start("s" + std::to_string(i), "Wait");
  EXPECT_EQ(cluster.client().find_stuck_instances().size(), 150U + 130U + 20U) << "more than one page of each";
  EXPECT_EQ(cluster.client().find_stuck_instances(7).size(), 3U * 7U);
  EXPECT_THAT(cluster.client().find_stuck_instances(0), IsEmpty());
}

TEST_P(Stuck, AnInstanceThatWaitsForTwoThingsIsNamedForBoth) {
  Registry registry;
  registry.add_orchestration("Two", [](Ctx ctx) -> Orchestration<void> {
    auto first = ctx.schedule_activity<void>("First");
    auto second = ctx.schedule_activity<void>("Second");
    co_await first;
    co_await second;
  });
  cluster.start_node(registry);
  start("i", "Two");
  EXPECT_THAT(found(), ElementsAre(stuck("i", "'First'"), stuck("i", "'Second'")));
}

}  // namespace
}  // namespace perdure::test
