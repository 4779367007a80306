// Rows that a store still has after all instances were deleted, read by SQL.
#pragma once

#include <string>

#include "cluster/store_address.h"

namespace perdure::test {

// The tables that are not empty, with the numbers of their rows; empty: none. Tables that describe nodes and the store
// itself do not count, and sessions only on request: a node may own a session until its idle timeout.
[[nodiscard]] std::string leftover_rows(const StoreAddress& address, bool with_sessions);

}  // namespace perdure::test
