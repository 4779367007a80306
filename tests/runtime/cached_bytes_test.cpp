// RuntimeOptions::cached_bytes bounds what a node keeps, values of the user included.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <malloc.h>

#include <perdure/engine_metrics.h>
#include <perdure/sqlite_provider.h>
#include "runtime/threaded.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kCacheLimit = 32 * kMebibyte;
constexpr std::size_t kInputBytes = 4 * kMebibyte;
// A sanitizer keeps what is freed, so that its processes would need several times as much memory.
constexpr int kInstances = PERDURE_TEST_SANITIZED ? 20 : 50;
// The limit counts what is kept between turns, each value once. Beside it stand the copies of a few inputs whose turns
// run at the time (rows, messages, events), and the page cache of the store. Twice the limit and this is 96 MiB;
// without a limit it would be 200 MiB.
[[maybe_unused]] constexpr std::size_t kSlack = 32 * kMebibyte;

// Free memory of the allocator is no memory of the node.
std::size_t resident_bytes() {
  static_cast<void>(::malloc_trim(0));
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6)) * 1'024;
  }
  return 0;
}

// In a file, because a store in memory would hold the inputs itself. 200 MiB wait; without a count of the inputs all of
// it would be resident.
class CachedBytes : public ::testing::Test {
 protected:
  CachedBytes() {
    SqliteOptions store_options;
    store_options.synchronous = SqliteSynchronous::kNormal;
    store = SqliteProvider::open(folder.file("store.db"), store_options);
    registry.add_orchestration("Waits", [](OrchestrationContext ctx, std::string input) -> Orchestration<std::size_t> {
      co_await ctx.schedule_wait<void>("go");
      co_return input.size();
    });
    options.cached_bytes = kCacheLimit;
    options.metrics = Metrics(metrics);
  }

  [[nodiscard]] Client client() const { return Client(store); }
  void start_all() const {
    const std::string input(kInputBytes, 'x');
    for (int i = 0; i < kInstances; ++i) client().start_orchestration("i" + std::to_string(i), "Waits", input);
  }
  [[nodiscard]] bool all_wait() const {
    for (int i = 0; i < kInstances; ++i) {
      const auto status = client().get_orchestration_status("i" + std::to_string(i));
      if (status.state != OrchestrationState::kRunning) return false;
    }
    return true;
  }
  void expect_bounded(const Runtime& runtime, std::size_t resident_before) const {
    ASSERT_TRUE(eventually([&] { return all_wait() && runtime.idle(); }, kPatience * 3));
    const double gauge = metrics->gauge_value(metric::kCachedBytes.name).value_or(0);
    EXPECT_LE(gauge, static_cast<double>(kCacheLimit));
    EXPECT_GE(gauge, static_cast<double>(kCacheLimit / 2));
#if !PERDURE_TEST_SANITIZED
    std::size_t resident = 0;
    EXPECT_TRUE(eventually([&] {
      resident = resident_bytes();
      return resident <= resident_before + 2 * kCacheLimit + kSlack;
    })) << (resident - resident_before) / kMebibyte
        << " MiB more than before";
    std::cout << "resident growth: " << (resident - std::min(resident, resident_before)) / kMebibyte << " MiB\n";
#else
    static_cast<void>(resident_before);
#endif
    client().raise_event("i0", "go");  // perhaps one that left the cache long ago
    EXPECT_EQ(client().wait_for_orchestration("i0", kPatience).result<std::size_t>(), kInputBytes);
  }

  TemporaryFolder folder;
  std::shared_ptr<CapturingMetrics> metrics = std::make_shared<CapturingMetrics>();
  std::shared_ptr<Provider> store;
  Registry registry;
  RuntimeOptions options;
};

TEST_F(CachedBytes, BoundInstancesThatStartOneAfterTheOther) {
  const std::size_t before = resident_bytes();
  const Runtime runtime(store, registry, options);
  start_all();
  expect_bounded(runtime, before);
}

// The node finds all of them at once.
TEST_F(CachedBytes, BoundInstancesThatWaitForTheNode) {
  const std::size_t before = resident_bytes();
  start_all();
  const Runtime runtime(store, registry, options);
  expect_bounded(runtime, before);
}

}  // namespace
}  // namespace perdure::test
