// Rows that a store has lost, seen from the history, which outlives them.
#pragma once

#include <optional>
#include <string>

#include <perdure/provider_admin.h>

namespace perdure {

// Returns why a running instance waits for something that never comes, and what helps. Returns nothing if it does not,
// and for a store that does not describe its queue.
[[nodiscard]] std::optional<std::string> reason_for_endless_wait(ProviderAdmin& admin, const InstanceInfo& instance);

}  // namespace perdure
