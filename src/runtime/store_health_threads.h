// StoreHealth: whether the store serves a node. Both dispatchers report to it, each under its own mutex, and any thread
// may read it. Every change is logged and written to the gauge once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider_error.h>
#include <perdure/runtime.h>
#include <perdure/runtime_options.h>

namespace perdure::runtime {

// The kinds of calls of a node. A store may deliver items and refuse their commits, so each kind counts by itself. A
// store that accepts turns or outcomes also counts as managing their locks.
enum class StoreCall : std::uint8_t {
  kFetchInstances,
  kLockInstances,  // renew and abandon
  kStoreTurns,     // and read histories
  kFetchActivities,
  kLockActivities,
  kStoreOutcomes,
};
inline constexpr std::size_t kStoreCalls = static_cast<std::size_t>(StoreCall::kStoreOutcomes) + 1;

class StoreHealth {
 public:
  StoreHealth(std::string node, const RuntimeOptions& options);

  // A failure that the data did not cause. kBusy is ordinary under load: it counts only if a call of the same kind
  // fails with it repeatedly, without a success in between.
  void failed(StoreCall call, const ProviderError& error, Timestamp now);
  void succeeded(StoreCall call, Timestamp now);
  // The turns and outcomes that the store has accepted from this node, from both dispatchers.
  void accepted() noexcept { ++accepted_; }
  [[nodiscard]] std::uint64_t accepted_calls() const noexcept { return accepted_; }
  [[nodiscard]] bool is_available() const noexcept { return failing_ == 0; }
  [[nodiscard]] RuntimeHealth report() const;

 private:
  std::string node_;
  Logger logger_;
  Metrics metrics_;
  std::mutex reports_mutex_;  // keeps changes and their reports in one order; a sink may call report() under it
  mutable std::mutex mutex_;  // guards health_; never held while a sink runs
  std::atomic<std::uint32_t> failing_{0};  // a bit for each call; changes under reports_mutex_
  std::atomic<std::uint64_t> accepted_{0};
  std::array<std::atomic<std::uint32_t>, kStoreCalls> busy_{};  // in a row, of each call
  RuntimeHealth health_;
};

}  // namespace perdure::runtime
