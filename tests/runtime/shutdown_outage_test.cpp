// A node that ends while its store refuses commits. The next node must find no more attempts counted than before.
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/client.h>
#include <perdure/memory_provider.h>
#include <perdure/runtime.h>
#include <perdure/testing/forwarding_provider.h>
#include "support/eventually.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

class RefusingStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  std::atomic<bool> refuses{true};
  std::atomic<int> refused{0};
  std::atomic<std::uint32_t> most_attempts{0};

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch) return batch;
    for (const OrchestrationItem& item : batch->items)
      most_attempts = std::max(most_attempts.load(), item.attempt_count);
    return batch;
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    if (!refuses) return ForwardingProvider::ack_orchestration_items(commits);
    ++refused;
    return {commits.size(), ProviderError(ProviderErrorKind::kStoreFailed, "internal error (XX000)")};
  }
};

TEST(ShutdownInAnOutage, DoesNotCountAttempts) {
  const auto store = std::make_shared<RefusingStore>(make_memory_provider());
  Registry registry;
  registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 7; });
  Client client(store);
  client.start_orchestration("i", "Flow");
  RuntimeOptions options;
  options.max_attempts = 2;
  for (int i = 0; i < 4; ++i) {
    const int before = store->refused;
    Runtime runtime(store, registry, options);
    ASSERT_TRUE(eventually([&] { return store->refused > before; }));
    runtime.shutdown(0ms);
  }
  store->refuses = false;
  const Runtime runtime(store, registry, options);
  EXPECT_EQ(client.wait_for_orchestration("i", 1min).result<int>(), 7);
  EXPECT_EQ(store->most_attempts, 1U);
}

}  // namespace
}  // namespace perdure::test
