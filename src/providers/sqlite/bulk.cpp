// What is done to many rows. Of many instances each has its own transaction: a long clean-up must not stop the queues.
#include <limits>

#include "providers/sqlite/sqlite_store.h"

namespace perdure::sqlite {

ProviderResult<DeleteResult> SqliteStore::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  const ProviderResult<std::vector<std::string>> roots = read<std::vector<std::string>>([&](Connection& connection) {
    return matching_instances(connection, filter, true, std::numeric_limits<std::size_t>::max());
  });
  if (!roots) return roots.error();
  DeleteResult total;
  std::size_t deleted = 0;
  for (const std::string& root : *roots) {
    if (deleted == limit) break;
    const ProviderResult<DeleteResult> result = delete_instance(root, false);
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

ProviderResult<PruneResult> SqliteStore::prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                                        std::size_t limit) {
  const ProviderResult<std::vector<std::string>> instances = read<std::vector<std::string>>(
      [&](Connection& connection) { return matching_instances(connection, filter, false, limit); });
  if (!instances) return instances.error();
  PruneResult total;
  for (const std::string& instance : *instances) {
    const ProviderResult<PruneResult> result = prune_executions(instance, options);
    if (!result && result.error().kind() == ProviderErrorKind::kNotFound) continue;  // deleted meanwhile
    if (!result) return result.error();
    total.instances += result->instances;
    total.executions += result->executions;
    total.events += result->events;
  }
  return total;
}

void SqliteStore::damage_history(const std::string& instance) {
  change<void>(kDurable, [&](Store& store) {
    store.connection().run(
        "UPDATE history SET data = x'00ff' WHERE (key, execution) IN (SELECT key, execution FROM instances WHERE id = "
        "?1)",
        instance);
  }).value();
}

}  // namespace perdure::sqlite
