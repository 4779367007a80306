// The schema of a store: made and brought up to date when somebody connects.
#pragma once

#include <span>

#include "providers/postgres/connection.h"

namespace perdure::postgres {

// The scripts that lead from nothing to the present, a version each.
[[nodiscard]] std::span<const std::string> migrations();

// Makes the schema, or brings it up to date; whoever comes at the same time waits. Throws PostgresError, and
// ProviderFailure for a schema that is not ours or that a newer version wrote.
void migrate(Connection& connection, const std::string& schema, std::span<const std::string> steps);

}  // namespace perdure::postgres
