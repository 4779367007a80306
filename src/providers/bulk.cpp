#include "providers/bulk.h"

namespace perdure {

ProviderResult<DeleteResult> delete_each(std::span<const std::string> roots, std::size_t limit,
                                         const DeleteOne& delete_one) {
  DeleteResult total;
  std::size_t deleted = 0;
  for (const std::string& root : roots) {
    if (deleted == limit) break;
    const ProviderResult<std::optional<DeleteResult>> result = delete_one(root);
    const bool skip = !result && (result.error().kind() == ProviderErrorKind::kStillRunning ||
                                  result.error().kind() == ProviderErrorKind::kNotFound);
    if (skip) continue;
    if (!result) return result.error();
    if (!*result) continue;
    const DeleteResult& one = **result;
    ++deleted;
    total.instances += one.instances;
    total.executions += one.executions;
    total.events += one.events;
    total.messages += one.messages;
  }
  return total;
}

ProviderResult<PruneResult> prune_each(std::span<const PruneCandidate> candidates, std::size_t limit,
                                       const PruneOne& prune_one) {
  PruneResult total;
  std::size_t pruned = 0;
  for (const PruneCandidate& candidate : candidates) {
    if (pruned == limit) break;
    if (!candidate.has_old_executions) {
      ++total.instances;
      continue;
    }
    const ProviderResult<std::optional<PruneResult>> result = prune_one(candidate.instance);
    if (!result) return result.error();
    if (!*result) continue;
    const PruneResult& one = **result;
    if (one.executions > 0) ++pruned;
    total.instances += one.instances;
    total.executions += one.executions;
    total.events += one.events;
  }
  return total;
}

}  // namespace perdure
