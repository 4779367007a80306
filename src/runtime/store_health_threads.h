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

// Accepted calls that show what a failure of another item means. Each kind counts by itself, because a store may be
// able to do one and not another, for example if only one of its tables cannot grow.
enum class AcceptedCall : std::uint8_t {
  kTurn,     // with events
  kOutcome,  // with a completion
  kRead,     // of a history
};
inline constexpr std::size_t kAcceptedCalls = static_cast<std::size_t>(AcceptedCall::kRead) + 1;

class StoreHealth {
 public:
  StoreHealth(std::string node, const RuntimeOptions& options);

  // A failure that the data did not cause. kBusy is ordinary under load: it counts only if a call of the same kind
  // fails with it repeatedly, without a success in between.
  void failed(StoreCall call, const ProviderError& error, Timestamp now);
  void succeeded(StoreCall call, Timestamp now);
  // A call of this node that the store has accepted.
  void accepted(AcceptedCall call) noexcept { ++accepted_[static_cast<std::size_t>(call)]; }
  [[nodiscard]] std::uint64_t accepted_calls(AcceptedCall call) const noexcept {
    return accepted_[static_cast<std::size_t>(call)];
  }
  [[nodiscard]] bool is_available() const noexcept { return failing_ == 0; }
  [[nodiscard]] RuntimeHealth report() const;

 private:
  std::string node_;
  Logger logger_;
  Metrics metrics_;
  std::mutex reports_mutex_;  // keeps changes and their reports in one order; a sink may call report() under it
  mutable std::mutex mutex_;  // guards health_; never held while a sink runs
  std::atomic<std::uint32_t> failing_{0};  // a bit for each call; changes under reports_mutex_
  std::array<std::atomic<std::uint64_t>, kAcceptedCalls> accepted_{};
  std::array<std::atomic<std::uint32_t>, kStoreCalls> busy_{};  // in a row, of each call
  RuntimeHealth health_;
};

}  // namespace perdure::runtime
