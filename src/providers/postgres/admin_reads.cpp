// What operators look at.
#include <limits>
#include <utility>

#include "providers/cursors.h"
#include "providers/history_unpacker.h"
#include "providers/lost_output.h"
#include "providers/postgres/instance_filter.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/versions.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr std::string_view kInstances = "instances";

#define PERDURE_INSTANCE_INFO                                                                              \
  "SELECT i.key, i.id, i.name, i.version, i.execution, i.status, e.output, i.parent, i.pin, i.created_at," \
  " i.updated_at, i.completed_at, e.key IS NULL FROM instances i"                                          \
  " LEFT JOIN executions e ON e.key = i.key AND e.execution = i.execution WHERE"
constexpr const char* kListInstances =
    PERDURE_INSTANCE_INFO PERDURE_INSTANCE_FILTER " AND i.key < $8::bigint ORDER BY i.key DESC LIMIT $9::bigint";
constexpr const char* kInstanceInfo = PERDURE_INSTANCE_INFO " i.id = $1::text AND i.created_at IS NOT NULL";
#undef PERDURE_INSTANCE_INFO

constexpr const char* kListExecutions =
    "SELECT e.execution FROM instances i JOIN executions e ON e.key = i.key WHERE i.id = $1::text"
    " UNION SELECT h.execution FROM instances i JOIN history h ON h.key = i.key WHERE i.id = $1::text"
    " ORDER BY execution";
constexpr const char* kExecutionInfo =
    "SELECT e.execution, e.status, e.output, e.pin, e.started_at, e.completed_at, (SELECT coalesce(sum(h.events), "
    "0)::bigint"
    " FROM history h WHERE h.key = e.key AND h.execution = e.execution),"
    " CASE WHEN i.execution = $2::bigint THEN i.status END FROM instances i LEFT JOIN executions e ON e.key = i.key "
    "AND e.execution = $2::bigint"
    " WHERE i.id = $1::text AND i.created_at IS NOT NULL";
constexpr const char* kReadEvents =
    "SELECT w.execution, i.last_event, w.execution = i.execution, h.first_event, h.events, h.data FROM instances i"
    " CROSS JOIN LATERAL (SELECT coalesce($2::bigint, i.execution) AS execution) w LEFT JOIN history h"
    " ON h.key = i.key AND h.execution = w.execution AND h.first_event >= coalesce((SELECT max(b.first_event)"
    "  FROM history b WHERE b.key = i.key AND b.execution = w.execution AND b.first_event <= $3::bigint), 0)"
    " WHERE i.id = $1::text ORDER BY h.first_event";
constexpr const char* kListChildren = "SELECT i.id FROM instances i WHERE i.parent = $1::text ORDER BY i.key";
constexpr const char* kInstanceTree =
    "SELECT i.id FROM unnest(tree_of($1::text)) WITH ORDINALITY t(key, place) JOIN instances i ON i.key = t.key"
    " WHERE EXISTS (SELECT 1 FROM instances r WHERE r.id = $1::text AND r.created_at IS NOT NULL) ORDER BY t.place";
constexpr const char* kSystemMetrics =
    "SELECT count(*), (SELECT count(*) FROM executions), (SELECT coalesce(sum(h.events), 0)::bigint FROM history h),"
    " count(*) FILTER (WHERE i.status IN (0, 5)), count(*) FILTER (WHERE i.status = 1),"
    " count(*) FILTER (WHERE i.status IN (2, 3, 4)), count(*) FILTER (WHERE i.status = 3),"
    " count(*) FILTER (WHERE i.status = 4) FROM instances i WHERE i.created_at IS NOT NULL";
constexpr const char* kMessageDepths =
    "SELECT count(*) FILTER (WHERE m.visible_at <= c.moment), count(*) FILTER (WHERE m.visible_at > c.moment)"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN messages m";
constexpr const char* kActivityDepths =
    "SELECT count(*) FILTER (WHERE a.ready_at <= c.moment),"
    " count(*) FILTER (WHERE a.ready_at > c.moment AND a.token IS NOT NULL),"
    " count(*) FILTER (WHERE a.ready_at > c.moment AND a.token IS NULL)"
    " FROM (SELECT now_ms() AS moment OFFSET 0) c CROSS JOIN activities a";
constexpr const char* kValueSnapshot =
    "SELECT v.name, v.value, v.updated_at FROM instances i JOIN key_values v ON v.key = i.key"
    " WHERE i.id = $1::text ORDER BY v.name";

InstanceInfo read_info(const Rows& rows, int row) {
  return {.id = rows.text(row, 1),
          .name = rows.text(row, 2),
          .version = stored_version(rows.optional_text(row, 3)),
          .execution_id = rows.unsigned_integer(row, 4),
          .status = static_cast<ExecutionStatus>(rows.integer(row, 5)),
          .output = rows.optional_text(row, 6),
          .parent = rows.optional_text(row, 7),
          .pinned_version = stored_version(rows.optional_text(row, 8)),
          .created_at = rows.time(row, 9),
          .updated_at = rows.time(row, 10),
          .completed_at = rows.optional_time(row, 11)};
}

}  // namespace

Parameters filter_parameters(const InstanceFilter& filter) {
  std::optional<List> statuses;
  if (!filter.statuses.empty()) {
    statuses = smallints();
    for (const ExecutionStatus status : filter.statuses) {
      statuses->add(static_cast<std::int64_t>(status));
      if (status != ExecutionStatus::kFailed || filter.exact_statuses) continue;
      statuses->add(static_cast<std::int64_t>(ExecutionStatus::kCancelled));
      statuses->add(static_cast<std::int64_t>(ExecutionStatus::kTerminated));
    }
  }
  std::optional<List> ids;
  if (filter.ids) ids = texts(*filter.ids);
  return Parameters(statuses, ids, filter.name, sortable(filter.version), filter.created_from, filter.created_before,
                    filter.completed_before);
}

ProviderResult<InstancePage> PostgresStore::list_instances(const InstanceQuery& query) {
  const ProviderResult<std::uint64_t> younger = place_before_page(kInstances, query.limit, query.cursor);
  if (!younger) return younger.error();
  return guarded<InstancePage>([&]() -> ProviderResult<InstancePage> {
    Parameters parameters = filter_parameters(query.filter);
    parameters.add(*younger == 0 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(*younger));
    parameters.add(one_more_than(query.limit));
    const Rows rows = pool_.run(kListInstances, parameters, Repeat::kRead);
    InstancePage page;
    for (int row = 0; row < rows.size(); ++row) {
      if (page.instances.size() == query.limit) {
        page.next = cursor_behind(kInstances, rows.unsigned_integer(row - 1, 0));
        break;
      }
      page.instances.push_back(read_info(rows, row));
      if (rows.boolean(row, 12)) add_lost_output(page.instances.back());
    }
    return page;
  });
}

ProviderResult<std::vector<ExecutionId>> PostgresStore::list_executions(const std::string& instance) {
  using Executions = std::vector<ExecutionId>;
  return guarded<Executions>([&]() -> ProviderResult<Executions> {
    Executions executions;
    const Rows rows = pool_.run(kListExecutions, Parameters(instance), Repeat::kRead);
    for (int row = 0; row < rows.size(); ++row) executions.push_back(rows.unsigned_integer(row, 0));
    return executions;
  });
}

ProviderResult<InstanceInfo> PostgresStore::instance_info(const std::string& instance) {
  return guarded<InstanceInfo>([&]() -> ProviderResult<InstanceInfo> {
    const Rows rows = pool_.run(kInstanceInfo, Parameters(instance), Repeat::kRead);
    if (rows.empty()) return no_such_instance(instance);
    InstanceInfo info = read_info(rows, 0);
    if (rows.boolean(0, 12)) add_lost_output(info);
    return info;
  });
}

void PostgresStore::add_lost_output(InstanceInfo& info) {
  if (info.status == ExecutionStatus::kRunning) return;
  const auto history = read_history(info.id, info.execution_id, 0);
  if (history) info.output = output_in_history(*history);
}

ProviderResult<ExecutionInfo> PostgresStore::execution_info(const std::string& instance, ExecutionId execution) {
  return guarded<ExecutionInfo>([&]() -> ProviderResult<ExecutionInfo> {
    const Rows rows = pool_.run(kExecutionInfo, Parameters(instance, execution), Repeat::kRead);
    if (rows.empty()) return no_such_instance(instance);
    if (rows.is_null(0, 0)) {
      const auto history = read_history(instance, execution, 0);
      if (!history) return history.error();
      if (history->empty()) return no_such_execution(instance, execution);
      std::optional<ExecutionStatus> status;
      if (!rows.is_null(0, 7)) status = static_cast<ExecutionStatus>(rows.integer(0, 7));
      return info_in_history(execution, status, *history);
    }
    return ExecutionInfo{.execution_id = execution,
                         .status = static_cast<ExecutionStatus>(rows.integer(0, 1)),
                         .output = rows.optional_text(0, 2),
                         .pinned_version = stored_version(rows.optional_text(0, 3)),
                         .started_at = rows.time(0, 4),
                         .completed_at = rows.optional_time(0, 5),
                         .events = rows.unsigned_integer(0, 6)};
  });
}

ProviderResult<std::vector<EventRecord>> PostgresStore::read_history(const std::string& instance,
                                                                     std::optional<ExecutionId> execution,
                                                                     EventId after) {
  using Events = std::vector<EventRecord>;
  return guarded<Events>([&]() -> ProviderResult<Events> {
    const Rows rows = pool_.run(kReadEvents, Parameters(instance, execution, after), Repeat::kRead);
    if (rows.empty()) return Events();
    HistoryUnpacker unpacker(after);
    for (int row = 0; row < rows.size(); ++row) {
      if (rows.is_null(row, 3)) continue;
      unpacker.add(rows.unsigned_integer(row, 3), rows.unsigned_integer(row, 4), rows.bytes(row, 5));
    }
    std::optional<EventId> last;
    if (rows.boolean(0, 2)) last = rows.unsigned_integer(0, 1);
    StoredHistory history = std::move(unpacker).finish(instance, rows.unsigned_integer(0, 0), last);
    if (history.error) return ProviderError(ProviderErrorKind::kCorruptData, *history.error);
    return std::move(history.events);
  });
}

ProviderResult<std::vector<std::string>> PostgresStore::list_children(const std::string& instance) {
  using Children = std::vector<std::string>;
  return guarded<Children>([&]() -> ProviderResult<Children> {
    Children children;
    const Rows rows = pool_.run(kListChildren, Parameters(instance), Repeat::kRead);
    for (int row = 0; row < rows.size(); ++row) children.push_back(rows.text(row, 0));
    return children;
  });
}

ProviderResult<InstanceTree> PostgresStore::instance_tree(const std::string& instance) {
  return guarded<InstanceTree>([&]() -> ProviderResult<InstanceTree> {
    const Rows rows = pool_.run(kInstanceTree, Parameters(instance), Repeat::kRead);
    if (rows.empty()) return no_such_instance(instance);
    InstanceTree tree{.root = instance, .ids = {}};
    for (int row = 0; row < rows.size(); ++row) tree.ids.push_back(rows.text(row, 0));
    return tree;
  });
}

ProviderResult<SystemMetrics> PostgresStore::system_metrics() {
  return guarded<SystemMetrics>([&]() -> ProviderResult<SystemMetrics> {
    const Rows rows = pool_.run(kSystemMetrics, Parameters(), Repeat::kRead);
    return SystemMetrics{.instances = rows.unsigned_integer(0, 0),
                         .executions = rows.unsigned_integer(0, 1),
                         .events = rows.unsigned_integer(0, 2),
                         .running = rows.unsigned_integer(0, 3),
                         .completed = rows.unsigned_integer(0, 4),
                         .failed = rows.unsigned_integer(0, 5),
                         .cancelled = rows.unsigned_integer(0, 6),
                         .terminated = rows.unsigned_integer(0, 7)};
  });
}

ProviderResult<QueueDepths> PostgresStore::queue_depths() {
  return guarded<QueueDepths>([&]() -> ProviderResult<QueueDepths> {
    const std::vector<Call> calls{{kMessageDepths, {}}, {kActivityDepths, {}}};
    const std::vector<Rows> answers = pool_.run(calls, Repeat::kRead);
    return QueueDepths{.messages = answers[0].unsigned_integer(0, 0),
                       .delayed_messages = answers[0].unsigned_integer(0, 1),
                       .activities = answers[1].unsigned_integer(0, 0),
                       .locked_activities = answers[1].unsigned_integer(0, 1),
                       .delayed_activities = answers[1].unsigned_integer(0, 2)};
  });
}

ProviderResult<std::vector<KeyValue>> PostgresStore::read_key_value_snapshot(const std::string& instance) {
  using Values = std::vector<KeyValue>;
  return guarded<Values>([&]() -> ProviderResult<Values> {
    Values values;
    const Rows rows = pool_.run(kValueSnapshot, Parameters(instance), Repeat::kRead);
    for (int row = 0; row < rows.size(); ++row) {
      values.push_back({.key = rows.text(row, 0), .value = rows.text(row, 1), .updated_at = rows.time(row, 2)});
    }
    return values;
  });
}

}  // namespace perdure::postgres
