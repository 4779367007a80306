// Seed 000, the tests of the runtime on a store that does not filter: a node that gets what it cannot replay gives it
// back, until it has had enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/testing/filter_ignoring_provider.h>
#include "model/message_codec.h"
#include "scenarios/gate.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

const std::string kAbandonedVersions(metric::kOrchestrationIncompatibleVersionAbandoned.name);

class IncompatibleVersions : public InEveryCluster {
 protected:
  // A node whose store ignores its filter. What it gets is recorded.
  void start_unfiltered(RuntimeOptions options) {
    cluster.start_node(gate("a", ran), std::move(options), testing::ignore_capability_filters(watch));
  }
  Ran ran;
  std::shared_ptr<Watch> watch = cluster.watched();
};
PERDURE_IN_EVERY_CLUSTER(IncompatibleVersions);

// Seed 000, 12: runtime_abandons_incompatible_execution
TEST_P(IncompatibleVersions, AnIncompatibleExecutionIsGivenBackWithoutBeingRun) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  start_unfiltered(engine("1.0.0"));
  cluster.settle();
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U));
  EXPECT_THAT(watch->abandons, SizeIs(1));
  cluster.advance(1s);
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U, 2U));
  EXPECT_THAT(ran.of("a"), IsEmpty());
  EXPECT_THAT(cluster.event_kinds("i"), ElementsAre("OrchestrationStarted", "ExternalSubscribed"));
}

// Seed 000, 14: runtime_abandon_reaches_max_attempts_and_poisons
TEST_P(IncompatibleVersions, AfterMaxAttemptsItFailsWithPinAndRange) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  RuntimeOptions options = supporting("1.0.0", "1.9.9");
  options.max_attempts = 3;
  start_unfiltered(options);
  cluster.settle();
  cluster.advance(1s);
  cluster.advance(1s);
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  EXPECT_EQ(cluster.metrics().counter_total(kAbandonedVersions), 3U);
  cluster.advance(1s);
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U, 2U, 3U, 4U));
  EXPECT_THAT(watch->abandons, SizeIs(3));
  EXPECT_EQ(cluster.metrics().counter_total(kAbandonedVersions), 3U);
  EXPECT_THAT(ran.of("a"), IsEmpty());

  const auto status = cluster.client().get_orchestration_status("i");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  const auto* error = std::get_if<ConfigurationError>(&*status.error);
  ASSERT_NE(error, nullptr) << status.error_text();
  EXPECT_EQ(error->kind, ConfigurationErrorKind::kIncompatibleVersion);
  EXPECT_THAT(status.error_text(), AllOf(HasSubstr("99.0.0"), HasSubstr("1.0.0"), HasSubstr("1.9.9")));
}

// The same when its history cannot even be decoded: that is what a history of a later engine looks like.
TEST_P(IncompatibleVersions, AnUndecodableHistoryOfALaterEngineFailsForItsVersionToo) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  cluster.append_unknown_event("i");
  go(cluster, "i");
  RuntimeOptions options = engine("1.0.0");
  options.max_attempts = 3;
  start_unfiltered(options);
  const auto status = cluster.wait("i");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_TRUE(std::holds_alternative<ConfigurationError>(*status.error)) << status.error_text();
  EXPECT_THAT(status.error_text(), AllOf(HasSubstr("99.0.0"), HasSubstr("1.0.0")));
  EXPECT_EQ(cluster.metrics().counter_total(kAbandonedVersions), 3U);
}

TEST_P(IncompatibleVersions, TheParentOfAnIncompatibleChildIsTold) {
  Registry parents;
  parents.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_sub_orchestration<std::string>("Gate",
                                                                   SubOrchestrationOptions().instance_id("child"));
  });
  RuntimeOptions options = engine("1.0.0");
  options.fetch_only_registered = true;
  auto& parent = cluster.start_node(parents, options);
  options.engine_version = v("99.0.0");
  auto& child = cluster.start_node(gate("later", ran), options);
  cluster.client().start_orchestration("parent", "Parent");
  cluster.settle();
  cluster.stop_node(child);
  cluster.stop_node(parent);
  ASSERT_EQ(cluster.client().get_instance_info("parent").pinned_version, v("1.0.0"));
  ASSERT_EQ(cluster.client().get_instance_info("child").pinned_version, v("99.0.0"));

  options = engine("1.0.0");
  options.max_attempts = 3;
  cluster.start_node(gate("a", ran).merge(parents), options, testing::ignore_capability_filters(cluster.store()));
  go(cluster, "child");
  EXPECT_EQ(cluster.wait("child").state, OrchestrationState::kFailed);
  const auto status = cluster.wait("parent");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(), HasSubstr("99.0.0"));
}

// Seed 000, 15: runtime_abandon_uses_short_delay
TEST_P(IncompatibleVersions, ItRestsForASecondAfterEachTry) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  start_unfiltered(engine("1.0.0"));
  cluster.settle();
  ASSERT_THAT(watch->abandons, SizeIs(1));
  EXPECT_EQ(watch->abandons.front().delay, 1s);
  EXPECT_FALSE(watch->abandons.front().ignore_attempt);
  cluster.advance(999ms);
  EXPECT_THAT(watch->instances, SizeIs(1));
  cluster.advance(1ms);
  EXPECT_THAT(watch->instances, SizeIs(2));
  for (int i = 0; i < 9; ++i) cluster.advance(1s);
  EXPECT_THAT(watch->abandons, AllOf(SizeIs(10), Each(::testing::Field(&Abandon::delay, 1s))));
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kFailed);
}

// Seed 000, 27: default_supported_range_excludes_future_versions
TEST_P(IncompatibleVersions, ByDefaultLaterVersionsAreNotRun) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  start_unfiltered({});
  cluster.settle();
  EXPECT_THAT(watch->attempts("i"), ElementsAre(1U));
  EXPECT_THAT(watch->abandons, SizeIs(1));
  EXPECT_THAT(ran.of("a"), IsEmpty());
  EXPECT_EQ(cluster.metrics().counter_total(kAbandonedVersions), 1U);
}

// Seed 000, 27, with a store that filters: nothing is fetched, so nothing is counted.
TEST_P(IncompatibleVersions, AStoreThatFiltersDoesNotEvenDeliverThem) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  cluster.start_node(gate("a", ran), {}, watch);
  cluster.advance(1h);
  EXPECT_THAT(watch->instances, IsEmpty());
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  const auto item = cluster.store()->fetch_orchestration_item().value();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->attempt_count, 1U);
}

// Seed 000, 28: custom_supported_replay_versions_narrows_range
TEST_P(IncompatibleVersions, ARangeOfOnesOwnIsNarrower) {
  begin_pinned(cluster, ran, "before", "0.9.0");
  begin_pinned(cluster, ran, "within", "1.5.0");
  begin_pinned(cluster, ran, "behind", "2.0.0");
  for (const char* id : {"before", "within", "behind"}) go(cluster, id);
  start_unfiltered(supporting("1.0.0", "1.9.999"));
  cluster.settle();
  EXPECT_EQ(cluster.state("within"), OrchestrationState::kCompleted);
  EXPECT_EQ(cluster.state("before"), OrchestrationState::kRunning);
  EXPECT_EQ(cluster.state("behind"), OrchestrationState::kRunning);
  EXPECT_THAT(watch->abandons, SizeIs(2));
  EXPECT_THAT(ran.of("a"), ElementsAre("within"));
}

// Seed 000, 30: runtime_logs_warning_on_incompatible_abandon
TEST_P(IncompatibleVersions, EachTryIsLoggedWithInstancePinAndRange) {
  begin_pinned(cluster, ran, "order-7", "99.0.0");
  go(cluster, "order-7");
  cluster.log().clear();
  start_unfiltered(supporting("1.0.0", "1.9.9"));
  cluster.settle();
  const auto warnings = cluster.warnings();
  ASSERT_THAT(warnings, SizeIs(1));
  std::string text = warnings.front().message;
  for (const auto& [key, value] : warnings.front().fields) text += " " + value;
  EXPECT_THAT(text, AllOf(HasSubstr("order-7"), HasSubstr("99.0.0"), HasSubstr("1.0.0"), HasSubstr("1.9.9")));
  EXPECT_EQ(warnings.front().field("instance_id"), "order-7");
}

// The tool itself.
TEST_P(IncompatibleVersions, TheStoreThatIgnoresFiltersIgnoresThemInFetchesAndWaits) {
  begin_pinned(cluster, ran, "i", "99.0.0");
  go(cluster, "i");
  const auto plain = cluster.store();
  const auto ignoring = testing::ignore_capability_filters(plain);
  OrchestrationFetch turns;
  turns.filter.engine_versions = {{v("1.0.0"), v("1.0.0")}};
  turns.filter.orchestrations = {"Nothing"};
  EXPECT_FALSE(plain->wait_for_work({.orchestrations = turns, .activities = {}}, cluster.now()).value());
  EXPECT_FALSE(plain->fetch_orchestration_item(turns).value().has_value());
  EXPECT_TRUE(ignoring->wait_for_work({.orchestrations = turns, .activities = {}}, cluster.now()).value());
  EXPECT_TRUE(ignoring->fetch_orchestration_item(turns).value().has_value());

  messages::ExecuteActivity execute;
  execute.schedule_id = 7;
  execute.name = "Work";
  ASSERT_TRUE(plain->enqueue_activity(encode_message({"i", 1, std::nullopt, execute})).has_value());
  WorkFetch work;
  work.filter.activities = {"Nothing"};
  EXPECT_FALSE(plain->wait_for_work({.orchestrations = {}, .activities = work}, cluster.now()).value());
  EXPECT_FALSE(plain->fetch_work_item(work).value().has_value());
  EXPECT_TRUE(ignoring->wait_for_work({.orchestrations = {}, .activities = work}, cluster.now()).value());
  EXPECT_TRUE(ignoring->fetch_work_item(work).value().has_value());

  EXPECT_EQ(ignoring->name(), plain->name());
  EXPECT_EQ(ignoring->capabilities(), plain->capabilities());
  EXPECT_EQ(ignoring->admin(), plain->admin());
  EXPECT_THROW((void)testing::ignore_capability_filters(nullptr), std::invalid_argument);
}

// ---- Histories that cannot be decoded ------------------------------------------------------------------------------

// Seed 000, 29: wide_supported_range_drains_stuck_items_via_deserialization_error
TEST_P(IncompatibleVersions, AWideRangeDrainsWhatNobodyCanDecode) {
  for (const char* id : {"stuck1", "stuck2", "sound"}) begin_pinned(cluster, ran, id, "99.0.0");
  for (const char* id : {"stuck1", "stuck2"}) cluster.append_unknown_event(id);
  RuntimeOptions options;
  options.supported_replay_versions = {{v("0.0.0"), v("99.0.0")}};
  options.max_attempts = 3;
  cluster.start_node(gate("a", ran), options, watch);
  for (const char* id : {"stuck1", "stuck2", "sound"}) go(cluster, id);
  EXPECT_EQ(cluster.wait("sound").result<std::string>(), "a");
  for (const char* id : {"stuck1", "stuck2"}) {
    const auto status = cluster.wait(id);
    ASSERT_EQ(status.state, OrchestrationState::kFailed) << id;
    const auto* error = std::get_if<PoisonError>(&*status.error);
    ASSERT_NE(error, nullptr) << status.error_text();
    EXPECT_EQ(error->subject, PoisonSubject::kUndecodableHistory);
    EXPECT_THAT(status.error_text(), HasSubstr(id));
    EXPECT_THAT(watch->attempts(id), ElementsAre(1U, 2U, 3U, 4U));
  }
  EXPECT_THAT(ran.of("a"), ElementsAre("sound"));
}

// Seed 000, 42: fetch_deserialization_error_eventually_reaches_poison
TEST_P(IncompatibleVersions, AnUndecodableHistoryEndsAsPoison) {
  begin_pinned(cluster, ran, "i", "0.1.0");
  cluster.damage_history("i");
  go(cluster, "i");
  RuntimeOptions options;
  options.max_attempts = 3;
  start_unfiltered(options);
  cluster.settle();
  for (const std::uint32_t attempts : {1U, 2U, 3U}) {
    EXPECT_EQ(watch->attempts("i").size(), attempts);
    EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
    EXPECT_EQ(watch->abandons.back().delay, 1s);
    cluster.advance(1s);
  }
  const auto status = cluster.client().get_orchestration_status("i");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  const auto* error = std::get_if<PoisonError>(&*status.error);
  ASSERT_NE(error, nullptr) << status.error_text();
  EXPECT_EQ(error->subject, PoisonSubject::kUndecodableHistory);
  EXPECT_EQ(error->attempts, 4U);
  EXPECT_EQ(error->max_attempts, 3U);
  EXPECT_EQ(error->instance, "i");
  EXPECT_EQ(cluster.metrics().counter_total(metric::kOrchestrationPoison.name), 1U);
  EXPECT_THAT(ran.of("a"), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
