// What clients read.
#include <algorithm>
#include <new>

#include "providers/lost_output.h"
#include "providers/postgres/postgres_store.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/versions.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

// The changes of the current execution over what earlier ones left.
#define PERDURE_LIVE_VALUES                                                                                    \
  "(SELECT c.name, c.value, c.updated_at FROM key_value_changes c WHERE c.key = i.key AND c.value IS NOT NULL" \
  " UNION ALL SELECT v.name, v.value, v.updated_at FROM key_values v WHERE v.key = i.key AND NOT EXISTS"       \
  " (SELECT 1 FROM key_value_changes c WHERE c.key = v.key AND c.name = v.name))"

constexpr const char* kReadStatus =
    "SELECT i.created_at IS NOT NULL, i.name, i.version, i.execution, i.status, e.output, s.value, s.version,"
    " e.key IS NULL, i.incarnation FROM instances i LEFT JOIN executions e ON e.key = i.key AND e.execution = "
    "i.execution"
    " LEFT JOIN custom_statuses s ON s.key = i.key"
    " WHERE i.id = $1::text AND (i.created_at IS NOT NULL OR EXISTS"
    " (SELECT 1 FROM messages m WHERE m.key = i.key AND m.kind IN (1, 2)))";
constexpr const char* kReadCustomStatus =
    "SELECT s.value, s.version FROM instances i JOIN custom_statuses s ON s.key = i.key"
    " WHERE i.id = $1::text AND i.created_at IS NOT NULL AND s.version > $2::bigint";
constexpr const char* kReadValue = "SELECT l.value FROM instances i CROSS JOIN LATERAL " PERDURE_LIVE_VALUES
                                   " l WHERE i.id = $1::text AND i.created_at IS NOT NULL AND l.name = $2::bytea";
constexpr const char* kReadValuesOf =
    "SELECT l.name, l.value, l.updated_at FROM instances i CROSS JOIN LATERAL " PERDURE_LIVE_VALUES
    " l WHERE i.id = $1::text AND i.created_at IS NOT NULL ORDER BY l.name";
constexpr const char* kReadStats =
    "SELECT (SELECT coalesce(sum(h.events), 0)::bigint FROM history h WHERE h.key = i.key AND h.execution = "
    "i.execution),"
    " (SELECT coalesce(sum(h.body_bytes), 0)::bigint FROM history h WHERE h.key = i.key AND h.execution = i.execution),"
    " (SELECT e.carry_forward FROM executions e WHERE e.key = i.key AND e.execution = i.execution),"
    " (SELECT count(*) FROM " PERDURE_LIVE_VALUES
    " l),"
    " (SELECT coalesce(sum(octet_length(l.value)), 0)::bigint FROM " PERDURE_LIVE_VALUES
    " l) FROM instances i WHERE i.id = $1::text AND i.created_at IS NOT NULL";
#undef PERDURE_LIVE_VALUES

}  // namespace

ProviderResult<std::optional<InstanceStatus>> PostgresStore::read_status(const std::string& instance) {
  using Status = std::optional<InstanceStatus>;
  return guarded<Status>([&]() -> ProviderResult<Status> {
    const Rows rows = pool_.run(kReadStatus, Parameters(instance), Repeat::kRead);
    if (rows.empty()) return Status();
    InstanceStatus status;
    status.pending = !rows.boolean(0, 0);
    status.name = rows.text(0, 1);
    if (status.pending) return Status(std::move(status));
    status.version = stored_version(rows.optional_text(0, 2));
    status.execution_id = rows.unsigned_integer(0, 3);
    status.status = static_cast<ExecutionStatus>(rows.integer(0, 4));
    status.output = rows.optional_text(0, 5);
    status.custom_status = rows.optional_text(0, 6);
    status.custom_status_version = rows.unsigned_integer(0, 7);
    status.incarnation = rows.unsigned_integer(0, 9);
    if (rows.boolean(0, 8) && ends_instance(status.status)) {  // the row of the execution is lost
      const auto history = read_history(instance, status.execution_id, 0);
      if (history) status.output = output_in_history(*history);
    }
    return Status(std::move(status));
  });
}

ProviderResult<std::optional<CustomStatus>> PostgresStore::read_custom_status(const std::string& instance,
                                                                              std::uint64_t last_seen_version) {
  using Status = std::optional<CustomStatus>;
  return guarded<Status>([&]() -> ProviderResult<Status> {
    const Rows rows = pool_.run(kReadCustomStatus, Parameters(instance, last_seen_version), Repeat::kRead);
    if (rows.empty()) return Status();
    return Status(CustomStatus{.value = rows.optional_text(0, 0), .version = rows.unsigned_integer(0, 1)});
  });
}

ProviderResult<std::optional<std::string>> PostgresStore::read_key_value(const std::string& instance,
                                                                         const std::string& key) {
  using Value = std::optional<std::string>;
  return guarded<Value>([&]() -> ProviderResult<Value> {
    const Rows rows = pool_.run(kReadValue, Parameters(instance, key), Repeat::kRead);
    if (rows.empty()) return Value();
    return Value(rows.text(0, 0));
  });
}

ProviderResult<std::vector<KeyValue>> PostgresStore::read_key_values(const std::string& instance) {
  using Values = std::vector<KeyValue>;
  return guarded<Values>([&]() -> ProviderResult<Values> {
    Values values;
    const Rows rows = pool_.run(kReadValuesOf, Parameters(instance), Repeat::kRead);
    for (int row = 0; row < rows.size(); ++row) {
      values.push_back({.key = rows.text(row, 0), .value = rows.text(row, 1), .updated_at = rows.time(row, 2)});
    }
    return values;
  });
}

ProviderResult<std::optional<InstanceStats>> PostgresStore::read_stats(const std::string& instance) {
  using Stats = std::optional<InstanceStats>;
  return guarded<Stats>([&]() -> ProviderResult<Stats> {
    const Rows rows = pool_.run(kReadStats, Parameters(instance), Repeat::kRead);
    if (rows.empty()) return Stats();
    return Stats(InstanceStats{.history_events = rows.unsigned_integer(0, 0),
                               .history_bytes = rows.unsigned_integer(0, 1),
                               .carried_forward = rows.unsigned_integer(0, 2),
                               .key_values = rows.unsigned_integer(0, 3),
                               .key_value_bytes = rows.unsigned_integer(0, 4)});
  });
}

// Nobody who asks for the time can do anything about a server that is away.
//
// The runtime asks with its locks held, so a jump is only noted: a log sink may block. A server that does not respond
// costs it kLongest once in `answer_timeout`, because the time is estimated after that. To make a connection may take
// longer, so that is left to other calls.
Timestamp PostgresStore::now() {
  constexpr Milliseconds kLongest{1'000};
  check_process();
  if (const std::optional<Timestamp> recent = pool_.recent_now()) return *recent;
  try {
    const Deadline deadline = deadline_after(std::min(options_.answer_timeout, kLongest));
    // Only the server knows the time that a test has set.
    const bool must_ask = options_.time_tolerance.count() == 0;
    const std::optional<Timestamp> known = pool_.latest();
    const std::optional<Rows> rows =
        must_ask ? pool_.run(sql::kNow, Parameters(), Repeat::kRead, deadline) : pool_.run_at_once(sql::kNow, deadline);
    if (rows) return pool_.note(rows->time(0, 0), known);
  } catch (const PostgresError&) {
    pool_.estimate_for_a_while();
  } catch (const std::bad_alloc&) {
  }
  return pool_.estimated_now();
}

}  // namespace perdure::postgres
