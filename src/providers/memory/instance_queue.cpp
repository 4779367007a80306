#include "providers/memory/instance_queue.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "model/planted_fault.h"
#include "providers/memory/deletion.h"
#include "providers/memory/fetch_limit.h"
#include "providers/store_errors.h"
#include "providers/times.h"

namespace perdure::memory {

namespace {

constexpr std::size_t kMaxOrphansPerFetch = 64;

bool passes(const CapabilityFilter& filter, const KeyRow& row, Timestamp now) {
  if (row.instance && ends_instance(row.instance->current().status)) return true;  // its messages need no code
  if (row.instance && row.instance->current().status == ExecutionStatus::kRunning && row.mailbox.has_child_start(now)) {
    return true;  // any node can refuse the start
  }
  if (!filter.orchestrations.empty()) {
    const std::string& name = row.instance ? row.instance->name : row.mailbox.first_start()->record.name;
    const auto& names = filter.orchestrations;
    if (std::find(names.begin(), names.end(), name) == names.end()) return false;
  }
  if (filter.engine_versions.empty() || !row.instance || !row.instance->current().pinned_version) return true;
  const SemanticVersion& pin = *row.instance->current().pinned_version;
  return std::any_of(filter.engine_versions.begin(), filter.engine_versions.end(),
                     [&](const VersionRange& range) { return range.contains(pin); });
}

std::optional<InstanceMetadata> metadata_of(const KeyRow& row) {
  if (!row.instance) return std::nullopt;
  const Instance& instance = *row.instance;
  return InstanceMetadata{.name = instance.name,
                          .version = instance.version,
                          .parent = instance.parent,
                          .status = instance.current().status,
                          .pinned_version = instance.current().pinned_version};
}

StoredHistory history_of(const KeyRow& row, EventId after) {
  StoredHistory history;
  if (!row.instance) return history;
  history.events = row.instance->current().events_after(after);
  if (after == 0) history.key_values = row.instance->key_values.snapshot();
  return history;
}

OrchestrationItem lock_and_load(Store& store, KeyRow& row, const OrchestrationFetch& fetch, Timestamp now) {
  if (!(planted(PlantedFault::kOvertakenLockNotCounted) && row.lock)) ++row.attempts;
  row.lock = Lock{.token = store.tokens.make(TokenKind::kInstance, row.age),
                  .until = shifted(now, fetch.lock_timeout),
                  .kept_by = {}};
  row.not_before.reset();
  store.keys.reindex(row);

  OrchestrationItem item;
  item.instance = row.id;
  item.token = row.lock->token;
  item.locked_until = row.lock->until;
  item.attempt_count = row.attempts;
  item.metadata = metadata_of(row);
  if (row.instance) {
    item.incarnation = row.instance->incarnation;
    item.execution_id = row.instance->current_id();
    item.last_event_id = row.instance->current().events.size();
  }
  item.messages = row.mailbox.load(now, fetch.max_messages, fetch.max_bytes);
  item.end_requests = row.mailbox.load_end_requests(now, item.messages);
  item.continuation_missing = misses_continuation(row);
  if (fetch.with_history) item.history = history_of(row, 0);
  return item;
}

}  // namespace

FoundInstances find_instances(const Store& store, const OrchestrationFetch& fetch, Timestamp now) {
  FoundInstances found;
  FetchLimit limit(fetch.limit, fetch.suspects);
  if (limit.full()) return found;
  store.keys.visit_ready(now, fetch.owner, [&](const KeyRow& row) {
    if (passes(fetch.filter, row, now) && limit.take(row.attempts)) found.rows.push_back(row.age);
    return !limit.full();
  });
  found.look_again_at = store.keys.next_ready_after(now, fetch.owner);
  return found;
}

OrchestrationBatch fetch_instances(Store& store, const OrchestrationFetch& fetch, Timestamp now) {
  OrchestrationBatch batch{.now = now, .items = {}};
  for (const Age age : find_instances(store, fetch, now).rows) {
    batch.items.push_back(lock_and_load(store, *store.keys.find(age), fetch, now));
  }
  return batch;
}

ProviderResult<StoredHistory> read_history(Store& store, const LockToken& token, EventId after, Timestamp now) {
  const KeyRow* row = store.instance_of(token);
  if (row == nullptr || !holds(row->lock, token, now)) return lock_lost(row);
  return history_of(*row, after);
}

ProviderResult<void> abandon_instance(Store& store, const Abandon& abandon, Timestamp now) {
  KeyRow* row = store.instance_of(abandon.token);
  if (row == nullptr || !is_current(row->lock, abandon.token)) return lock_lost(row);
  const bool end_requested = row->not_before == kEndRequested && !planted(PlantedFault::kCancelWaitsForBackoff);
  row->lock.reset();
  row->not_before.reset();
  if (abandon.delay.count() > 0 && !end_requested) row->not_before = shifted(now, abandon.delay);
  const bool counts = !abandon.ignore_attempt || planted(PlantedFault::kUncountedGiveBackCounts);
  if (!counts && row->attempts > 0) --row->attempts;
  store.settle(*row);
  return {};
}

ProviderResult<Timestamp> renew_instance(Store& store, const LockToken& token, Milliseconds extend_for, Timestamp now) {
  KeyRow* row = store.instance_of(token);
  if (row == nullptr || !holds(row->lock, token, now)) return lock_lost(row);
  row->lock->until = shifted(now, extend_for);
  if (!planted(PlantedFault::kRenewalNotIndexed)) store.keys.reindex(*row);
  return row->lock->until;
}

ProviderResult<void> enqueue_message(Store& store, const MessageRecord& message, Timestamp now) {
  if (message.instance.empty()) return without_instance();
  if (message.kind == MessageKind::kExecuteActivity) return not_for_instances(message);
  if (store.lacks_receiver(message)) return no_receiver(message.instance);
  const bool loses_early = planted(message.kind == MessageKind::kQueueMessage ? PlantedFault::kEarlyQueueMessageLost
                                                                              : PlantedFault::kEarlySignalLost);
  if (loses_early && store.keys.find(message.instance) == nullptr) return {};
  store.enqueue(message, now);
  return {};
}

ProviderResult<StartOutcome> enqueue_start(Store& store, const MessageRecord& start, StartPolicy policy,
                                           Timestamp now) {
  if (start.kind != MessageKind::kStartOrchestration || start.instance.empty()) return not_a_start();
  const KeyRow* row = store.keys.find(start.instance);
  const bool overlooks = planted(PlantedFault::kQueuedStartNotSeen) && row != nullptr && !row->instance;
  if (row == nullptr || is_orphan(*row) || overlooks) {
    store.enqueue(start, now);
    return StartOutcome::kEnqueued;
  }
  if (policy == StartPolicy::kIgnore) return StartOutcome::kIgnored;
  if (policy == StartPolicy::kFail) {
    return exists_already(start.instance);
  }
  const ProviderResult<Deletion> deleted = delete_tree(store, start.instance, false);
  if (!deleted) return deleted.error();
  store.enqueue(start, now);
  // After the new start, so that the parent of a queued child receives the error that the id is taken.
  for (MessageRecord message : deleted->left) {
    message.visible_at = std::max(message.visible_at.value_or(now), start.visible_at.value_or(now));
    store.enqueue(message, now);
  }
  return StartOutcome::kReplaced;
}

std::vector<DroppedMessage> drop_orphans(Store& store, Timestamp now) {
  std::vector<DroppedMessage> dropped;
  for (std::size_t visited = 0; visited < kMaxOrphansPerFetch; ++visited) {
    KeyRow* const row = store.keys.first_lapsed_orphan(now);
    if (row == nullptr) break;
    const auto is_queue_message = [](const Message& message) {
      return message.record.kind == MessageKind::kQueueMessage;
    };
    const auto is_old = [&](const Message& message) { return store.keys.is_lapsed(message, now); };
    const auto& messages = row->mailbox.messages();
    // Each queue message is buffered for its own time. The first of the other messages decides about all of them, so
    // that the result does not depend on when fetches came.
    const bool others_go = std::any_of(messages.begin(), messages.end(), [&](const auto& entry) {
      return !is_queue_message(entry.second) && is_old(entry.second);
    });
    std::vector<MessageId> ids;
    for (const auto& [id, message] : messages) {
      if (is_queue_message(message) ? is_old(message) : others_go) ids.push_back(id);
    }
    for (const MessageId id : ids) dropped.push_back({.id = id, .record = row->mailbox.remove(id)->record});
    store.settle(*row);
  }
  return dropped;
}

}  // namespace perdure::memory
