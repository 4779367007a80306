// Reads an execution's history and the values that it began with.
#pragma once

#include <perdure/fetch.h>
#include "providers/sqlite/connection.h"
#include "providers/sqlite/instance_row.h"

namespace perdure::sqlite {

// The current execution's events behind `after`, and the key-values if that is 0. Damage is told in the answer.
[[nodiscard]] StoredHistory load_history(Connection& connection, const InstanceRow& row, EventId after);

// The events of any execution; damage is in `error` again.
[[nodiscard]] StoredHistory load_events(Connection& connection, const InstanceRow& row, ExecutionId execution,
                                        EventId after);

}  // namespace perdure::sqlite
