// What is done to many rows.
#include "providers/bulk.h"

#include <optional>

#include "providers/sqlite/sqlite_store.h"

namespace perdure::sqlite {

namespace {

// The result of an operation for an instance that it was applied to.
template <class T>
ProviderResult<std::optional<T>> done(const ProviderResult<T>& result) {
  if (!result) return result.error();
  return std::optional<T>(*result);
}

}  // namespace

ProviderResult<DeleteResult> SqliteStore::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  const ProviderResult<std::vector<std::string>> roots =
      read<std::vector<std::string>>([&](Connection& connection) { return matching_roots(connection, filter); });
  if (!roots) return roots.error();
  return delete_each(*roots, limit, [&](const std::string& root) {
    return change<std::optional<DeleteResult>>(kDurable,
                                               [&](Store& store) -> ProviderResult<std::optional<DeleteResult>> {
                                                 if (!is_matching_root(store.connection(), filter, root))
                                                   return std::optional<DeleteResult>();
                                                 return done(store.delete_instance(root, false));
                                               });
  });
}

ProviderResult<PruneResult> SqliteStore::prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                                        std::size_t limit) {
  const ProviderResult<std::vector<PruneCandidate>> candidates = read<std::vector<PruneCandidate>>(
      [&](Connection& connection) { return prune_candidates(connection, filter, options); });
  if (!candidates) return candidates.error();
  return prune_each(*candidates, limit, [&](const std::string& instance) {
    return prune_in_steps(instance, options,
                          [&](Connection& connection) { return is_matching(connection, filter, instance); });
  });
}

ProviderResult<PruneResult> SqliteStore::prune_executions(const std::string& instance, const PruneOptions& options) {
  const ProviderResult<std::optional<PruneResult>> pruned =
      prune_in_steps(instance, options, [](Connection&) { return true; });
  if (!pruned) return pruned.error();
  return pruned->value();
}

ProviderResult<std::optional<PruneResult>> SqliteStore::prune_in_steps(
    const std::string& instance, const PruneOptions& options, const std::function<bool(Connection&)>& may_prune) {
  PruneProgress progress;
  while (!progress.is_complete) {
    const ProviderResult<PruneProgress> next =
        change<PruneProgress>(kDurable, [&](Store& store) -> ProviderResult<PruneProgress> {
          if (may_prune(store.connection())) return store.prune(instance, options, progress);
          return PruneProgress{.result = progress.result, .is_complete = true};
        });
    if (!next) return next.error();
    progress = *next;
  }
  if (progress.result.instances == 0) return std::optional<PruneResult>();
  return std::optional<PruneResult>(progress.result);
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
