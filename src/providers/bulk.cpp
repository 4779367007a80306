#include "providers/bulk.h"

namespace perdure {

ProviderResult<DeleteResult> delete_each(ProviderAdmin& store, std::span<const std::string> roots, std::size_t limit) {
  DeleteResult total;
  std::size_t deleted = 0;
  for (const std::string& root : roots) {
    if (deleted == limit) break;
    const ProviderResult<DeleteResult> result = store.delete_instance(root, false);
    const bool skip = !result && (result.error().kind() == ProviderErrorKind::kStillRunning ||
                                  result.error().kind() == ProviderErrorKind::kNotFound);
    if (skip) continue;
    if (!result) return result.error();
    ++deleted;
    total.instances += result->instances;
    total.executions += result->executions;
    total.events += result->events;
    total.messages += result->messages;
  }
  return total;
}

ProviderResult<PruneResult> prune_each(ProviderAdmin& store, std::span<const std::string> instances,
                                       const PruneOptions& options) {
  PruneResult total;
  for (const std::string& instance : instances) {
    const ProviderResult<PruneResult> result = store.prune_executions(instance, options);
    if (!result && result.error().kind() == ProviderErrorKind::kNotFound) continue;  // deleted meanwhile
    if (!result) return result.error();
    total.instances += result->instances;
    total.executions += result->executions;
    total.events += result->events;
  }
  return total;
}

}  // namespace perdure
