// RuntimeOptions::cached_bytes bounds what a node keeps, values of the user included.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include <perdure/sqlite_provider.h>
#include "runtime/threaded.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kCacheLimit = 64 * kMebibyte;

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) * 1'024;
  }
  return 0;
}

// In a file, because a store in memory would hold the inputs itself. A quarter of a gibibyte waits; without a count of
// the inputs all of it would be resident.
TEST(CachedBytes, BoundsWaitingInstancesWithLargeInputs) {
  const TemporaryFolder folder;
  const auto metrics = std::make_shared<CapturingMetrics>();
  SqliteOptions store_options;
  store_options.synchronous = SqliteSynchronous::kNormal;
  const auto store = SqliteProvider::open(folder.file("store.db"), store_options);
  const Client client(store);
  Registry registry;
  registry.add_orchestration("Waits", [](OrchestrationContext ctx, std::string input) -> Orchestration<std::size_t> {
    co_await ctx.schedule_wait<void>("go");
    co_return input.size();
  });
  RuntimeOptions options;
  options.cached_bytes = kCacheLimit;
  options.metrics = Metrics(metrics);
  const std::size_t before = resident_bytes();
  const Runtime runtime(store, registry, options);
  constexpr int kInstances = 32;
  {
    const std::string input(8 * kMebibyte, 'x');
    for (int i = 0; i < kInstances; ++i) {
      const std::string id = "i" + std::to_string(i);
      client.start_orchestration(id, "Waits", input);
      ASSERT_TRUE(
          eventually([&] { return client.get_orchestration_status(id).state == OrchestrationState::kRunning; }));
    }
  }
  ASSERT_TRUE(eventually([&] { return runtime.idle(); }));
  EXPECT_LE(metrics->gauge_value(metric::kCachedBytes.name).value_or(0), static_cast<double>(kCacheLimit));
  EXPECT_GE(metrics->gauge_value(metric::kCachedBytes.name).value_or(0), static_cast<double>(kCacheLimit / 2));
#if !PERDURE_TEST_SANITIZED  // whose allocators keep what is freed
  EXPECT_TRUE(eventually([&] { return resident_bytes() <= before + 2 * kCacheLimit; }))
      << (resident_bytes() - before) / kMebibyte << " MiB more than before";
#endif
  client.raise_event("i0", "go");  // one that left the cache long ago
  EXPECT_EQ(client.wait_for_orchestration("i0", kPatience).result<std::size_t>(), 8 * kMebibyte);
}

}  // namespace
}  // namespace perdure::test
