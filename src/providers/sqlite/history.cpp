#include "providers/sqlite/history.h"

#include <optional>
#include <utility>

#include "providers/history_unpacker.h"
#include "providers/sqlite/sql.h"

namespace perdure::sqlite {

StoredHistory load_events(Connection& connection, const InstanceRow& row, ExecutionId execution, EventId after) {
  HistoryUnpacker unpacker(after);
  Query query = after == 0 ? connection.query(sql::kReadHistory, row.key, execution)
                           : connection.query(sql::kReadHistoryAfter, row.key, execution, after);
  while (query.step()) unpacker.add(query.unsigned_integer(0), query.unsigned_integer(1), query.bytes(2));
  std::optional<EventId> last;
  if (execution == row.identity.execution) last = row.progress.last_event;
  return std::move(unpacker).finish(row.id, execution, last);
}

StoredHistory load_history(Connection& connection, const InstanceRow& row, EventId after) {
  StoredHistory history = load_events(connection, row, row.identity.execution, after);
  if (!history.error && after == 0) history.key_values = load_key_value_snapshot(connection, row);
  return history;
}

std::vector<KeyValue> load_key_value_snapshot(Connection& connection, const InstanceRow& row) {
  std::vector<KeyValue> values;
  Query query = connection.query(sql::kReadKeyValueSnapshot, row.key);
  while (query.step()) values.push_back({.key = query.text(0), .value = query.text(1), .updated_at = query.time(2)});
  return values;
}

}  // namespace perdure::sqlite
