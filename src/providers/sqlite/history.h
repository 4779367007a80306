// Reads an execution's history and the values that it began with.
#pragma once

#include <vector>

#include <perdure/fetch.h>
#include "providers/sqlite/connection.h"
#include "providers/sqlite/instance_row.h"

namespace perdure::sqlite {

// The current execution's events behind `after`, and the key-values if that is 0. Damage is told in the answer.
[[nodiscard]] StoredHistory load_history(Connection& connection, const InstanceRow& row, EventId after);

// The values that past executions left, by key.
[[nodiscard]] std::vector<KeyValue> load_key_value_snapshot(Connection& connection, const InstanceRow& row);

// The events of any execution; damage is in `error` again.
[[nodiscard]] StoredHistory load_events(Connection& connection, const InstanceRow& row, ExecutionId execution,
                                        EventId after);

}  // namespace perdure::sqlite
