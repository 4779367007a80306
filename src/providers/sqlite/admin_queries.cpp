// What operators look at. These may walk over many rows; they run on a reader's connection and block nobody.
#include <algorithm>
#include <limits>

#include "providers/cursors.h"
#include "providers/lost_output.h"
#include "providers/sqlite/history.h"
#include "providers/sqlite/queries.h"
#include "providers/sqlite/sql.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

constexpr std::string_view kInstances = "instances";

constexpr const char* kInfoByAgeDescending =
    "SELECT i.key, i.id, i.name, i.version, i.execution, i.status, e.output, i.parent, i.pin, i.created_at, "
    "i.updated_at, i.completed_at, e.key IS NULL FROM instances i LEFT JOIN executions e ON e.key = i.key AND "
    "e.execution = i.execution"
    " WHERE i.created_at IS NOT NULL AND i.key < ?1 ORDER BY i.key DESC";
constexpr const char* kInfoByAge =
    "SELECT i.key, i.id, i.name, i.version, i.execution, i.status, NULL, i.parent, i.pin, i.created_at, i.updated_at,"
    " i.completed_at FROM instances i WHERE i.created_at IS NOT NULL ORDER BY i.key";
constexpr const char* kInfoById =
    "SELECT i.key, i.id, i.name, i.version, i.execution, i.status, e.output, i.parent, i.pin, i.created_at, "
    "i.updated_at, i.completed_at, e.key IS NULL FROM instances i LEFT JOIN executions e ON e.key = i.key AND "
    "e.execution = i.execution"
    " WHERE i.id = ?1 AND i.created_at IS NOT NULL";

InstanceInfo read_info(const Query& query) {
  return {.id = query.text(1),
          .name = query.text(2),
          .version = stored_version(query.optional_text(3)),
          .execution_id = query.unsigned_integer(4),
          .status = static_cast<ExecutionStatus>(query.integer(5)),
          .output = query.optional_text(6),
          .parent = query.optional_text(7),
          .pinned_version = stored_version(query.optional_text(8)),
          .created_at = query.time(9),
          .updated_at = query.time(10),
          .completed_at = query.optional_time(11)};
}

// From the history, if the row of the execution is lost. The query stands on the row that `info` was read from.
void add_lost_output(Connection& connection, const Query& query, InstanceInfo& info) {
  if (query.integer(12) == 0 || info.status == ExecutionStatus::kRunning) return;
  const std::optional<InstanceRow> row = find_instance(connection, info.id);
  if (!row) return;
  const StoredHistory history = load_events(connection, *row, info.execution_id, 0);
  if (!history.error) info.output = output_in_history(history.events);
}

bool has_status(const InstanceFilter& filter, ExecutionStatus status) {
  if (filter.statuses.empty()) return true;
  const auto listed = [&filter](ExecutionStatus wanted) {
    return std::find(filter.statuses.begin(), filter.statuses.end(), wanted) != filter.statuses.end();
  };
  const bool is_failure = status == ExecutionStatus::kCancelled || status == ExecutionStatus::kTerminated;
  return listed(status) || (is_failure && !filter.exact_statuses && listed(ExecutionStatus::kFailed));
}

bool matches(const InstanceFilter& filter, const InstanceInfo& info) {
  if (!has_status(filter, info.status)) return false;
  if (filter.ids && std::find(filter.ids->begin(), filter.ids->end(), info.id) == filter.ids->end()) return false;
  if (filter.name && info.name != *filter.name) return false;
  if (filter.version && info.version != filter.version) return false;
  if (filter.created_from && info.created_at < *filter.created_from) return false;
  if (filter.created_before && info.created_at >= *filter.created_before) return false;
  return !filter.completed_before || (info.completed_at && *info.completed_at < *filter.completed_before);
}

}  // namespace

ProviderResult<InstancePage> list_instances(Connection& connection, const InstanceQuery& query) {
  const ProviderResult<std::uint64_t> younger = place_before_page(kInstances, query.limit, query.cursor);
  if (!younger) return younger.error();
  InstancePage page;
  std::uint64_t last = 0;
  Query rows = connection.query(kInfoByAgeDescending, *younger == 0 ? std::numeric_limits<std::int64_t>::max()
                                                                    : static_cast<std::int64_t>(*younger));
  while (rows.step()) {
    InstanceInfo info = read_info(rows);
    if (!matches(query.filter, info)) continue;
    if (page.instances.size() == query.limit) {
      page.next = cursor_behind(kInstances, last);
      break;
    }
    last = rows.unsigned_integer(0);
    add_lost_output(connection, rows, info);
    page.instances.push_back(std::move(info));
  }
  return page;
}

std::vector<std::string> matching_roots(Connection& connection, const InstanceFilter& filter) {
  std::vector<std::string> ids;
  Query rows = connection.query(kInfoByAge);
  while (rows.step()) {
    InstanceInfo info = read_info(rows);
    if (!info.parent && matches(filter, info)) ids.push_back(std::move(info.id));
  }
  return ids;
}

std::vector<PruneCandidate> prune_candidates(Connection& connection, const InstanceFilter& filter,
                                             const PruneOptions& options) {
  std::vector<PruneCandidate> candidates;
  Query rows = connection.query(kInfoByAge);
  while (rows.step()) {
    InstanceInfo info = read_info(rows);
    if (!matches(filter, info)) continue;
    bool has_old = false;
    if (info.execution_id > kFirstExecutionId) {
      has_old = connection
                    .query(sql::kOldExecutions, rows.integer(0), info.execution_id, options.completed_before,
                           std::uint64_t{options.keep_last}, 1)
                    .step();
    }
    candidates.push_back({.instance = std::move(info.id), .has_old_executions = has_old});
  }
  return candidates;
}

bool is_matching(Connection& connection, const InstanceFilter& filter, const std::string& instance) {
  Query query = connection.query(kInfoById, instance);
  return query.step() && matches(filter, read_info(query));
}

bool is_matching_root(Connection& connection, const InstanceFilter& filter, const std::string& instance) {
  Query query = connection.query(kInfoById, instance);
  if (!query.step()) return false;
  const InstanceInfo info = read_info(query);
  return !info.parent && matches(filter, info);
}

std::vector<ExecutionId> list_executions(Connection& connection, const std::string& instance) {
  std::vector<ExecutionId> executions;
  Query query = connection.query(
      "SELECT execution FROM executions WHERE key = (SELECT key FROM instances WHERE id = ?1)"
      " UNION SELECT execution FROM history WHERE key = (SELECT key FROM instances WHERE id = ?1) ORDER BY execution",
      instance);
  while (query.step()) executions.push_back(query.unsigned_integer(0));
  return executions;
}

ProviderResult<InstanceInfo> instance_info(Connection& connection, const std::string& instance) {
  Query query = connection.query(kInfoById, instance);
  if (!query.step()) return no_such_instance(instance);
  InstanceInfo info = read_info(query);
  add_lost_output(connection, query, info);
  return info;
}

ProviderResult<ExecutionInfo> execution_info(Connection& connection, const std::string& instance,
                                             ExecutionId execution) {
  const std::optional<InstanceRow> row = find_instance(connection, instance);
  if (!row || !row->is_instance()) return no_such_instance(instance);
  Query query = connection.query(sql::kReadExecution, row->key, execution);
  if (!query.step()) {
    const StoredHistory history = load_events(connection, *row, execution, 0);
    if (history.error) return ProviderError(ProviderErrorKind::kCorruptData, *history.error);
    if (history.events.empty()) return no_such_execution(instance, execution);
    const bool is_current = execution == row->identity.execution;
    return info_in_history(execution, is_current ? std::optional(row->identity.status) : std::nullopt, history.events);
  }
  ExecutionInfo info;
  info.execution_id = execution;
  info.status = static_cast<ExecutionStatus>(query.integer(0));
  info.output = query.optional_text(1);
  info.pinned_version = stored_version(query.optional_text(2));
  info.started_at = query.time(3);
  info.completed_at = query.optional_time(4);
  info.events = static_cast<std::uint64_t>(connection.integer(
      "SELECT coalesce(sum(events), 0) FROM history WHERE key = ?1 AND execution = ?2", row->key, execution));
  return info;
}

ProviderResult<std::vector<EventRecord>> read_events(Connection& connection, const std::string& instance,
                                                     std::optional<ExecutionId> execution, EventId after) {
  const std::optional<InstanceRow> row = find_instance(connection, instance);
  if (!row) return std::vector<EventRecord>();
  StoredHistory history = load_events(connection, *row, execution.value_or(row->identity.execution), after);
  if (history.error) return ProviderError(ProviderErrorKind::kCorruptData, *history.error);
  return std::move(history.events);
}

std::vector<std::string> list_children(Connection& connection, const std::string& instance) {
  std::vector<std::string> children;
  Query query = connection.query("SELECT id FROM instances WHERE parent = ?1 ORDER BY key", instance);
  while (query.step()) children.push_back(query.text(0));
  return children;
}

ProviderResult<InstanceTree> instance_tree(Connection& connection, const std::string& instance) {
  const std::optional<InstanceRow> row = find_instance(connection, instance);
  if (!row || !row->is_instance()) return no_such_instance(instance);
  InstanceTree tree{.root = instance, .ids = {instance}};
  for (std::size_t next = 0; next < tree.ids.size(); ++next) {
    for (std::string& child : list_children(connection, tree.ids[next])) {
      if (std::find(tree.ids.begin(), tree.ids.end(), child) == tree.ids.end()) tree.ids.push_back(std::move(child));
    }
  }
  return tree;
}

SystemMetrics system_metrics(Connection& connection) {
  SystemMetrics metrics;
  metrics.executions = static_cast<std::uint64_t>(connection.integer("SELECT count(*) FROM executions"));
  metrics.events = static_cast<std::uint64_t>(connection.integer("SELECT coalesce(sum(events), 0) FROM history"));
  Query query = connection.query("SELECT status, count(*) FROM instances WHERE created_at IS NOT NULL GROUP BY status");
  while (query.step()) {
    const std::uint64_t count = query.unsigned_integer(1);
    metrics.instances += count;
    switch (static_cast<ExecutionStatus>(query.integer(0))) {
      case ExecutionStatus::kRunning:
      case ExecutionStatus::kContinuedAsNew:
        metrics.running += count;
        break;
      case ExecutionStatus::kCompleted:
        metrics.completed += count;
        break;
      case ExecutionStatus::kCancelled:
        metrics.cancelled += count;
        metrics.failed += count;
        break;
      case ExecutionStatus::kTerminated:
        metrics.terminated += count;
        metrics.failed += count;
        break;
      case ExecutionStatus::kFailed:
        metrics.failed += count;
        break;
    }
  }
  return metrics;
}

QueueDepths queue_depths(Connection& connection, const ReadTime& time) {
  QueueDepths depths;
  {
    Query messages = connection.query(
        "SELECT count(*) FILTER (WHERE visible_at <= ?1), count(*) FILTER (WHERE visible_at > ?1) FROM messages",
        time.now);
    messages.step();
    depths.messages = messages.unsigned_integer(0);
    depths.delayed_messages = messages.unsigned_integer(1);
  }
  Query activities = connection.query(
      "SELECT count(*) FILTER (WHERE ready_at <= CASE WHEN token IS NULL THEN ?1 ELSE ?2 END),"
      " count(*) FILTER (WHERE token IS NOT NULL AND ready_at > ?2),"
      " count(*) FILTER (WHERE token IS NULL AND ready_at > ?1) FROM activities",
      time.now, time.of_locks);
  activities.step();
  depths.activities = activities.unsigned_integer(0);
  depths.locked_activities = activities.unsigned_integer(1);
  depths.delayed_activities = activities.unsigned_integer(2);
  return depths;
}

std::vector<KeyValue> read_key_value_snapshot(Connection& connection, const std::string& instance) {
  const std::optional<InstanceRow> row = find_instance(connection, instance);
  return row ? load_key_value_snapshot(connection, *row) : std::vector<KeyValue>();
}

}  // namespace perdure::sqlite
