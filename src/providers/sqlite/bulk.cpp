// What is done to many rows.
#include "providers/bulk.h"

#include <limits>

#include "providers/sqlite/sqlite_store.h"

namespace perdure::sqlite {

ProviderResult<DeleteResult> SqliteStore::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  const ProviderResult<std::vector<std::string>> roots = read<std::vector<std::string>>([&](Connection& connection) {
    return matching_instances(connection, filter, true, std::numeric_limits<std::size_t>::max());
  });
  if (!roots) return roots.error();
  return delete_each(*this, *roots, limit);
}

ProviderResult<PruneResult> SqliteStore::prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                                        std::size_t limit) {
  const ProviderResult<std::vector<std::string>> instances = read<std::vector<std::string>>(
      [&](Connection& connection) { return matching_instances(connection, filter, false, limit); });
  if (!instances) return instances.error();
  return prune_each(*this, *instances, options);
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
