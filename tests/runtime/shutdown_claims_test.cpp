// Activities that a commit claims for the worker of a runtime that is about to end.
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Its commits are answered late.
class LateAnswers final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Gate committed;
  Gate answer;
  Gate shutting_down;
  std::atomic<int> waits{0};

  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    auto answers = ForwardingProvider::ack_orchestration_items(commits);
    committed.open();
    answer.wait();
    return answers;
  }
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    const std::stop_callback noted(wait.stop, [this] { shutting_down.open(); });
    ++waits;
    return ForwardingProvider::wait_for_work(wait, deadline);
  }
};

// The worker has nothing to do long before the claim arrives, and then it has.
TEST(ShutdownClaims, WhatTheLastCommitClaimsIsGivenBackUncounted) {
  Registry registry;
  std::atomic<int> runs = 0;
  registry.add_activity("Work", [&runs](ActivityContext&) { return ++runs; });
  registry.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Work");
  });
  int claimed = 0;
  for (int i = 0; i < 20; ++i) {
    const auto store = std::make_shared<LateAnswers>(make_memory_provider());
    const auto runtime = std::make_shared<Runtime>(store, registry);
    ASSERT_TRUE(eventually([&] { return store->waits >= 2 && runtime->idle(); }));
    Client(store).start_orchestration("i", "Flow");
    ASSERT_TRUE(store->committed.wait());
    std::thread later([store] {
      store->shutting_down.wait();
      Runtime(make_memory_provider(), Registry()).shutdown();  // the worker has come to rest by then
      store->answer.open();
    });
    EXPECT_TRUE(returns([runtime] { runtime->shutdown(24h); }));
    later.join();
    if (runs.exchange(0) > 0) continue;  // a fetch was faster than the claim
    ++claimed;
    const auto item = store->fetch_work_item().value();
    ASSERT_TRUE(item) << "it is still locked";
    EXPECT_EQ(item->attempt_count, 1U);
  }
  EXPECT_GT(claimed, 0);
}

}  // namespace
}  // namespace perdure::test
