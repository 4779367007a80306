// Deleting instances with everything that is theirs, and finding what belongs together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/provider_error.h>
#include "providers/memory/store.h"

namespace perdure::memory {

// The row and everything below it, level by level, siblings by age.
[[nodiscard]] std::vector<const KeyRow*> tree_of(const Store& store, const KeyRow& root);

[[nodiscard]] ProviderResult<DeleteResult> delete_instance(Store& store, const std::string& instance, bool force);
[[nodiscard]] ProviderResult<DeleteResult> delete_instances(Store& store, std::span<const std::string> instances,
                                                            bool force);
[[nodiscard]] DeleteResult delete_matching(Store& store, const InstanceFilter& filter, std::size_t limit);

}  // namespace perdure::memory
