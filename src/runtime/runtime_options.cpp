#include <perdure/runtime_options.h>

#include <algorithm>
#include <stdexcept>

#include "model/limit_bounds.h"
#include "model/name_rule.h"
#include "model/reserved_names.h"

namespace perdure {

Milliseconds UnregisteredBackoff::after(std::uint32_t attempt) const noexcept {
  constexpr std::uint32_t kMaxDoublings = 6;
  const std::uint32_t doublings = std::min(attempt == 0 ? 0 : attempt - 1, kMaxDoublings);
  // Compared before it is doubled: a base of years must not overflow.
  if (base >= max) return max;
  return std::min(base * (std::int64_t{1} << doublings), max);
}

namespace {

class Complaints {
 public:
  void unless(bool holds, const std::string& sentence) {
    if (!holds) text_ += (text_.empty() ? "" : "; ") + sentence;
  }
  template <class Number>
  void at_least_one(const char* option, Number value) {
    unless(value > Number(0), std::string(option) + " must be at least 1");
  }
  void positive(const char* option, Milliseconds value) {
    unless(value.count() > 0 && value <= kLongest,
           std::string(option) + " must be between 1 ms and 10 years, but is " + std::to_string(value.count()) + " ms");
  }
  void name(const char* option, const std::string& value) {
    const auto problem = problem_with_name(option, value);
    unless(!problem, problem.value_or(""));
  }
  void raise_if_any() const {
    if (!text_.empty()) throw std::invalid_argument("the runtime's options are not valid: " + text_);
  }

 private:
  static constexpr Milliseconds kLongest = std::chrono::hours(24 * 3'652);
  std::string text_;
};

}  // namespace

void RuntimeOptions::check() const {
  Complaints complaints;
  complaints.at_least_one("orchestration_concurrency", orchestration_concurrency);
  complaints.at_least_one("worker_concurrency", worker_concurrency);
  complaints.at_least_one("max_async_activities", max_async_activities);
  complaints.at_least_one("max_locked_instances", max_locked_instances);
  complaints.unless(max_locked_instances >= orchestration_concurrency,
                    "max_locked_instances must not be less than orchestration_concurrency");
  complaints.unless(max_async_activities >= worker_concurrency,
                    "max_async_activities must not be less than worker_concurrency");
  complaints.unless(orchestration_concurrency <= 1'024, "orchestration_concurrency is more than 1,024 threads");
  complaints.unless(worker_concurrency <= 4'096, "worker_concurrency is more than 4,096 threads");
  complaints.at_least_one("max_attempts", max_attempts);
  complaints.positive("orchestrator_lock_timeout", orchestrator_lock_timeout);
  complaints.positive("worker_lock_timeout", worker_lock_timeout);
  complaints.positive("session_lock_timeout", session_lock_timeout);
  complaints.positive("long_poll_timeout", long_poll_timeout);
  complaints.positive("min_poll_interval", min_poll_interval);
  complaints.positive("unregistered_backoff.base", unregistered_backoff.base);
  complaints.positive("unregistered_backoff.max", unregistered_backoff.max);
  complaints.positive("session_idle_timeout", session_idle_timeout);
  complaints.positive("session_cleanup_interval", session_cleanup_interval);
  complaints.positive("gauge_poll_interval", gauge_poll_interval);
  complaints.positive("heartbeat_interval", heartbeat_interval);
  complaints.unless(activity_cancellation_grace_period.count() >= 0,
                    "activity_cancellation_grace_period must not be negative");
  complaints.unless(shutdown_timeout.count() >= 0, "shutdown_timeout must not be negative");
  complaints.unless(session_idle_timeout > worker_lock_timeout / 2,
                    "session_idle_timeout must be longer than half of worker_lock_timeout: a running activity counts "
                    "as use of its session only when its lock is renewed");
  for (const VersionRange& range : supported_replay_versions) {
    complaints.unless(range.min <= range.max,
                      "supported_replay_versions contains " + range.to_string() + ", whose ends are reversed");
  }
  if (!worker_node_id.empty()) complaints.name("worker_node_id", worker_node_id);
  complaints.unless(worker_node_id.size() <= Limits::kGreatestNameBytes,
                    "worker_node_id must not have more than " + std::to_string(Limits::kGreatestNameBytes) + " bytes");
  for (const std::string& tag : worker_tag_filter.listed()) {
    complaints.name("a tag of worker_tag_filter", tag);
    const auto reserved = problem_with_reserved_name("a tag of worker_tag_filter", tag);
    complaints.unless(!reserved, reserved.value_or(""));
  }
  complaints.at_least_one("limits.max_actions_per_turn", limits.max_actions_per_turn);
  complaints.at_least_one("limits.max_history_events", limits.max_history_events);
  complaints.at_least_one("limits.max_name_bytes", limits.max_name_bytes);
  const auto above_the_stores = problem_with_limits(limits);
  complaints.unless(!above_the_stores, above_the_stores.value_or(""));
  complaints.raise_if_any();
}

}  // namespace perdure
