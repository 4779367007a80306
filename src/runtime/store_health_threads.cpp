#include "runtime/store_health_threads.h"

#include <string_view>
#include <utility>

#include <perdure/engine_metrics.h>

namespace perdure::runtime {

namespace {

constexpr std::uint32_t kBusyInARow = 5;

std::size_t index_of(StoreCall call) {
  return static_cast<std::size_t>(call);
}

std::uint32_t bit_of(StoreCall call) {
  return 1U << index_of(call);
}

std::uint32_t cleared_by(StoreCall call) {
  switch (call) {
    case StoreCall::kStoreTurns:
      return bit_of(call) | bit_of(StoreCall::kLockInstances);
    case StoreCall::kStoreOutcomes:
      return bit_of(call) | bit_of(StoreCall::kLockActivities);
    case StoreCall::kFetchInstances:
    case StoreCall::kLockInstances:
    case StoreCall::kFetchActivities:
    case StoreCall::kLockActivities:
      break;
  }
  return bit_of(call);
}

std::string_view name_of(StoreCall call) {
  switch (call) {
    case StoreCall::kFetchInstances:
      return "fetch_orchestration_item";
    case StoreCall::kLockInstances:
      return "renew_orchestration_lock";
    case StoreCall::kStoreTurns:
      return "ack_orchestration_item";
    case StoreCall::kFetchActivities:
      return "fetch_work_item";
    case StoreCall::kLockActivities:
      return "renew_work_lock";
    case StoreCall::kStoreOutcomes:
      break;
  }
  return "ack_work_item";
}

}  // namespace

StoreHealth::StoreHealth(std::string node, const RuntimeOptions& options)
    : node_(std::move(node)), logger_(options.logger.with_target(log_target::kRuntime)), metrics_(options.metrics) {
  metrics_.set(metric::kStoreAvailable, {}, 1);
}

void StoreHealth::failed(StoreCall call, const ProviderError& error, Timestamp now) {
  const std::scoped_lock in_order(reports_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    health_.last_error = error;
    if (error.kind() == ProviderErrorKind::kBusy && ++busy_[index_of(call)] < kBusyInARow) return;
    if (failing_.fetch_or(bit_of(call)) != 0) return;
    health_.store_available = false;
    health_.since = now;
  }
  metrics_.set(metric::kStoreAvailable, {}, 0);
  logger_.error("store unavailable; calls are retried without counting attempts",
                {{"node_id", node_}, {"operation", name_of(call)}, {"error", error.to_string()}});
}

void StoreHealth::succeeded(StoreCall call, Timestamp now) {
  if (auto& busy = busy_[index_of(call)]; busy != 0) busy = 0;
  const std::uint32_t cleared = cleared_by(call);
  if ((failing_ & cleared) == 0) return;  // by far the most calls
  const std::scoped_lock in_order(reports_mutex_);
  Milliseconds lasted{0};
  {
    const std::scoped_lock lock(mutex_);
    if ((failing_ &= ~cleared) != 0 || health_.store_available) return;
    lasted = now - health_.since.value_or(now);
    health_.store_available = true;
    health_.since = now;
  }
  metrics_.set(metric::kStoreAvailable, {}, 1);
  logger_.info("store available again", {{"node_id", node_}, {"duration_ms", std::to_string(lasted.count())}});
}

RuntimeHealth StoreHealth::report() const {
  const std::scoped_lock lock(mutex_);
  return health_;
}

}  // namespace perdure::runtime
