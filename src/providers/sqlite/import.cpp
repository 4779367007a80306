// Ended instances from another store.
#include "providers/instance_import.h"
#include "providers/sqlite/sql.h"
#include "providers/sqlite/sqlite_store.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

constexpr const char* kImportExecution =
    "INSERT INTO executions(key, execution, status, output, pin, carry_forward, started_at, completed_at)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
constexpr const char* kImportKeyValue = "INSERT INTO key_values(key, name, value, updated_at) VALUES(?1, ?2, ?3, ?4)";
constexpr const char* kImportCustomStatus = "INSERT INTO custom_statuses(key, value, version) VALUES(?1, ?2, ?3)";

}  // namespace

ProviderResult<void> Store::import_instances(std::span<const InstanceCopy> instances) {
  if (std::optional<ProviderError> error = check_import(instances)) return *error;
  std::vector<InstanceRow> orphans;
  for (const InstanceCopy& instance : instances) {
    std::optional<InstanceRow> row = find_instance(connection_, instance.info.id);
    if (row && !row->is_orphan()) return exists_already(instance.info.id);
    if (row) orphans.push_back(*std::move(row));
  }
  for (const InstanceRow& orphan : orphans) discard_orphan(orphan);
  for (const InstanceCopy& instance : instances) import_instance(instance);
  return {};
}

void Store::import_instance(const InstanceCopy& instance) {
  InstanceRow row = insert_instance(connection_, instance.info.id);
  const InstanceRow before = row;
  row.identity = {.name = instance.info.name,
                  .version = version_text(instance.info.version),
                  .parent = {.parent = instance.info.parent, .rest = {}},
                  .status = instance.info.status,
                  .execution = instance.info.execution_id,
                  .pin = version_text(instance.info.pinned_version),
                  .created_at = instance.info.created_at,
                  .incarnation = static_cast<std::uint64_t>(secrets_.next()),
                  .completed_at = instance.info.completed_at};
  row.progress.updated_at = instance.info.updated_at;
  for (const ExecutionCopy& execution : instance.executions) {
    const ExecutionInfo& info = execution.info;
    connection_.run(kImportExecution, row.key, info.execution_id, static_cast<int>(info.status), blob(info.output),
                    version_text(info.pinned_version), execution.carried_forward, info.started_at, info.completed_at);
    const std::span<const EventRecord> history(execution.history);
    for (std::size_t first = 0; first < history.size();) {
      const std::size_t length = turn_length(history, first);
      append_events(row, info.execution_id, history.subspan(first, length));
      first += length;
    }
  }
  for (const KeyValue& value : instance.key_values) {
    connection_.run(kImportKeyValue, row.key, value.key, blob(value.value), value.updated_at);
  }
  if (instance.custom_status.version > 0) {
    connection_.run(kImportCustomStatus, row.key, blob(instance.custom_status.value), instance.custom_status.version);
  }
  finish(row, before);
}

}  // namespace perdure::sqlite
