// Rows that a store has lost, seen from the history, which outlives them.
#pragma once

#include <optional>
#include <string>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>

namespace perdure {

// Returns why a running instance waits for something that never comes, and what helps. Returns nothing if it does not,
// and for a store that does not describe its queue. Of a history of more than 10,000 events or 16 MiB it does not look
// for lost rows, because it reads all of it.
[[nodiscard]] std::optional<std::string> reason_for_endless_wait(Provider& store, ProviderAdmin& admin,
                                                                 const InstanceInfo& instance);

// The same for a queued start, and for an instance between two executions: only their time can be wrong.
[[nodiscard]] std::optional<std::string> reason_for_endless_delay(ProviderAdmin& admin, const std::string& instance);

}  // namespace perdure
