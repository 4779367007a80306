// Deployments node by node: new activities, new versions of an orchestration, a new engine. Work waits for the node
// that can do it, and nothing fails on the way.
#include <array>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/provider_admin.h>
#include <perdure/testing/filter_ignoring_provider.h>
#include "scenarios/gate.h"
#include "scenarios/stepped_cluster.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

RuntimeOptions quick() {
  RuntimeOptions options;
  options.unregistered_backoff = {.base = 100ms, .max = 500ms};
  return options;
}

// ---- New code, seed 004 --------------------------------------------------------------------------------------------

class RollingDeployment : public InEveryWorld {
 protected:
  RollingDeployment() {
    old_code.add_orchestration("Rolling", [](Ctx ctx) -> Orchestration<std::string> {
      co_return co_await ctx.schedule_activity<std::string>("NewActivity");
    });
    old_code.add_orchestration("Versioned", "1.0.0", [](Ctx ctx, std::string) -> Orchestration<std::string> {
      co_return ctx.continue_as_new("upgraded", StartOptions().version("2.0.0"));
    });
    new_code.merge(old_code);
    new_code.add_activity("NewActivity", [executed = executed](ActivityContext&) {
      ++*executed;
      return std::string("new-activity-result");
    });
    new_code.add_orchestration("Versioned", "2.0.0", [](Ctx, std::string input) -> Orchestration<std::string> {
      co_return "v2-completed:" + input;
    });
  }
  [[nodiscard]] std::uint64_t bounces(std::string_view kind) const {
    return world.metrics().counter_value(metric::kUnregisteredBackoff.name, {{"kind", kind}});
  }
  // One old node after the other becomes a new one.
  void upgrade(std::array<World::Node*, 2> nodes) {
    world.advance(2s);
    world.stop_node(*nodes[0]);
    world.start_node(new_code, quick());
    world.advance(1s);
    world.stop_node(*nodes[1]);
    world.start_node(new_code, quick());
  }

  Registry old_code;
  Registry new_code;
  std::shared_ptr<std::atomic<int>> executed = std::make_shared<std::atomic<int>>(0);
};
PERDURE_IN_EVERY_WORLD(RollingDeployment);

// Seed 004: e2e_rolling_deployment_three_nodes
TEST_P(RollingDeployment, ANewActivityRunsOnTheNodeThatHasIt) {
  auto& first = world.start_node(old_code, quick());
  auto& second = world.start_node(old_code, quick());
  world.start_node(new_code, quick());
  world.client().start_orchestration("i", "Rolling");
  upgrade({&first, &second});
  EXPECT_EQ(world.wait("i").result<std::string>(), "new-activity-result");
  EXPECT_EQ(*executed, 1);
}

// Seed 004: e2e_rolling_deployment_three_nodes, with all three nodes old at first
TEST_P(RollingDeployment, ANewActivityWaitsForTheFirstNodeThatHasIt) {
  auto& first = world.start_node(old_code, quick());
  auto& second = world.start_node(old_code, quick());
  auto& third = world.start_node(old_code, quick());
  world.client().start_orchestration("i", "Rolling");
  world.advance(1s);
  world.advance(500ms);
  EXPECT_GE(bounces("activity"), 2U);
  EXPECT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kRunning);
  world.stop_node(third);
  world.start_node(new_code, quick());
  upgrade({&first, &second});
  EXPECT_EQ(world.wait("i").result<std::string>(), "new-activity-result");
  EXPECT_EQ(*executed, 1);
}

// Seed 004: e2e_rolling_deployment_version_upgrade
TEST_P(RollingDeployment, AContinuationRunsOnTheNodeThatHasItsVersion) {
  auto& first = world.start_node(old_code, quick());
  auto& second = world.start_node(old_code, quick());
  world.start_node(new_code, quick());
  world.client().start_orchestration("i", "Versioned", "begin", StartInstanceOptions().version("1.0.0"));
  upgrade({&first, &second});
  const auto status = world.wait("i");
  EXPECT_EQ(status.result<std::string>(), "v2-completed:upgraded");
  EXPECT_EQ(status.version, v("2.0.0"));
  EXPECT_EQ(status.execution_id, 2U);
}

// Seed 004: e2e_rolling_deployment_version_upgrade, with all three nodes old at first
TEST_P(RollingDeployment, AContinuationWaitsForTheFirstNodeThatHasItsVersion) {
  auto& first = world.start_node(old_code, quick());
  auto& second = world.start_node(old_code, quick());
  world.client().start_orchestration("i", "Versioned", "begin", StartInstanceOptions().version("1.0.0"));
  world.advance(1s);
  world.advance(500ms);
  EXPECT_GE(bounces("orchestration"), 2U);
  EXPECT_EQ(world.client().get_orchestration_status("i").state, OrchestrationState::kRunning);
  upgrade({&first, &second});
  EXPECT_EQ(world.wait("i").result<std::string>(), "v2-completed:upgraded");
}

// ---- A new engine, seed 000's worked examples ----------------------------------------------------------------------

// "Order" waits for "go" as often as it is told, and tells which nodes it went on.
Registry orders(const std::string& node, const Ran& ran, bool with_second_version) {
  const auto code = [node, ran](Ctx ctx, int rounds) -> Orchestration<int> {
    for (int round = 0; round < rounds; ++round) {
      co_await ctx.schedule_wait<std::string>("go");
      ran.on(node, ctx.instance_id());
    }
    co_return rounds;
  };
  Registry registry;
  registry.add_orchestration("Order", "1.0.0", code);
  if (with_second_version) registry.add_orchestration("Order", "2.0.0", code);
  registry.add_orchestration("Eternal", [](Ctx ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<std::string>("go");
    co_return ctx.continue_as_new();
  });
  return registry;
}

class EngineUpgrade : public InEveryWorld {
 protected:
  // Two old nodes and a new one: by bad luck the old ones may meet the new version more often than ten times.
  static RuntimeOptions patient(const char* version) {
    RuntimeOptions options = engine(version);
    options.max_attempts = 1'000;
    return options;
  }
  auto& start_old(const std::string& node) { return world.start_node(orders(node, ran, false), patient("1.5.0")); }
  auto& start_new(const std::string& node) { return world.start_node(orders(node, ran, true), patient("2.0.0")); }
  void start(const std::string& instance, int rounds, const std::string& version) {
    world.client().start_orchestration(instance, "Order", rounds, StartInstanceOptions().version(version));
    world.until(
        [&] { return world.client().get_orchestration_status(instance).state == OrchestrationState::kRunning; });
  }
  [[nodiscard]] std::optional<SemanticVersion> pin(const std::string& instance) const {
    return world.client().get_instance_info(instance).pinned_version;
  }
  [[nodiscard]] OrchestrationState state(const std::string& instance) const {
    return world.client().get_orchestration_status(instance).state;
  }
  Ran ran;
};
PERDURE_IN_EVERY_WORLD(EngineUpgrade);

TEST_P(EngineUpgrade, ThreeNodesOneAfterTheOther) {
  auto& a = start_old("a");
  auto& b = start_old("b");
  auto& c = start_old("c");
  start("old", 4, "1.0.0");
  EXPECT_EQ(pin("old"), v("1.5.0"));

  // Step 1: what the new node begins is for the new node; what is old is for everybody.
  world.stop_node(a);
  auto& upgraded = start_new("A");
  start("new", 3, "2.0.0");
  EXPECT_EQ(pin("new"), v("2.0.0"));
  go(world, "old");
  go(world, "new");
  world.settle();
  EXPECT_THAT(ran.of("A"), Contains("new"));

  // It goes down: its work waits, and nobody else touches it.
  world.stop_node(upgraded);
  go(world, "new");
  go(world, "old");
  world.advance(1h);
  EXPECT_EQ(state("new"), OrchestrationState::kRunning);
  EXPECT_EQ(world.client().get_queue_depths().messages, 1U);
  EXPECT_THAT(ran.of("a"), Not(Contains("new")));
  EXPECT_THAT(ran.of("b"), Not(Contains("new")));
  EXPECT_THAT(ran.of("c"), Not(Contains("new")));

  // Step 2 and 3.
  world.stop_node(b);
  start_new("B");
  world.settle();
  EXPECT_THAT(ran.of("B"), Contains("new"));
  world.stop_node(c);
  start_new("C");
  for (const char* id : {"new", "old"}) {
    go(world, id);
    world.settle();
  }
  go(world, "old");
  EXPECT_EQ(world.wait("new").result<int>(), 3);
  EXPECT_EQ(world.wait("old").result<int>(), 4);
  EXPECT_EQ(pin("old"), v("1.5.0"));
  EXPECT_EQ(world.metrics().counter_total(metric::kOrchestrationIncompatibleVersionAbandoned.name), 0U);
}

TEST_P(EngineUpgrade, AContinuationIsPinnedToTheEngineThatTakesIt) {
  auto& old = start_old("b");
  world.client().start_orchestration("i", "Eternal");
  world.settle();
  go(world, "i");
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("i").execution_id, 2U);
  EXPECT_EQ(pin("i"), v("1.5.0"));
  world.stop_node(old);
  auto& upgraded = start_new("A");
  go(world, "i");
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("i").execution_id, 3U);
  EXPECT_EQ(pin("i"), v("2.0.0"));
  EXPECT_EQ(world.client().get_execution_info("i", 2).pinned_version, v("1.5.0"));
  // From now on it is for the new engine only.
  world.stop_node(upgraded);
  start_old("b");
  go(world, "i");
  world.advance(1h);
  EXPECT_EQ(world.client().get_instance_info("i").execution_id, 3U);
  start_new("A");
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("i").execution_id, 4U);
}

TEST_P(EngineUpgrade, ThePinIsTheEnginesVersionNotTheOrchestrations) {
  start_new("A");
  start("i", 1, "1.0.0");
  EXPECT_EQ(pin("i"), v("2.0.0"));
  EXPECT_EQ(world.client().get_instance_info("i").version, v("1.0.0"));
}

// Step 4 of the example: the old version is deregistered while one execution of it is left.
TEST_P(EngineUpgrade, AStragglerOfADeregisteredVersionBacksOffAndEndsAsPoison) {
  auto& old = start_old("a");
  start("i", 1, "1.0.0");
  world.stop_node(old);
  Registry registry;
  registry.add_orchestration("Order", "2.0.0", [](Ctx, int) -> Orchestration<int> { co_return 0; });
  world.start_node(registry, engine("2.0.0"));
  go(world, "i");
  world.settle();
  EXPECT_EQ(state("i"), OrchestrationState::kRunning);
  const auto status = world.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_TRUE(std::holds_alternative<PoisonError>(*status.error)) << status.error_text();
}

// ---- What old nodes never see --------------------------------------------------------------------------------------

class OldNodes : public InEveryCluster {};
PERDURE_IN_EVERY_CLUSTER(OldNodes);

// Seed 000, worked example: new event kinds
TEST_P(OldNodes, NeverFetchAHistoryWithEventsOfANewerEngine) {
  const Ran ran;
  begin_pinned(cluster, ran, "new", "2.0.0");
  begin_pinned(cluster, ran, "old", "1.5.0");
  cluster.append_unknown_event("new");
  go(cluster, "new");
  go(cluster, "old");
  cluster.log().clear();
  const auto watch = cluster.watched();
  for (const char* name : {"a", "b", "c"}) cluster.start_node(gate(name, ran), engine("1.5.0"), watch);
  cluster.advance(24h);
  EXPECT_EQ(cluster.state("old"), OrchestrationState::kCompleted);
  EXPECT_EQ(cluster.state("new"), OrchestrationState::kRunning);
  EXPECT_THAT(watch->attempts("new"), IsEmpty());
  EXPECT_THAT(cluster.warnings(), IsEmpty());
  const auto item = cluster.store()->fetch_orchestration_item().value();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->attempt_count, 1U);
}

// ---- Only what is registered ---------------------------------------------------------------------------------------

class FetchOnlyRegistered : public InEveryCluster {
 protected:
  static RuntimeOptions only_registered() {
    RuntimeOptions options;
    options.fetch_only_registered = true;
    return options;
  }
  static Registry orchestrations() {
    Registry registry;
    registry.add_orchestration("Order", [](Ctx ctx, int n) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>("Charge", n);
    });
    return registry;
  }
  static Registry activities() {
    Registry registry;
    registry.add_activity("Charge", [](ActivityContext&, int n) { return n + 1; });
    return registry;
  }
  std::shared_ptr<Watch> watch = cluster.watched();
};
PERDURE_IN_EVERY_CLUSTER(FetchOnlyRegistered);

TEST_P(FetchOnlyRegistered, NothingIsPutBack) {
  Registry other;
  other.add_orchestration("Other", [](Ctx) -> Orchestration<int> { co_return 1; });
  other.add_activity("OtherActivity", [](ActivityContext&) { return 1; });
  cluster.start_node(other, only_registered(), watch);
  cluster.client().start_orchestration("i", "Order", 41);
  cluster.advance(1h);
  EXPECT_THAT(watch->instances, IsEmpty());
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kPending);

  cluster.start_node(orchestrations(), only_registered());
  cluster.advance(1h);
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  EXPECT_THAT(watch->activities, IsEmpty());

  cluster.start_node(orchestrations().merge(activities()), only_registered());
  EXPECT_EQ(cluster.wait("i").result<int>(), 42);
  EXPECT_EQ(cluster.metrics().counter_total(metric::kUnregisteredBackoff.name), 0U);
  EXPECT_THAT(watch->instances, IsEmpty());
  EXPECT_THAT(watch->activities, IsEmpty());
}

// An empty list in a filter admits everything; a node without orchestrations must not fall for that.
TEST_P(FetchOnlyRegistered, ANodeForActivitiesAloneTakesNoInstances) {
  cluster.start_node(activities(), only_registered(), watch);
  cluster.client().start_orchestration("i", "Order", 41);
  cluster.advance(1h);
  EXPECT_THAT(watch->instances, IsEmpty());
  EXPECT_EQ(cluster.metrics().counter_total(metric::kUnregisteredBackoff.name), 0U);
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kPending);
  cluster.start_node(orchestrations(), only_registered());
  EXPECT_EQ(cluster.wait("i").state, OrchestrationState::kCompleted);
}

// The read of another instance's values is an activity that every worker serves.
TEST_P(FetchOnlyRegistered, ReadsOfOtherInstancesAreServedAllTheSame) {
  Registry registry;
  registry.add_orchestration("Writes", [](Ctx ctx) -> Orchestration<int> {
    ctx.set_kv_value("key", 7);
    co_return 0;
  });
  registry.add_orchestration("Reads", [](Ctx ctx) -> Orchestration<int> {
    const auto value = co_await ctx.get_kv_value_from_instance<int>("writer", "key");
    co_return value.value_or(-1);
  });
  cluster.start_node(registry, only_registered());
  cluster.client().start_orchestration("writer", "Writes");
  cluster.settle();
  cluster.client().start_orchestration("reader", "Reads");
  EXPECT_EQ(cluster.wait("reader").result<int>(), 7);
}

// A name is all that a store knows: a version that is not here is put back as without the option.
TEST_P(FetchOnlyRegistered, AMissingVersionOfAKnownNameIsPutBack) {
  cluster.start_node(orchestrations(), only_registered(), watch);
  cluster.client().start_orchestration("i", "Order", 41, StartInstanceOptions().version("2.0.0"));
  cluster.settle();
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U));
  EXPECT_THAT(watch->abandons, SizeIs(1));
}

TEST_P(FetchOnlyRegistered, OnAStoreThatDoesNotFilterTheRestIsPutBack) {
  Registry other;
  other.add_orchestration("Other", [](Ctx) -> Orchestration<int> { co_return 1; });
  cluster.start_node(other, only_registered(), testing::ignore_capability_filters(watch));
  cluster.client().start_orchestration("i", "Order", 41);
  cluster.settle();
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U));
  EXPECT_EQ(cluster.metrics().counter_total(metric::kUnregisteredBackoff.name), 1U);
}

TEST_P(FetchOnlyRegistered, TheStoreKnowsWhatItsNodesTake) {
  cluster.start_node(orchestrations().merge(activities()), only_registered());
  const auto nodes = cluster.client().list_nodes();
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_THAT(nodes.front().filter.orchestrations, ElementsAre("Order"));
  EXPECT_THAT(nodes.front().filter.activities, Contains("Charge"));
  EXPECT_THAT(nodes.front().filter.engine_versions, ElementsAre(VersionRange{{0, 0, 0}, engine_version()}));
}

}  // namespace
}  // namespace perdure::test
