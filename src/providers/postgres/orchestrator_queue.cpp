// The orchestrator queue: messages in, locked instances out.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <utility>

#include <perdure/engine_metrics.h>
#include "providers/history_unpacker.h"
#include "providers/parent_links.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/tokens.h"
#include "providers/postgres/versions.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr const char* kReadHistory =
    "SELECT i.id, i.execution, i.last_event, h.first_event, h.events, h.data FROM instances i LEFT JOIN history h"
    " ON h.key = i.key AND h.execution = i.execution AND h.first_event >= coalesce((SELECT max(b.first_event)"
    "  FROM history b WHERE b.key = i.key AND b.execution = i.execution AND b.first_event <= $3::bigint), 0)"
    " WHERE i.key = $1::bigint AND i.token = $2::bigint AND i.locked_until > now_ms() ORDER BY h.first_event";
constexpr const char* kReadValues =
    "SELECT v.name, v.value, v.updated_at FROM key_values v JOIN instances i ON i.key = v.key"
    " WHERE i.key = $1::bigint AND i.token = $2::bigint AND i.locked_until > now_ms() ORDER BY v.name";
// What a fetch has locked whose answer never came.
constexpr const char* kReleaseInstances =
    "SELECT a.* FROM (SELECT array_agg(i.key) AS keys, array_agg(i.token) AS tokens, array_agg(0::bigint) AS delays,"
    " array_agg(true) AS ignore FROM instances i WHERE i.ready_at > now_ms() AND i.token = $1::bigint) l"
    " CROSS JOIN LATERAL abandon_instances(l.keys, l.tokens, l.delays, l.ignore, $2::bigint) a";

std::vector<QueuedMessage> read_messages(const Rows& rows, int row, const std::string& instance) {
  const std::vector<std::int64_t> ids = rows.integers(row, 13);
  const std::vector<std::int64_t> kinds = rows.integers(row, 14);
  const auto executions = rows.list(row, 15);
  const auto names = rows.list(row, 16);
  const std::vector<std::int64_t> visible = rows.integers(row, 17);
  const auto bodies = rows.list(row, 18);
  const auto parents = rows.list(row, 26);
  const auto links = rows.list(row, 27);
  std::vector<QueuedMessage> messages(ids.size());
  for (std::size_t index = 0; index < ids.size(); ++index) {
    QueuedMessage& message = messages[index];
    message.id = static_cast<MessageId>(ids[index]);
    message.record.kind = static_cast<MessageKind>(kinds[index]);
    message.record.instance = instance;
    if (executions[index]) message.record.execution = static_cast<ExecutionId>(as_integer(*executions[index]));
    message.record.name = names[index].value_or(std::string_view());
    message.record.visible_at = Timestamp(Milliseconds(visible[index]));
    message.record.body = bodies[index].value_or(std::string_view());
    message.record.parent = read_link(
        {.parent = std::optional<std::string>(parents[index]), .rest = std::optional<std::string>(links[index])});
  }
  return messages;
}

StoredHistory read_fetched_history(const Rows& rows, int row, const OrchestrationItem& item) {
  HistoryUnpacker unpacker(0);
  const std::vector<std::int64_t> first = rows.integers(row, 19);
  const std::vector<std::int64_t> counts = rows.integers(row, 20);
  const auto data = rows.list(row, 21);
  for (std::size_t index = 0; index < first.size(); ++index) {
    unpacker.add(static_cast<EventId>(first[index]), static_cast<std::uint64_t>(counts[index]),
                 data[index].value_or(std::string_view()));
  }
  StoredHistory history = std::move(unpacker).finish(item.instance, item.execution_id, item.last_event_id);
  if (history.error) return history;
  const auto names = rows.list(row, 22);
  const auto values = rows.list(row, 23);
  const std::vector<std::int64_t> times = rows.integers(row, 24);
  for (std::size_t index = 0; index < names.size(); ++index) {
    history.key_values.push_back({.key = std::string(names[index].value_or(std::string_view())),
                                  .value = std::string(values[index].value_or(std::string_view())),
                                  .updated_at = Timestamp(Milliseconds(times[index]))});
  }
  return history;
}

OrchestrationItem read_item(const Rows& rows, int row, const OrchestrationFetch& fetch, std::int64_t secret) {
  OrchestrationItem item;
  item.instance = rows.text(row, 1);
  item.token = instance_token({.key = rows.integer(row, 0), .secret = secret, .instance = item.instance});
  item.attempt_count = static_cast<std::uint32_t>(rows.integer(row, 2));
  item.locked_until = rows.time(row, 3);
  if (rows.boolean(row, 4)) {
    item.metadata = InstanceMetadata{
        .name = rows.text(row, 5),
        .version = stored_version(rows.optional_text(row, 6)),
        .parent = read_link({.parent = rows.optional_text(row, 7), .rest = rows.optional_text(row, 25)}),
        .status = static_cast<ExecutionStatus>(rows.integer(row, 8)),
        .pinned_version = stored_version(rows.optional_text(row, 9))};
  }
  item.incarnation = rows.unsigned_integer(row, 10);
  item.execution_id = rows.unsigned_integer(row, 11);
  item.last_event_id = rows.unsigned_integer(row, 12);
  item.messages = read_messages(rows, row, item.instance);
  const auto ends = item.messages.end() - static_cast<std::ptrdiff_t>(rows.integer(row, 29));
  item.end_requests.assign(std::make_move_iterator(ends), std::make_move_iterator(item.messages.end()));
  item.messages.erase(ends, item.messages.end());
  item.continuation_missing = rows.boolean(row, 28);
  // The server leaves out a history that is too large for one row.
  const bool left_out = !rows.is_null(row, 19) && rows.is_null(row, 21);
  if (fetch.with_history && !left_out) item.history = read_fetched_history(rows, row, item);
  return item;
}

using Lock = std::pair<std::int64_t, std::int64_t>;  // key and secret

std::optional<Lock> lock_of(const LockToken& token) {
  const std::optional<InstanceLock> lock = instance_lock(token);
  if (!lock) return std::nullopt;
  return Lock(lock->key, lock->secret);
}

// The locks that the server knows, in the first two columns.
std::map<Lock, int> known_locks(const Rows& rows) {
  std::map<Lock, int> known;
  for (int row = 0; row < rows.size(); ++row) known.emplace(Lock(rows.integer(row, 0), rows.integer(row, 1)), row);
  return known;
}

// Refuses messages with must_exist to these ids, which the store did not know. An earlier start in the batch makes an
// id known.
void refuse_unreceived(const Rows& unknown, std::span<const MessageRecord> messages,
                       std::vector<ProviderResult<void>>& outcomes) {
  std::set<std::string> missing;
  for (int row = 0; row < unknown.size(); ++row) missing.insert(unknown.text(row, 0));
  for (std::size_t index = 0; index < messages.size(); ++index) {
    const MessageRecord& message = messages[index];
    if (!outcomes[index]) continue;
    if (message.must_exist && missing.contains(message.instance)) {
      outcomes[index] = no_receiver(message.instance);
    } else if (begins_execution(message.kind)) {
      missing.erase(message.instance);
    }
  }
}

}  // namespace

ProviderResult<OrchestrationBatch> PostgresStore::fetch_orchestration_items(const OrchestrationFetch& fetch) {
  return guarded<OrchestrationBatch>([&]() -> ProviderResult<OrchestrationBatch> {
    const std::int64_t secret = next_secret();
    List oldest = texts();
    List newest = texts();
    for (const VersionRange& range : fetch.filter.engine_versions) {
      oldest.add(sortable(range.min));
      newest.add(sortable(range.max));
    }
    const Parameters parameters(
        bounded(fetch.limit), fetch.lock_timeout, secret, fetch.owner, texts(fetch.filter.orchestrations), oldest,
        newest, std::int64_t{fetch.suspects.from_attempts}, fetch.suspects.admit, fetch.with_history,
        bounded(std::max<std::size_t>(fetch.max_messages, 1)), bounded(fetch.max_bytes), options_.orphan_retention);
    OrchestrationBatch batch;
    try {
      const std::optional<Timestamp> known = pool_.latest();
      const Rows rows = pool_.run(sql::kFetchInstances, parameters, Repeat::kNever);
      batch.now = pool_.see(rows.time(rows.size() - 1, 2), known);
      for (int row = 0; row < rows.size() - 1; ++row) {
        if (!rows.is_null(row, 0)) {
          batch.items.push_back(read_item(rows, row, fetch, secret));
          continue;
        }
        const std::uint64_t dropped = rows.unsigned_integer(row, 2);
        options_.logger.log(LogLevel::kWarn, "discarded messages for an instance that was never started",
                            {{"instance_id", rows.text(row, 1)}, {"messages", std::to_string(dropped)}});
        options_.metrics.add(metric::kOrphanMessagesDropped, {}, dropped);
      }
    } catch (const PostgresError& error) {
      if (error.connection_lost()) release_lost_fetch(kReleaseInstances, secret);
      throw;
    } catch (const std::bad_alloc&) {
      release_lost_fetch(kReleaseInstances, secret);
      throw;
    }
    return batch;
  });
}

// The server may have locked items of which this process does not know: the response was lost, or there was no memory
// for it. If the server cannot be reached now, or has not finished yet, the locks expire.
void PostgresStore::release_lost_fetch(const char* sql, std::int64_t secret) noexcept {
  try {
    static_cast<void>(pool_.run(sql, Parameters(secret, options_.orphan_retention), Repeat::kNever));
    waker_->changed({.instances = true, .activities = true});  // those who wait were told of a later end
  } catch (const std::exception& error) {
    options_.logger.debug("could not release the locks of a fetch whose response was lost; they will expire",
                          {{"error", error.what()}});
  }
}

ProviderResult<StoredHistory> PostgresStore::read_history(const LockToken& token, EventId after) {
  return guarded<StoredHistory>([&]() -> ProviderResult<StoredHistory> {
    const std::optional<InstanceLock> lock = instance_lock(token);
    if (!lock) return lock_lost("reading a history");
    std::vector<Call> calls{{kReadHistory, Parameters(lock->key, lock->secret, after)}};
    if (after == 0) calls.push_back({kReadValues, Parameters(lock->key, lock->secret)});
    const std::vector<Rows> answers = pool_.run(calls, Repeat::kIfLost);
    const Rows& rows = answers.front();
    if (rows.empty()) return lock_lost("reading a history");
    HistoryUnpacker unpacker(after);
    for (int row = 0; row < rows.size(); ++row) {
      if (rows.is_null(row, 3)) continue;
      unpacker.add(rows.unsigned_integer(row, 3), rows.unsigned_integer(row, 4), rows.bytes(row, 5));
    }
    StoredHistory history =
        std::move(unpacker).finish(rows.text(0, 0), rows.unsigned_integer(0, 1), rows.unsigned_integer(0, 2));
    if (history.error || after != 0) return history;
    const Rows& values = answers.back();
    for (int row = 0; row < values.size(); ++row) {
      history.key_values.push_back(
          {.key = values.text(row, 0), .value = values.text(row, 1), .updated_at = values.time(row, 2)});
    }
    return history;
  });
}

std::vector<ProviderResult<void>> PostgresStore::abandon_orchestration_items(std::span<const Abandon> abandons) {
  return batch<void>(abandons, repeats(abandons), [this](std::span<const Abandon> elements) {
    List keys = bigints();
    List secrets = bigints();
    List delays = bigints();
    List ignore_attempts = booleans();
    std::vector<std::optional<Lock>> locks;
    for (const Abandon& abandon : elements) {
      const std::optional<Lock> lock = lock_of(abandon.token);
      locks.push_back(lock);
      if (!lock) continue;
      keys.add(lock->first);
      secrets.add(lock->second);
      delays.add(abandon.delay);
      ignore_attempts.add(abandon.ignore_attempt);
    }
    const Rows rows =
        pool_.run(sql::kAbandonInstances, Parameters(keys, secrets, delays, ignore_attempts, options_.orphan_retention),
                  Repeat::kNever);
    const std::map<Lock, int> given_back = known_locks(rows);
    std::vector<ProviderResult<void>> outcomes;
    outcomes.reserve(locks.size());
    for (const std::optional<Lock>& lock : locks) {
      const bool known = lock && given_back.contains(*lock);
      outcomes.push_back(known ? ProviderResult<void>() : lock_lost("abandoning an instance"));
    }
    if (!given_back.empty()) waker_->changed({.instances = true});
    return outcomes;
  });
}

std::vector<ProviderResult<Timestamp>> PostgresStore::renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                                Milliseconds extend_for) {
  return batch<Timestamp>(tokens, repeats(tokens), [this, extend_for](std::span<const LockToken> elements) {
    List keys = bigints();
    List secrets = bigints();
    for (const LockToken& token : elements) {
      const std::optional<Lock> lock = lock_of(token);
      if (!lock) continue;
      keys.add(lock->first);
      secrets.add(lock->second);
    }
    const Rows rows = pool_.run(sql::kRenewInstances, Parameters(keys, secrets, extend_for, options_.orphan_retention),
                                Repeat::kIfLost);
    const std::map<Lock, int> renewed = known_locks(rows);
    std::vector<ProviderResult<Timestamp>> outcomes;
    outcomes.reserve(elements.size());
    for (const LockToken& token : elements) {
      const std::optional<Lock> lock = lock_of(token);
      const auto found = lock ? renewed.find(*lock) : renewed.end();
      outcomes.push_back(found != renewed.end() ? ProviderResult<Timestamp>(rows.time(found->second, 2))
                                                : lock_lost("renewing the lock of an instance"));
    }
    waker_->changed({.instances = true});  // it may end sooner than those who wait were told
    return outcomes;
  });
}

std::vector<ProviderResult<void>> PostgresStore::enqueue_messages(std::span<const MessageRecord> messages) {
  return batch<void>(messages, false, [this](std::span<const MessageRecord> elements) {
    std::vector<ProviderResult<void>> outcomes(elements.size());
    MessageLists lists;
    for (std::size_t index = 0; index < elements.size(); ++index) {
      const MessageRecord& message = elements[index];
      if (message.instance.empty()) {
        outcomes[index] = without_instance();
      } else if (message.kind == MessageKind::kExecuteActivity) {
        outcomes[index] = not_for_instances(message);
      } else {
        lists.add(message);
      }
    }
    if (lists.empty()) return outcomes;
    const bool checks = !lists.checked_instances().empty();
    std::vector<Call> calls{{sql::kLockOrMake, Parameters(lists.instances(), bigints())}};
    if (checks) calls.push_back({sql::kUnknownInstances, Parameters(lists.checked_instances())});
    lists.append_calls(calls, options_.orphan_retention);
    lists.append_forgetting(calls);
    const std::vector<Rows> answers = pool_.run(calls, Repeat::kNever);
    waker_->changed(lists.topics());
    if (checks) refuse_unreceived(answers[1], elements, outcomes);
    return outcomes;
  });
}

ProviderResult<StartOutcome> PostgresStore::enqueue_start(const MessageRecord& start, StartPolicy policy) {
  return guarded<StartOutcome>([&]() -> ProviderResult<StartOutcome> {
    if (start.kind != MessageKind::kStartOrchestration || start.instance.empty()) return not_a_start();
    MessageLists lists;
    lists.add(start);
    const StoredLink link = stored_link(start.parent);
    const Rows rows =
        pool_.run(sql::kEnqueueStart,
                  Parameters(start.instance, std::int64_t{static_cast<int>(policy)}, start.name, start.execution,
                             start.visible_at, start.body, link.parent, link.rest, options_.orphan_retention),
                  Repeat::kNever);
    const std::string problem = rows.text(0, 1);
    const std::string whom = rows.text(0, 2);
    if (problem == "exists") return exists_already(start.instance);
    if (problem == "child") return is_a_child(start.instance, whom);
    if (problem == "running") return still_running(whom);
    report(ignored_starts(rows, 3));
    const auto outcome = static_cast<StartOutcome>(rows.integer(0, 0));
    Topics topics = lists.topics();
    if (outcome == StartOutcome::kReplaced) topics.groups |= kWithdrawals;
    if (outcome != StartOutcome::kIgnored) waker_->changed(topics);
    return outcome;
  });
}

}  // namespace perdure::postgres
