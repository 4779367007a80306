#include "providers/memory/pruning.h"

#include <algorithm>

#include "providers/memory/admin_reads.h"
#include "providers/memory/instance_filter.h"

namespace perdure::memory {

namespace {

void prune(Instance& instance, const PruneOptions& options, PruneResult& result) {
  ++result.instances;
  const std::size_t kept = std::max<std::size_t>(options.keep_last, 1);  // the current one always stays
  std::size_t candidates = instance.executions.size() - std::min(kept, instance.executions.size());
  for (auto next = instance.executions.begin(); candidates > 0; --candidates) {
    const Execution& execution = next->second;
    const bool old_enough =
        !options.completed_before || (execution.completed_at && *execution.completed_at < *options.completed_before);
    if (!is_terminal(execution.status) || !old_enough) {
      ++next;
      continue;
    }
    ++result.executions;
    result.events += execution.events.size();
    next = instance.executions.erase(next);
  }
}

}  // namespace

ProviderResult<PruneResult> prune_executions(Store& store, const std::string& instance, const PruneOptions& options) {
  KeyRow* const row = store.keys.find(instance);
  if (row == nullptr || !row->instance) return instance_not_found(instance);
  PruneResult result;
  prune(*row->instance, options, result);
  return result;
}

PruneResult prune_matching(Store& store, const InstanceFilter& filter, const PruneOptions& options, std::size_t limit) {
  const InstanceMatcher matches(filter);
  PruneResult result;
  std::size_t pruned = 0;
  for (const auto& [age, row] : store.keys.rows()) {
    if (pruned >= limit) break;
    if (!matches(row)) continue;
    const std::uint64_t before = result.executions;
    prune(*store.keys.find(age)->instance, options, result);
    if (result.executions > before) ++pruned;
  }
  return result;
}

}  // namespace perdure::memory
