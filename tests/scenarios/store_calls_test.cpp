// What nodes ask of their store: what they do when it refuses, and what they do not ask at all.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using Ctx = OrchestrationContext;

using StoreCalls = InEveryCluster;
PERDURE_IN_EVERY_CLUSTER(StoreCalls);

// ---- Refused commits: W14 ------------------------------------------------------------------------------------------

class RefusesCommits final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  int to_refuse = 0;
  int refusals = 0;

  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    if (refusals == to_refuse) return ForwardingProvider::ack_orchestration_items(commits);
    ++refusals;
    const ProviderError refused(ProviderErrorKind::kInvalidArgument, "refused");
    return std::vector<ProviderResult<CommitAnswer>>(commits.size(), refused);
  }
};

// Its lock would end after five seconds.
TEST_P(StoreCalls, ATurnWhoseCommitIsRefusedIsTriedAgainAfterFiftyMilliseconds) {
  Registry registry;
  registry.add_orchestration("Waits",
                             [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  const auto watch = cluster.watched();
  const auto view = std::make_shared<RefusesCommits>(watch);
  cluster.start_node(registry, {}, view);
  cluster.client().start_orchestration("i", "Waits");
  cluster.settle();
  view->to_refuse = 2;
  cluster.client().raise_event("i", "go", 7);
  for (int refused = 1; refused <= 2; ++refused) {
    cluster.settle();
    EXPECT_EQ(view->refusals, refused);
    ASSERT_EQ(watch->abandons.size(), static_cast<std::size_t>(refused)) << "it was not given back";
    EXPECT_EQ(watch->abandons.back().delay, 50ms);
    EXPECT_FALSE(watch->abandons.back().ignore_attempt);
    cluster.advance(49ms);
    EXPECT_EQ(view->refusals, refused);
    EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
    cluster.advance(1ms);
  }
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 7);
}

// ---- Histories that no worker reads: W22 ---------------------------------------------------------------------------

class WithoutHistories final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  int reads = 0;

  ProviderAdmin* admin() noexcept override { return nullptr; }
  ProviderResult<StoredHistory> read_history(const LockToken&, EventId) override {
    ++reads;
    return ProviderError(ProviderErrorKind::kUnsupported, "nobody may read histories here");
  }
  // An instance may come with its history.
  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    ++reads;
    return ForwardingProvider::fetch_orchestration_items(fetch);
  }
};

TEST_P(StoreCalls, AnActivityKnowsItsOrchestrationWithoutItsHistory) {
  Registry turns;
  turns.add_orchestration("Flow", "1.2.3", [](Ctx ctx, int rounds) -> Orchestration<int> {
    if (rounds > 0) co_return ctx.continue_as_new(rounds - 1);
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  RuntimeOptions no_activities;
  no_activities.worker_tag_filter = TagFilter::none();
  auto& beginner = cluster.start_node(turns, no_activities);
  cluster.client().start_orchestration("i", "Flow", 1);
  cluster.settle();
  cluster.stop_node(beginner);
  cluster.damage_history("i");

  std::optional<ActivityContext> seen;
  Registry work;
  work.add_activity("Work", [&](ActivityContext& context) {
    seen = context;
    return 1;
  });
  RuntimeOptions only_activities;
  only_activities.fetch_only_registered = true;
  const auto view = std::make_shared<WithoutHistories>(cluster.store());
  cluster.start_node(work, only_activities, view);
  cluster.settle();
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->orchestration_name(), "Flow");
  EXPECT_EQ(seen->orchestration_version(), (SemanticVersion{1, 2, 3}));
  EXPECT_EQ(seen->instance_id(), "i");
  EXPECT_EQ(seen->execution_id(), 2U);
  EXPECT_EQ(view->reads, 0);
}

}  // namespace
}  // namespace perdure::test
