// The orchestrator queue: messages in, locked instances out.
#include <algorithm>
#include <utility>

#include <perdure/engine_metrics.h>
#include "providers/discarded_messages.h"
#include "providers/sqlite/history.h"
#include "providers/sqlite/ready.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"
#include "providers/times.h"

namespace perdure::sqlite {

namespace {
// Enough to keep up, few enough that no fetch has to clean up after a flood of strays, or after a flood for one of
// them.
constexpr int kOrphansPerFetch = 64;
constexpr std::int64_t kOrphanMessagesPerFetch = 1'024;
}  // namespace

QueuedMessage read_message(const Query& query, const std::string& instance) {
  QueuedMessage message;
  message.id = query.unsigned_integer(0);
  message.record.kind = static_cast<MessageKind>(query.integer(1));
  message.record.instance = instance;
  if (const std::optional<std::int64_t> execution = query.optional_integer(2)) {
    message.record.execution = static_cast<ExecutionId>(*execution);
  }
  message.record.name = query.text(3);
  message.record.visible_at = query.time(4);
  message.record.body = query.text(5);
  message.record.parent = read_link({.parent = query.optional_text(6), .rest = query.optional_text(7)});
  return message;
}

OrchestrationBatch Store::fetch_instances(const OrchestrationFetch& fetch) {
  sweep_orphans();
  OrchestrationBatch batch{.now = now_, .items = {}};
  for (InstanceRow& row : ready_instances(connection_, fetch, now_)) batch.items.push_back(lock_instance(row, fetch));
  return batch;
}

void Store::sweep_orphans() {
  std::vector<std::int64_t> keys;
  {
    Query query = connection_.query(sql::kOrphansToSweep, now_, kOrphansPerFetch);
    while (query.step()) keys.push_back(query.integer(0));
  }
  const Timestamp old = shifted(now_, -options_.orphan_retention);
  std::int64_t left = kOrphanMessagesPerFetch;
  for (const std::int64_t key : keys) {
    if (left == 0) break;  // the next fetch continues, because the time to sweep the others has passed
    InstanceRow row = load_instance(connection_, key).value();
    const InstanceRow before = row;
    // Each queue message is buffered for its own time. The first of the other messages decides about all of them, so
    // that the result does not depend on when fetches came. It is removed last, for the same reason.
    std::int64_t dropped = connection_.run(sql::kDropQueueMessages, key, old, left);
    if (dropped < left && connection_.query(sql::kHasOldButQueueMessages, key, old).step()) {
      dropped += connection_.run(sql::kDropButQueueMessages, key, left - dropped);
    }
    left -= dropped;
    row.progress.queued -= dropped;
    if (dropped > 0) {
      effects_.emplace_back([this, id = row.id, dropped] {
        options_.logger.log(LogLevel::kWarn, "discarded messages for an instance that was never started",
                            {{"instance_id", id}, {"messages", std::to_string(dropped)}});
        options_.metrics.add(metric::kOrphanMessagesDropped, {}, static_cast<std::uint64_t>(dropped));
      });
    }
    finish(row, before);
  }
}

OrchestrationItem Store::lock_instance(InstanceRow& row, const OrchestrationFetch& fetch) {
  const InstanceRow before = row;
  const LockName lock{.queue = 'i', .row = row.key, .secret = secrets_.next()};
  row.schedule.token = lock.secret;
  row.schedule.process = process_;
  row.schedule.holder.reset();
  row.schedule.not_before.reset();
  row.schedule.held_ready_at.reset();
  row.schedule.ready_at = shifted(now_, fetch.lock_timeout);  // it is due now, so nothing else can be later
  row.progress.locked_until = shifted(now_, fetch.lock_timeout);
  ++row.progress.attempts;
  store_instance(connection_, row, before);
  // A retained lock is replaced by one that ends sooner than waiters assume.
  if (before.schedule.ready_at && *row.schedule.ready_at < *before.schedule.ready_at) changes_.instances = true;

  OrchestrationItem item;
  item.instance = row.id;
  item.token = make_token(lock);
  item.locked_until = *row.progress.locked_until;
  item.attempt_count = row.progress.attempts;
  if (row.is_instance()) item.metadata = row.metadata();
  item.incarnation = row.identity.incarnation;
  item.execution_id = row.identity.execution;
  item.last_event_id = row.progress.last_event;
  item.messages = load_messages(row, fetch);
  if (std::cmp_less(item.messages.size(), row.progress.queued)) {
    item.end_requests = load_end_requests(row, item.messages);
  }
  item.continuation_missing = row.is_between_executions() && !continuation_time(connection_, row);
  if (fetch.with_history) item.history = load_history(connection_, row, 0);
  return item;
}

std::vector<QueuedMessage> Store::load_messages(const InstanceRow& row, const OrchestrationFetch& fetch) {
  std::vector<QueuedMessage> messages;
  std::size_t bytes = 0;
  const auto take = [&](const char* sql) {
    Query query = connection_.query(sql, row.key, now_);
    while (messages.size() < std::max<std::size_t>(fetch.max_messages, 1) && query.step()) {
      bytes += query.bytes(5).size();
      if (bytes > fetch.max_bytes && !messages.empty()) return;
      messages.push_back(read_message(query, row.id));
    }
  };
  if (row.progress.starts > 0) take(sql::kVisibleStarts);
  if (bytes <= fetch.max_bytes) take(sql::kVisibleOthers);
  return messages;
}

std::vector<QueuedMessage> Store::load_end_requests(const InstanceRow& row, const std::vector<QueuedMessage>& loaded) {
  std::vector<QueuedMessage> found;
  Query query = connection_.query(sql::kVisibleEnds, row.key, now_);
  while (found.size() < 2 && query.step()) {
    QueuedMessage message = read_message(query, row.id);
    if (found.empty() || found.front().record.kind != message.record.kind) found.push_back(std::move(message));
  }
  std::erase_if(found, [&](const QueuedMessage& end) {
    return std::any_of(loaded.begin(), loaded.end(), [&](const QueuedMessage& each) { return each.id == end.id; });
  });
  return found;
}

ProviderResult<void> Store::abandon_instance(const Abandon& abandon) {
  const std::optional<LockName> lock = read_token(abandon.token, 'i');
  std::optional<InstanceRow> row;
  if (lock) row = load_instance(connection_, lock->row);
  if (!row || row->schedule.token != lock->secret) return lock_lost("abandoning an instance");
  const InstanceRow before = *row;
  row->schedule.token.reset();
  row->schedule.process.reset();
  row->schedule.holder.reset();
  row->progress.locked_until.reset();
  const bool end_requested = row->schedule.not_before == kEndRequested;
  row->schedule.not_before.reset();
  if (abandon.delay.count() > 0 && !end_requested) row->schedule.not_before = shifted(now_, abandon.delay);
  if (abandon.ignore_attempt && row->progress.attempts > 0) --row->progress.attempts;
  finish(*row, before);
  return {};
}

ProviderResult<Timestamp> Store::renew_instance(const LockToken& token, Milliseconds extend_for) {
  const std::optional<LockName> lock = read_token(token, 'i');
  std::optional<InstanceRow> row;
  if (lock) row = load_instance(connection_, lock->row);
  if (!row || row->schedule.token != lock->secret || !row->locked_at(now_))
    return lock_lost("renewing the lock of an instance");
  const InstanceRow before = *row;
  row->progress.locked_until = shifted(now_, extend_for);
  finish(*row, before);
  return *row->progress.locked_until;
}

ProviderResult<void> Store::enqueue_message(const MessageRecord& message) {
  if (message.instance.empty()) return without_instance();
  if (message.kind == MessageKind::kExecuteActivity) return not_for_instances(message);
  if (message.must_exist) {
    const std::optional<InstanceRow> row = find_instance(connection_, message.instance);
    if (!row || row->is_orphan()) return no_receiver(message.instance);
  }
  queue_message(message);
  return {};
}

ProviderResult<StartOutcome> Store::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  if (start.kind != MessageKind::kStartOrchestration || start.instance.empty()) return not_a_start();
  StartOutcome outcome = StartOutcome::kEnqueued;
  std::vector<MessageRecord> left;
  const std::optional<InstanceRow> row = find_instance(connection_, start.instance);
  if (row && !row->is_orphan()) {
    if (policy == StartPolicy::kIgnore) return StartOutcome::kIgnored;
    if (policy == StartPolicy::kFail) {
      return exists_already(start.instance);
    }
    ProviderResult<Deletion> deleted = delete_tree(start.instance, false);
    if (!deleted) return deleted.error();
    left = std::move(deleted->left);
    outcome = StartOutcome::kReplaced;
  }
  queue_message(start);
  // After the new start, so that the parent of a queued child receives the error that the id is taken.
  for (MessageRecord& message : left) {
    message.visible_at = std::max(*message.visible_at, start.visible_at.value_or(now_));
    queue_message(message);
  }
  return outcome;
}

void Store::queue_message(const MessageRecord& message) {
  InstanceRow row = find_or_insert(message.instance);
  const InstanceRow before = row;
  insert_message(row, message);
  finish(row, before);
}

InstanceRow Store::find_or_insert(const std::string& id) {
  if (std::optional<InstanceRow> row = find_instance(connection_, id)) return *std::move(row);
  return insert_instance(connection_, id);
}

void Store::discard(DiscardedMessages discarded) {
  if (discarded.count == 0) return;
  effects_.emplace_back(
      [this, discarded = std::move(discarded)] { discarded.report(options_.logger, options_.metrics); });
}

// The row is the caller's to finish.
void Store::insert_message(InstanceRow& row, const MessageRecord& message) {
  const Timestamp visible_at = message.visible_at.value_or(now_);
  const StoredLink link = stored_link(message.parent);
  connection_.run(sql::kInsertMessage, row.key, static_cast<int>(message.kind), message.execution, message.name,
                  visible_at, blob(message.body), link.parent, link.rest);
  ++row.progress.queued;
  if (begins_execution(message.kind)) {
    ++row.progress.starts;
    if (!row.is_instance() && row.progress.starts == 1) row.identity.name = message.name;
  }
  // The cancel of another parent does not concern this instance.
  if (ends_instance(message.kind) && (!message.parent || link == link_of(row)))
    row.schedule.not_before = row.schedule.token ? std::optional(kEndRequested) : std::nullopt;
}

bool Store::finish(InstanceRow& row, const InstanceRow& before) {
  touch(row);
  // Until the first commit the start that is delivered first says what a node must be able to run.
  if (!row.is_instance() && row.progress.starts > 0 && row.progress.starts + before.progress.starts > 2) {
    Query first = connection_.query(sql::kFirstStartName, row.key);
    if (first.step()) row.identity.name = first.optional_text(0);
  }
  reschedule(connection_, row, options_.orphan_retention);
  if (is_empty(row)) {
    connection_.run(sql::kDeleteInstanceRow, row.key);
    return false;
  }
  store_instance(connection_, row, before);
  if (row.schedule.ready_at || row.schedule.held_ready_at) changes_.instances = true;
  return true;
}

// A row that is no instance and has nothing queued is of no use to anybody.
bool Store::is_empty(const InstanceRow& row) {
  if (row.is_instance() || row.progress.queued > 0) return false;
  return !connection_.query(sql::kHasActivities, row.key).step();
}

}  // namespace perdure::sqlite
