#include "providers/sqlite/history.h"

#include <algorithm>
#include <span>
#include <string>

#include "providers/sqlite/event_packing.h"
#include "providers/sqlite/sql.h"

namespace perdure::sqlite {

namespace {

bool are_consecutive(std::span<const EventRecord> events, EventId first) {
  return std::all_of(events.begin(), events.end(),
                     [&first](const EventRecord& event) { return event.event_id == first++; });
}

StoredHistory damaged(const InstanceRow& row, ExecutionId execution, EventId from) {
  return {.events = {},
          .key_values = {},
          .error = "instance '" + row.id + "', execution " + std::to_string(execution) + ": the stored events from " +
                   std::to_string(from) + " on are damaged"};
}

}  // namespace

StoredHistory load_events(Connection& connection, const InstanceRow& row, ExecutionId execution, EventId after) {
  StoredHistory history;
  Query query = after == 0 ? connection.query(sql::kReadHistory, row.key, execution)
                           : connection.query(sql::kReadHistoryAfter, row.key, execution, after);
  EventId next = after == 0 ? kFirstEventId : 0;  // 0: any
  while (query.step()) {
    const EventId first = query.unsigned_integer(0);
    const std::size_t before = history.events.size();
    const bool readable = unpack_events(query.bytes(2), history.events);
    const std::span<const EventRecord> added = std::span(history.events).subspan(before);
    // The columns say what the blob must hold: both sides of the boundary are checked.
    if (!readable || added.empty() || added.size() != query.unsigned_integer(1) || !are_consecutive(added, first) ||
        (next != 0 && first != next)) {
      return damaged(row, execution, next != 0 ? next : first);
    }
    next = added.back().event_id + 1;
  }
  const EventId last = history.events.empty() ? 0 : history.events.back().event_id;
  if (execution == row.identity.execution && last != row.progress.last_event) return damaged(row, execution, last + 1);
  const auto behind = std::find_if(history.events.begin(), history.events.end(),
                                   [after](const EventRecord& event) { return event.event_id > after; });
  history.events.erase(history.events.begin(), behind);
  return history;
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
