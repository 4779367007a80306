#include "testing/environment/watched_store.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace perdure::testing {

std::vector<OpenWork> WatchedStore::open_work() {
  if (open_.empty()) return {};
  std::set<ActivityIdentity> locked;
  ActivityQuery query;
  query.limit = kDefaultBulkLimit;
  do {
    ActivityPage page = inner().admin()->list_activities(query).value();
    for (const QueuedActivity& activity : page.activities) {
      if (activity.locked) locked.insert({activity.instance, activity.execution, activity.activity_id});
    }
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());

  std::erase_if(open_, [&](const auto& entry) { return !locked.contains(entry.second.identity); });
  std::vector<OpenWork> open;
  open.reserve(open_.size());
  for (const auto& [token, work] : open_) open.push_back(work);
  std::sort(open.begin(), open.end(), [](const OpenWork& a, const OpenWork& b) {
    return std::tie(a.name, a.identity) < std::tie(b.name, b.identity);
  });
  return open;
}

void WatchedStore::let_locks_end(Milliseconds lock_timeout) {
  // A node renews a lock when half of its time is gone.
  const Milliseconds half = std::max(lock_timeout / 2, Milliseconds(1));
  const Timestamp now = inner().now();
  for (const auto& [value, work] : std::exchange(open_, {})) {
    const Milliseconds since_renewal = (now - work.locked_at) % half;
    // It may be gone together with what has been withdrawn; then there is nothing to end.
    static_cast<void>(inner().renew_work_lock(work.token, lock_timeout - since_renewal));
  }
}

Capabilities WatchedStore::capabilities() const noexcept {
  Capabilities capabilities = ForwardingProvider::capabilities();
  capabilities.fast_path = false;
  return capabilities;
}

ProviderResult<WorkBatch> WatchedStore::fetch_work_items(const WorkFetch& fetch) {
  WorkFetch longest = fetch;
  longest.lock_timeout = kLongestLock;
  auto batch = ForwardingProvider::fetch_work_items(longest);
  if (!batch) return batch;
  for (const WorkItem& item : batch->items) {
    const MessageRecord& record = item.record;
    open_[item.token.value] = {
        .identity = {record.instance, record.execution.value_or(kFirstExecutionId), record.activity_id},
        .name = record.name,
        .has_deadline = record.timeouts.start_to_close.has_value() || record.timeouts.heartbeat.has_value(),
        .token = item.token,
        .locked_at = batch->now};
  }
  return batch;
}

std::vector<ProviderResult<void>> WatchedStore::ack_work_items(std::span<const WorkAck> acks) {
  for (const WorkAck& ack : acks) open_.erase(ack.token.value);
  return ForwardingProvider::ack_work_items(acks);
}

std::vector<ProviderResult<void>> WatchedStore::abandon_work_items(std::span<const Abandon> abandons) {
  for (const Abandon& abandon : abandons) open_.erase(abandon.token.value);
  return ForwardingProvider::abandon_work_items(abandons);
}

std::vector<ProviderResult<Timestamp>> WatchedStore::renew_work_locks(std::span<const LockToken> tokens, Milliseconds) {
  return ForwardingProvider::renew_work_locks(tokens, kLongestLock);
}

std::vector<ProviderResult<Timestamp>> WatchedStore::heartbeat(std::span<const Heartbeat> heartbeats) {
  std::vector<Heartbeat> longest(heartbeats.begin(), heartbeats.end());
  for (Heartbeat& heartbeat : longest) {
    if (heartbeat.extend_for) heartbeat.extend_for = kLongestLock;
  }
  return ForwardingProvider::heartbeat(longest);
}

ProviderResult<bool> WatchedStore::wait_for_work(const WorkWait& wait, Timestamp deadline) {
  if (wait.orchestrations) waits_.orchestrations = wait.orchestrations;
  if (wait.activities) waits_.activities = wait.activities;
  return ForwardingProvider::wait_for_work(wait, deadline);
}

}  // namespace perdure::testing
