// What is done to many instances. Each has its own transaction: a long clean-up must not stop the queues.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <perdure/provider_admin.h>

namespace perdure {

// Up to `limit` of these roots with their trees, but for those that run or are gone.
[[nodiscard]] ProviderResult<DeleteResult> delete_each(ProviderAdmin& store, std::span<const std::string> roots,
                                                       std::size_t limit);
[[nodiscard]] ProviderResult<PruneResult> prune_each(ProviderAdmin& store, std::span<const std::string> instances,
                                                     const PruneOptions& options);

}  // namespace perdure
