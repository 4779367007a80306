// Poolers between a store and its server: they must not share a session between connections.
#pragma once

#include "providers/postgres/connection.h"

namespace perdure::postgres {

// Both throw PostgresError with kSharedSession if the session of a connection is shared. They set nothing in a session.

// For the first connection of a store.
void refuse_shared_session(Connection& connection, const ConnectionOptions& options, Deadline deadline);
// For later ones, because a pooler may change its mode. One round trip if the server is connected directly.
void refuse_shared_session_of_pooler(Connection& connection, const ConnectionOptions& options, Deadline deadline);

}  // namespace perdure::postgres
