// The nodes of a store, as the error of an item that no node has code for names them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include "runtime/provider_calls.h"

namespace perdure::runtime {

// Asks the store, which only an item that ends as poison needs. Returns std::nullopt if the store cannot list them.
[[nodiscard]] std::optional<std::vector<NodeInfo>> registered_nodes(const ProviderCalls& calls);

// "'node-1', 'node-2' (versions 1.0.0, 1.1.0) and 3 others": a few nodes, and which versions of the orchestration each
// has. Empty without nodes.
[[nodiscard]] std::string asked_for_orchestration(const std::vector<NodeInfo>& nodes, const std::string& name);
// The same for an activity: "'node-1', 'node-2' (has it)".
[[nodiscard]] std::string asked_for_activity(const std::vector<NodeInfo>& nodes, const std::string& name);

}  // namespace perdure::runtime
