#include "providers/sqlite/instance_row.h"

#include <algorithm>

#include "providers/sqlite/sql.h"
#include "providers/times.h"

namespace perdure::sqlite {

InstanceRow read_instance(const Query& query) {
  InstanceRow row;
  int column = 0;
  row.key = query.integer(column++);
  row.id = query.text(column++);
  row.identity.name = query.optional_text(column++);
  row.identity.version = query.optional_text(column++);
  row.identity.parent.parent = query.optional_text(column++);
  row.identity.parent.rest = query.optional_text(column++);
  row.identity.status = static_cast<ExecutionStatus>(query.integer(column++));
  row.identity.execution = query.unsigned_integer(column++);
  row.identity.pin = query.optional_text(column++);
  row.identity.created_at = query.optional_time(column++);
  row.identity.incarnation = query.unsigned_integer(column++);
  row.identity.completed_at = query.optional_time(column++);
  row.schedule.token = query.optional_integer(column++);
  row.schedule.process = query.optional_integer(column++);
  row.schedule.holder = query.optional_text(column++);
  row.schedule.not_before = query.optional_time(column++);
  row.schedule.ready_at = query.optional_time(column++);
  row.schedule.held_ready_at = query.optional_time(column++);
  row.schedule.sweep_at = query.optional_time(column++);
  row.progress.last_event = query.unsigned_integer(column++);
  row.progress.commit_id = query.unsigned_integer(column++);
  row.progress.queued = query.integer(column++);
  row.progress.starts = query.integer(column++);
  row.progress.attempts = static_cast<std::uint32_t>(query.integer(column++));
  row.progress.locked_until = query.optional_time(column++);
  row.progress.updated_at = query.optional_time(column++);
  return row;
}

namespace {

std::optional<Timestamp> first_time(Connection& connection, const char* sql, std::int64_t key) {
  Query query = connection.query(sql, key);
  query.step();
  return query.optional_time(0);
}

}  // namespace

InstanceMetadata InstanceRow::metadata() const {
  return {.name = identity.name.value_or(std::string()),
          .version = stored_version(identity.version),
          .parent = read_link(identity.parent),
          .status = identity.status,
          .pinned_version = stored_version(identity.pin)};
}

std::optional<InstanceRow> find_instance(Connection& connection, const std::string& id) {
  Query query = connection.query(sql::kFindInstance, id);
  if (!query.step()) return std::nullopt;
  return read_instance(query);
}

std::optional<InstanceRow> load_instance(Connection& connection, std::int64_t key) {
  Query query = connection.query(sql::kLoadInstance, key);
  if (!query.step()) return std::nullopt;
  return read_instance(query);
}

InstanceRow insert_instance(Connection& connection, const std::string& id) {
  connection.run(sql::kInsertInstance, id);
  InstanceRow row;
  row.key = connection.last_insert_id();
  row.id = id;
  return row;
}

void store_instance(Connection& connection, const InstanceRow& row, const InstanceRow& before) {
  if (row.identity != before.identity) {
    const InstanceRow::Identity& identity = row.identity;
    connection.run(sql::kStoreIdentity, row.key, identity.name, identity.version, identity.parent.parent,
                   static_cast<int>(identity.status), identity.execution, identity.pin, identity.created_at,
                   identity.incarnation, identity.completed_at, identity.parent.rest);
  }
  const InstanceRow::Progress& progress = row.progress;
  if (row.schedule != before.schedule) {
    const InstanceRow::Schedule& schedule = row.schedule;
    connection.run(sql::kStoreSchedule, row.key, schedule.token, schedule.process, schedule.holder, schedule.not_before,
                   schedule.ready_at, schedule.held_ready_at, schedule.sweep_at, progress.last_event,
                   progress.commit_id, progress.queued, progress.starts, progress.attempts, progress.locked_until,
                   progress.updated_at);
  } else if (progress != before.progress) {
    connection.run(sql::kStoreProgress, row.key, progress.last_event, progress.commit_id, progress.queued,
                   progress.starts, progress.attempts, progress.locked_until, progress.updated_at);
  }
}

std::optional<Timestamp> continuation_time(Connection& connection, const InstanceRow& row) {
  if (!row.is_between_executions() || row.progress.starts == 0) return std::nullopt;
  return first_time(connection, sql::kFirstContinuation, row.key);
}

void reschedule(Connection& connection, InstanceRow& row, Milliseconds orphan_retention) {
  InstanceRow::Schedule& schedule = row.schedule;
  schedule.ready_at.reset();
  schedule.held_ready_at.reset();
  schedule.sweep_at.reset();
  if (row.progress.queued == 0) return;
  const bool any = row.is_instance() || row.is_orphan();
  const Timestamp due = first_time(connection, any ? sql::kFirstMessage : sql::kFirstStart, row.key).value();
  if (row.is_orphan()) {
    schedule.sweep_at = shifted(due, orphan_retention);
    return;
  }
  // Between two executions only the continuation leads to a turn.
  const Timestamp messages = continuation_time(connection, row).value_or(due);
  const Timestamp ready = std::max(messages, schedule.not_before.value_or(messages));
  if (schedule.holder) schedule.held_ready_at = ready;
  schedule.ready_at = schedule.token ? std::max(ready, row.progress.locked_until.value_or(ready)) : ready;
}

std::optional<std::string> version_text(const std::optional<SemanticVersion>& version) {
  if (!version) return std::nullopt;
  return version->to_string();
}

std::optional<SemanticVersion> stored_version(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return SemanticVersion::parse(*text);
}

}  // namespace perdure::sqlite
