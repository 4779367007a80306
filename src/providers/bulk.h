// Operations on many instances. Each instance has its own transactions, so that a long clean-up does not block queues.
// An instance may be replaced between the list and that transaction, so each transaction checks the filter again.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>

namespace perdure {

// Deletes the tree of a root that still matches; returns nothing if it does not.
using DeleteOne = std::function<ProviderResult<std::optional<DeleteResult>>(const std::string& root)>;
// Deletes up to `limit` of these roots with their trees, except those that run, are gone or no longer match.
[[nodiscard]] ProviderResult<DeleteResult> delete_each(std::span<const std::string> roots, std::size_t limit,
                                                       const DeleteOne& delete_one);

struct PruneCandidate {
  std::string instance;
  bool has_old_executions = false;  // that a prune would remove
};
// Prunes an instance that still matches; returns nothing if it does not.
using PruneOne = std::function<ProviderResult<std::optional<PruneResult>>(const std::string& instance)>;
// Prunes these instances in order, until `limit` of them have lost executions.
[[nodiscard]] ProviderResult<PruneResult> prune_each(std::span<const PruneCandidate> candidates, std::size_t limit,
                                                     const PruneOne& prune_one);

}  // namespace perdure
