// What should have happened and did not: work that was ready and not handed out, and locks that ran out although
// nothing kept their holder from its work.
#include <algorithm>
#include <chrono>

#include "testing/simulation/audit.h"

namespace perdure::testing::simulation {

namespace {

// Shorter locks may run out between two steps of a node: time goes on while others move.
constexpr Milliseconds kLongLock = std::chrono::seconds(20);

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fetched so often that it comes alone.
bool was_suspect(std::uint32_t attempt, const SuspectRule& rule) {
  return attempt > rule.from_attempts;
}

template <class Items>
bool had_room(const Items& items, std::size_t limit, const SuspectRule& rule) {
  return items.size() < limit &&
         std::none_of(
             items.begin(), items.end(), [&](const auto& item) { return was_suspect(item.attempt_count, rule); });
}

}  // namespace

void Audit::check_count(const std::string& what, const Abandon& abandon) {
  if (abandon.delay == Milliseconds(0) && !abandon.ignore_attempt) {
    problem(what + " was given back untried, and yet counts as tried");
  }
  if (!abandon.ignore_attempt && failed_.contains(abandon.token.value)) {
    problem(what + " was abandoned after a failure of the store, and yet counts as tried");
  }
}

void Audit::check_lapse(const std::string& what, const std::optional<Lock>& lock, Timestamp now) {
  if (!excuse_ || !lock || lock->until > now || !lock->keeper.empty()) return;
  if (lock->length < kLongLock) return;
  if (excuse_(lock->holder, lock->since)) return;
  problem("the lock of " + what + " ran out although nothing kept '" + lock->holder + "' from its work");
}

bool Audit::is_ready(const Instance& instance, const OrchestrationFetch& fetch, Timestamp now) {
  if (instance.lock && instance.lock->until > now) return false;
  if (instance.not_before && *instance.not_before > now) return false;
  const auto counts = [&](const Queued& message) {
    return !message.may_be_discarded && !message.may_be_dropped && message.visible_at <= now &&
           (instance.exists || begins_execution(message.record.kind));
  };
  const auto first = std::find_if(instance.queue.begin(), instance.queue.end(), counts);
  if (first == instance.queue.end()) return false;
  if (instance.exists && instance.ended) return true;  // its messages need no code
  const auto& names = fetch.filter.orchestrations;
  if (!names.empty() && !contains(names, instance.exists ? instance.name : first->record.name)) return false;
  const auto& versions = fetch.filter.engine_versions;
  if (versions.empty() || !instance.pinned_version) return true;
  return std::any_of(versions.begin(), versions.end(),
                     [&](const VersionRange& range) { return range.contains(*instance.pinned_version); });
}

void Audit::check_left_out(const OrchestrationFetch& fetch, const OrchestrationBatch& batch) {
  if (!had_room(batch.items, fetch.limit, fetch.suspects)) return;
  for (const auto& [id, instance] : instances_) {
    if (instance.attempts < fetch.suspects.from_attempts && is_ready(instance, fetch, batch.now)) {
      problem("'" + id + "' was ready, and a fetch with room for it left it out");
    }
  }
}

void Audit::check_left_out(const WorkFetch& fetch, const WorkBatch& batch) {
  if (!had_room(batch.items, fetch.limit, fetch.suspects)) return;
  for (const auto& [key, activity] : activities_) {
    const MessageRecord& record = activity.record;
    // Those with a session wait for its holder, too.
    if (record.session || !fetch.tags.matches(record.tag) || activity.visible_at > batch.now) continue;
    if (activity.lock && activity.lock->until > batch.now) continue;
    if (!fetch.filter.activities.empty() && !contains(fetch.filter.activities, record.name)) continue;
    if (activity.attempts >= fetch.suspects.from_attempts) continue;
    problem("activity '" + record.name + "' of '" + record.instance +
            "' was ready, and a fetch with room for it left it out");
  }
}

}  // namespace perdure::testing::simulation
