#include "providers/sqlite/queries.h"

#include <algorithm>

#include "providers/lock_names.h"
#include "providers/lost_output.h"
#include "providers/sqlite/history.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

std::optional<InstanceRow> find_real_instance(Connection& connection, const std::string& id) {
  std::optional<InstanceRow> row = find_instance(connection, id);
  if (row && !row->is_instance()) row.reset();
  return row;
}

// The changes of the current execution over what earlier ones left.
constexpr const char* kLiveKeyValues =
    "SELECT name, value, updated_at FROM key_value_changes WHERE key = ?1 AND value IS NOT NULL"
    " UNION ALL SELECT name, value, updated_at FROM key_values WHERE key = ?1 AND name NOT IN"
    " (SELECT name FROM key_value_changes WHERE key = ?1) ORDER BY 1";

std::optional<std::string> live_value(Connection& connection, std::int64_t key, const std::string& name) {
  {
    Query changed = connection.query(sql::kReadChangedKeyValue, key, name);
    if (changed.step()) return changed.optional_text(0);
  }
  Query kept = connection.query(sql::kReadKeptKeyValue, key, name);
  if (!kept.step()) return std::nullopt;
  return kept.text(0);
}

CustomStatus custom_status_of(Connection& connection, std::int64_t key) {
  Query query = connection.query(sql::kReadCustomStatus, key);
  if (!query.step()) return {};
  return {.value = query.optional_text(0), .version = query.unsigned_integer(1)};
}

}  // namespace

ProviderResult<StoredHistory> read_locked_history(Connection& connection, const LockToken& token, EventId after,
                                                  Timestamp now) {
  const std::optional<LockName> lock = read_token(token, 'i');
  std::optional<InstanceRow> row;
  if (lock) row = load_instance(connection, lock->row);
  if (!row || row->schedule.token != lock->secret || !row->locked_at(now)) return lock_lost("reading a history");
  return load_history(connection, *row, after);
}

std::optional<InstanceStatus> read_status(Connection& connection, const std::string& instance) {
  const std::optional<InstanceRow> row = find_instance(connection, instance);
  if (!row || row->is_orphan()) return std::nullopt;
  InstanceStatus status;
  status.name = row->identity.name.value_or(std::string());
  status.pending = !row->is_instance();
  if (status.pending) return status;
  status.version = stored_version(row->identity.version);
  status.execution_id = row->identity.execution;
  status.status = row->identity.status;
  if (Query execution = connection.query(sql::kReadExecution, row->key, row->identity.execution); execution.step()) {
    status.output = execution.optional_text(1);
  } else if (ends_instance(status.status)) {
    const StoredHistory history = load_events(connection, *row, row->identity.execution, 0);
    if (!history.error) status.output = output_in_history(history.events);
  }
  CustomStatus custom = custom_status_of(connection, row->key);
  status.custom_status = std::move(custom.value);
  status.custom_status_version = custom.version;
  status.incarnation = row->identity.incarnation;
  return status;
}

std::optional<CustomStatus> read_custom_status(Connection& connection, const std::string& instance,
                                               std::uint64_t last_seen_version) {
  const std::optional<InstanceRow> row = find_real_instance(connection, instance);
  if (!row) return std::nullopt;
  CustomStatus status = custom_status_of(connection, row->key);
  if (status.version <= last_seen_version) return std::nullopt;
  return status;
}

std::optional<std::string> read_key_value(Connection& connection, const std::string& instance, const std::string& key) {
  const std::optional<InstanceRow> row = find_real_instance(connection, instance);
  if (!row) return std::nullopt;
  return live_value(connection, row->key, key);
}

std::vector<KeyValue> read_key_values(Connection& connection, const std::string& instance) {
  std::vector<KeyValue> values;
  const std::optional<InstanceRow> row = find_real_instance(connection, instance);
  if (!row) return values;
  Query query = connection.query(kLiveKeyValues, row->key);
  while (query.step()) values.push_back({.key = query.text(0), .value = query.text(1), .updated_at = query.time(2)});
  return values;
}

std::optional<InstanceStats> read_stats(Connection& connection, const std::string& instance) {
  const std::optional<InstanceRow> row = find_real_instance(connection, instance);
  if (!row) return std::nullopt;
  InstanceStats stats;
  {
    Query history = connection.query(
        "SELECT coalesce(sum(events), 0), coalesce(sum(body_bytes), 0) FROM history WHERE key = ?1 AND execution = ?2",
        row->key, row->identity.execution);
    history.step();
    stats.history_events = history.unsigned_integer(0);
    stats.history_bytes = history.unsigned_integer(1);
  }
  if (Query execution = connection.query(sql::kReadExecution, row->key, row->identity.execution); execution.step()) {
    stats.carried_forward = execution.unsigned_integer(5);
  }
  Query values = connection.query(kLiveKeyValues, row->key);
  while (values.step()) {
    ++stats.key_values;
    stats.key_value_bytes += values.bytes(1).size();
  }
  return stats;
}

bool has_changed(Connection& connection, const std::string& instance, const InstanceChange& change) {
  const std::optional<InstanceRow> row = find_real_instance(connection, instance);
  if (!row) return false;
  const bool goes_on = row->identity.status == ExecutionStatus::kContinuedAsNew && row->progress.starts > 0;
  if (change.ended && is_terminal(row->identity.status) && !goes_on) return true;
  if (change.custom_status_after && custom_status_of(connection, row->key).version > *change.custom_status_after) {
    return true;
  }
  if (change.incarnation_other_than && row->identity.incarnation != *change.incarnation_other_than) return true;
  return change.key_value && live_value(connection, row->key, *change.key_value).has_value();
}

bool has_lost_any(Connection& connection, std::span<const LockToken> held) {
  return std::any_of(held.begin(), held.end(), [&](const LockToken& token) {
    const std::optional<LockName> lock = read_token(token, 'a');
    if (!lock) return true;
    Query query = connection.query(sql::kLoadActivity, lock->row);
    return !query.step() || query.optional_integer(5) != lock->secret;
  });
}

}  // namespace perdure::sqlite
