// Removing past executions.
#pragma once

#include <cstddef>
#include <string>

#include <perdure/provider_admin.h>
#include <perdure/provider_error.h>
#include "providers/memory/store.h"

namespace perdure::memory {

[[nodiscard]] ProviderResult<PruneResult> prune_executions(Store& store, const std::string& instance,
                                                           const PruneOptions& options);
[[nodiscard]] PruneResult prune_matching(Store& store, const InstanceFilter& filter, const PruneOptions& options,
                                         std::size_t limit);

}  // namespace perdure::memory
