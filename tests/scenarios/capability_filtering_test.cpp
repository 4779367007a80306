// Seed 000, the tests of the runtime on a store that filters: executions are pinned to the engine that began them, and
// nodes get what they can replay. incompatible_version_test.cpp has those on a store that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/provider_admin.h>
#include "model/message_codec.h"
#include "runtime/turn_commit_builder.h"
#include "scenarios/gate.h"
#include "scenarios/stepped_cluster.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

const std::string kAbandoned(metric::kOrchestrationIncompatibleVersionAbandoned.name);

// ---- Routing -------------------------------------------------------------------------------------------------------

class CapabilityRouting : public InEveryWorld {
 protected:
  Ran ran;
};
PERDURE_IN_EVERY_WORLD(CapabilityRouting);

// Seed 000, 13: runtime_processes_compatible_execution_normally
TEST_P(CapabilityRouting, ACompatibleExecutionIsProcessedNormally) {
  world.start_node(gate("a", ran));
  world.client().start_orchestration("i", "Gate");
  world.settle();
  go(world, "i");
  EXPECT_EQ(world.wait("i").result<std::string>(), "a");
  EXPECT_EQ(world.metrics().counter_total(kAbandoned), 0U);
  EXPECT_EQ(world.log().count(LogLevel::kWarn), 0U);
}

// Seed 000, 16: two_runtimes_different_version_ranges_route_correctly
TEST_P(CapabilityRouting, TwoNodesWithDifferentRangesGetTheirOwn) {
  begin_pinned(world, ran, "x", "1.5.0");
  begin_pinned(world, ran, "y", "2.5.0");
  world.start_node(gate("a", ran), supporting("1.0.0", "1.999.999"));
  world.start_node(gate("b", ran), supporting("2.0.0", "2.999.999"));
  go(world, "x");
  go(world, "y");
  EXPECT_EQ(world.wait("x").result<std::string>(), "a");
  EXPECT_EQ(world.wait("y").result<std::string>(), "b");
  EXPECT_THAT(ran.of("a"), ElementsAre("x"));
  EXPECT_THAT(ran.of("b"), ElementsAre("y"));
  EXPECT_EQ(world.metrics().counter_total(kAbandoned), 0U);
}

// Seed 000, 17: overlapping_version_ranges_both_can_process
TEST_P(CapabilityRouting, NodesWithOverlappingRangesShareWhatBothCanRun) {
  for (const char* id : {"1", "2", "3", "4", "5", "6"}) begin_pinned(world, ran, id, "2.5.0");
  world.start_node(gate("a", ran), supporting("1.0.0", "2.999.999"));
  world.start_node(gate("b", ran), supporting("2.0.0", "3.999.999"));
  for (const char* id : {"1", "2", "3", "4", "5", "6"}) go(world, id);
  for (const char* id : {"1", "2", "3", "4", "5", "6"}) {
    EXPECT_TRUE(world.wait(id).completed());
    EXPECT_THAT(world.event_kinds(id),
                ElementsAre("OrchestrationStarted", "ExternalSubscribed", "ExternalEvent", "OrchestrationCompleted"));
  }
}

// Seed 000, 18: mixed_cluster_compatible_and_incompatible_items
TEST_P(CapabilityRouting, InAMixedClusterEachInstanceCompletesOnTheNodeThatFits) {
  for (const char* id : {"a1", "a2", "a3"}) begin_pinned(world, ran, id, "1.5.0");
  for (const char* id : {"b1", "b2"}) begin_pinned(world, ran, id, "2.5.0");
  world.start_node(gate("a", ran), supporting("1.0.0", "1.999.999"));
  world.start_node(gate("b", ran), supporting("2.0.0", "2.999.999"));
  for (const char* id : {"a1", "b1", "a2", "b2", "a3"}) go(world, id);
  for (const std::string id : {"a1", "b1", "a2", "b2", "a3"}) {
    EXPECT_EQ(world.wait(id).result<std::string>(), id.substr(0, 1));
  }
  EXPECT_THAT(ran.of("a"), ElementsAre("a1", "a2", "a3"));
  EXPECT_THAT(ran.of("b"), ElementsAre("b1", "b2"));
}

// Seed 000, 19: execution_metadata_includes_pinned_version_on_new_orchestration
TEST_P(CapabilityRouting, ANewExecutionIsPinnedToTheVersionOfTheEngine) {
  world.start_node(gate("a", ran));
  world.client().start_orchestration("i", "Gate");
  world.settle();
  go(world, "i");
  world.wait("i");
  EXPECT_EQ(world.client().get_instance_info("i").pinned_version, engine_version());
  EXPECT_EQ(world.client().get_execution_info("i", 1).pinned_version, engine_version());
  EXPECT_EQ(world.client().read_execution_history("i").front().engine_version, engine_version());
}

// Seed 000, 24: sub_orchestration_gets_own_pinned_version
TEST_P(CapabilityRouting, AChildIsPinnedToTheEngineThatBeginsIt) {
  Registry registry = gate("any", ran);
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_wait<std::string>("go");
    co_return co_await ctx.schedule_sub_orchestration<std::string>("Gate",
                                                                   SubOrchestrationOptions().instance_id("child"));
  });
  auto& old = world.start_node(registry, engine("1.0.0"));
  world.client().start_orchestration("parent", "Parent");
  world.settle();
  world.stop_node(old);
  world.start_node(registry, engine("2.0.0"));
  go(world, "parent");
  world.settle();
  EXPECT_EQ(world.client().get_instance_info("parent").pinned_version, v("1.0.0"));
  EXPECT_EQ(world.client().get_instance_info("child").pinned_version, v("2.0.0"));
  go(world, "child");
  EXPECT_TRUE(world.wait("parent").completed());
}

// Seed 000, 26: default_supported_range_includes_current_and_older_versions
TEST_P(CapabilityRouting, ByDefaultANodeRunsEverythingUpToItsOwnVersion) {
  begin_pinned(world, ran, "oldest", "0.0.1");
  begin_pinned(world, ran, "older", "0.5.0");
  begin_pinned(world, ran, "current", "1.0.0");
  world.start_node(gate("a", ran), engine("1.0.0"));
  for (const char* id : {"oldest", "older", "current"}) go(world, id);
  for (const char* id : {"oldest", "older", "current"}) EXPECT_EQ(world.wait(id).result<std::string>(), "a");
}

// ---- Continue as new -----------------------------------------------------------------------------------------------

// The first execution schedules an activity, which a worker outside of the cluster takes, and continues as new.
class ActivityOfAnEarlierExecution : public InEveryCluster {
 protected:
  ActivityOfAnEarlierExecution() {
    registry.add_orchestration("Loop", [](Ctx ctx, int round) -> Orchestration<std::string> {
      if (round == 1) {
        auto slow = ctx.schedule_activity<int>("Slow");
        co_await ctx.schedule_wait<std::string>("next");
        co_return ctx.continue_as_new(2);
      }
      co_await ctx.schedule_wait<std::string>("go");
      co_return "done";
    });
    auto& old = cluster.start_node(registry, without_workers("1.0.0"));
    cluster.client().start_orchestration("i", "Loop", 1);
    cluster.settle();
    cluster.stop_node(old);
    work = cluster.store()->fetch_work_item().value().value();
    cluster.start_node(registry, without_workers("2.0.0"), later);
    cluster.client().raise_event("i", "next", "now");
  }
  static RuntimeOptions without_workers(std::string_view version) {
    RuntimeOptions options = engine(version);
    options.worker_tag_filter = TagFilter::none();
    return options;
  }
  // In a cluster with a node of the old engine, whom the second execution is not for.
  void expect_that_the_second_execution_goes_on() {
    cluster.settle();
    ASSERT_EQ(cluster.client().get_instance_info("i").execution_id, 2U);
    EXPECT_EQ(cluster.client().get_instance_info("i").pinned_version, v("2.0.0"));
    EXPECT_EQ(cluster.client().get_execution_info("i", 1).pinned_version, v("1.0.0"));
    cluster.client().raise_event("i", "go", "now");
    EXPECT_EQ(cluster.wait("i").result<std::string>(), "done");
    EXPECT_THAT(cluster.event_kinds("i"),
                ElementsAre("OrchestrationStarted", "ExternalSubscribed", "ExternalEvent", "OrchestrationCompleted"));
    EXPECT_THAT(earlier->instances, IsEmpty());
  }
  [[nodiscard]] MessageRecord completion() const {
    return encode_message({"i", 1, std::nullopt, messages::ActivityCompleted{work.record.activity_id, "7"}});
  }

  Registry registry;
  WorkItem work;
  std::shared_ptr<Watch> later = cluster.watched();
  std::shared_ptr<Watch> earlier = cluster.watched();
};
PERDURE_IN_EVERY_CLUSTER(ActivityOfAnEarlierExecution);

// Seed 000, 25a: activity_completion_after_continue_as_new_is_discarded
TEST_P(ActivityOfAnEarlierExecution, IsWithdrawnByContinueAsNew) {
  cluster.settle();
  cluster.start_node(registry, without_workers("1.0.0"), earlier);
  const auto renewed = cluster.store()->renew_work_lock(work.token, 30s);
  ASSERT_FALSE(renewed.has_value());
  EXPECT_EQ(renewed.error().kind(), ProviderErrorKind::kLockLost);
  const auto acked = cluster.store()->ack_work_item({.token = work.token, .completion = completion()});
  ASSERT_FALSE(acked.has_value());
  EXPECT_EQ(acked.error().kind(), ProviderErrorKind::kLockLost);
  EXPECT_EQ(cluster.client().get_queue_depths().messages, 0U);
  expect_that_the_second_execution_goes_on();
}

// Seed 000, 25b: activity_completion_after_continue_as_new_is_discarded
TEST_P(ActivityOfAnEarlierExecution, HasNoEffectIfItsCompletionComesLate) {
  cluster.step_until([&] { return later->attempts("i").size() == 1; });
  cluster.log().clear();
  ASSERT_TRUE(cluster.store()->ack_work_item({.token = work.token, .completion = completion()}).has_value());
  cluster.settle();
  EXPECT_EQ(cluster.client().get_queue_depths().messages, 0U);
  EXPECT_THAT(cluster.warnings(), Contains(::testing::Field(&CapturedLogRecord::message, HasSubstr("execution"))));
  cluster.start_node(registry, without_workers("1.0.0"), earlier);
  expect_that_the_second_execution_goes_on();
}

// Seed 000, 25b, long after: the completion is all there is in the batch.
TEST_P(ActivityOfAnEarlierExecution, HasNoEffectIfItsCompletionComesMuchLater) {
  cluster.settle();
  cluster.start_node(registry, without_workers("1.0.0"), earlier);
  cluster.log().clear();
  ASSERT_TRUE(cluster.store()->enqueue_message(completion()).has_value());
  cluster.settle();
  EXPECT_EQ(cluster.client().get_queue_depths().messages, 0U);
  EXPECT_THAT(cluster.warnings(), SizeIs(1));
  expect_that_the_second_execution_goes_on();
}

// ---- The pin itself, and what a node says of itself ----------------------------------------------------------------

// Seed 000, 21: pinned_version_extracted_from_orchestration_started_event
TEST(CapabilityFiltering, ThePinComesFromTheEventThatStartsTheExecution) {
  TurnOutcome outcome;
  outcome.events = {Event{.id = 1,
                          .turn = 1,
                          .time = {},
                          .engine_version = v("3.1.4"),
                          .body = events::OrchestrationStarted{"Order", v("1.0.0"), {}, {}, {}, {}}}};
  TurnCommit commit;
  runtime::add_outcome(commit, outcome, std::nullopt);
  ASSERT_TRUE(commit.started.has_value());
  EXPECT_EQ(commit.started->pinned_version, v("3.1.4"));
  TurnCommit later;
  outcome.events.front() =
      Event{.id = 2, .turn = 2, .time = {}, .engine_version = v("3.1.4"), .body = events::ExternalSubscribed{"go"}};
  runtime::add_outcome(later, outcome, std::nullopt);
  EXPECT_FALSE(later.started.has_value());
}

// Seed 000, 31: runtime_logs_capability_declaration_at_startup
TEST(CapabilityFiltering, ANodeLogsItsRangesWhenItStarts) {
  const auto log = std::make_shared<CapturingLogSink>();
  RuntimeOptions options;
  options.logger = Logger(log);
  options.supported_replay_versions = {{v("1.0.0"), v("1.9.9")}, {v("3.0.0"), v("3.1.0")}};
  const auto store = make_memory_provider();
  Ran ran;
  const Runtime runtime(store, gate("a", ran), options);
  bool found = false;
  for (const CapturedLogRecord& record : log->records()) {
    const std::string range = record.field("supported_range").value_or("");
    found = found || (record.level == LogLevel::kInfo && range.find("1.0.0") != std::string::npos &&
                      range.find("1.9.9") != std::string::npos && range.find("3.0.0") != std::string::npos &&
                      range.find("3.1.0") != std::string::npos);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace perdure::test
