// Waiting for work, and for an instance to change.
#include <array>
#include <new>
#include <vector>

#include "providers/sqlite/queries.h"
#include "providers/sqlite/ready.h"
#include "providers/sqlite/sqlite_store.h"

namespace perdure::sqlite {

ProviderResult<bool> SqliteStore::wait_for_work(const WorkWait& wait, Timestamp deadline) try {
  if (!home_.is_this()) return used_by_child(home_);
  std::optional<ProviderError> error;
  std::vector<std::size_t> topics;
  if (wait.orchestrations) topics.push_back(WakeUps::kDueInstances);
  if (wait.activities) topics.push_back(WakeUps::kDueActivities);
  if (!wait.held.empty()) topics.push_back(WakeUps::kWithdrawals);
  const bool found = wake_ups_->wait(
      topics, deadline,
      [&] {
        ProviderResult<WakeUps::Look> answer = read<WakeUps::Look>([&](Connection& connection, const ReadTime& time) {
          WakeUps::Look look;
          const Timestamp current = time.now;
          const auto consider = [&look](bool is_ready, std::optional<Timestamp> next) {
            look.satisfied = look.satisfied || is_ready;
            if (next) look.again_at = std::min(look.again_at.value_or(*next), *next);
          };
          if (wait.orchestrations) {
            OrchestrationFetch one = *wait.orchestrations;
            one.limit = std::min<std::size_t>(one.limit, 1);
            consider(!ready_instances(connection, one, current).empty(), next_ready_instance(connection, one, current));
          }
          if (wait.activities) {
            WorkFetch one = *wait.activities;
            one.limit = std::min<std::size_t>(one.limit, 1);
            const ReadyActivities ready = ready_activities(connection, one, current);
            consider(!ready.rows.empty(), ready.session_ends_at);
            consider(false, next_ready_activity(connection, one, current));
          }
          consider(has_lost_any(connection, wait.held), std::nullopt);
          return look;
        });
        if (answer) return *answer;
        error = answer.error();
        return WakeUps::Look{.satisfied = true, .again_at = {}};
      },
      wait.stop);
  if (error) return *error;
  return found;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

ProviderResult<bool> SqliteStore::wait_for_change(const std::string& instance, const InstanceChange& change,
                                                  Timestamp deadline) try {
  if (!home_.is_this()) return used_by_child(home_);
  std::optional<ProviderError> error;
  const std::array topics{change_group(instance)};
  const bool found = wake_ups_->wait(topics, deadline, [&] {
    const ProviderResult<bool> answer =
        read<bool>([&](Connection& connection) { return has_changed(connection, instance, change); });
    if (!answer) error = answer.error();
    return WakeUps::Look{.satisfied = !answer || *answer, .again_at = {}};
  });
  if (error) return *error;
  return found;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace perdure::sqlite
