// Deleting instances with everything that is theirs, and pruning past executions.
#include <limits>

#include "providers/bulk.h"
#include "providers/postgres/instance_filter.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr const char* kDeleteTree = "SELECT * FROM delete_tree($1::text, $2::boolean)";
constexpr const char* kDeleteListed = "SELECT * FROM delete_listed($1::text[], $2::boolean)";
constexpr const char* kPrune = "SELECT * FROM prune_executions($1::text, $2::bigint, $3::bigint)";
constexpr const char* kMatching = "SELECT i.id FROM instances i WHERE" PERDURE_INSTANCE_FILTER
                                  " AND (NOT $8::boolean OR i.parent IS NULL) ORDER BY i.key LIMIT $9::bigint";
constexpr const char* kDamage =
    "UPDATE history h SET data = '\\x00ff'::bytea FROM instances i"
    " WHERE i.id = $1::text AND h.key = i.key AND h.execution = i.execution";

}  // namespace

ProviderResult<DeleteResult> PostgresStore::deleted(const Rows& rows, const std::string& instance) {
  const std::string problem = rows.text(0, 0);
  const std::string whom = rows.text(0, 1);
  if (problem == "unknown") return no_such_instance(instance);
  if (problem == "child") return is_a_child(instance, whom);
  if (problem == "running") return still_running(whom);
  if (problem == "children") return leaves_children(whom);
  waker_->changed({.instances = true, .activities = true, .groups = ~std::uint64_t{0}});
  return DeleteResult{.instances = rows.unsigned_integer(0, 2),
                      .executions = rows.unsigned_integer(0, 3),
                      .events = rows.unsigned_integer(0, 4),
                      .messages = rows.unsigned_integer(0, 5)};
}

ProviderResult<DeleteResult> PostgresStore::delete_instance(const std::string& instance, bool force) {
  return guarded<DeleteResult>(
      [&] { return deleted(pool_.run(kDeleteTree, Parameters(instance, force), Repeat::kNever), instance); });
}

ProviderResult<DeleteResult> PostgresStore::delete_instances(std::span<const std::string> instances, bool force) {
  return guarded<DeleteResult>([&] {
    List ids = texts();
    for (const std::string& instance : instances) ids.add(instance);
    return deleted(pool_.run(kDeleteListed, Parameters(ids, force), Repeat::kNever), "");
  });
}

std::vector<std::string> PostgresStore::matching_instances(const InstanceFilter& filter, bool roots,
                                                           std::size_t limit) {
  Parameters parameters = filter_parameters(filter);
  parameters.add(roots);
  parameters.add(bounded(limit));
  std::vector<std::string> ids;
  const Rows rows = pool_.run(kMatching, parameters, Repeat::kIfLost);
  ids.reserve(static_cast<std::size_t>(rows.size()));
  for (int row = 0; row < rows.size(); ++row) ids.push_back(rows.text(row, 0));
  return ids;
}

ProviderResult<DeleteResult> PostgresStore::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  return guarded<DeleteResult>([&] {
    return delete_each(*this, matching_instances(filter, true, std::numeric_limits<std::size_t>::max()), limit);
  });
}

ProviderResult<PruneResult> PostgresStore::prune_executions(const std::string& instance, const PruneOptions& options) {
  return guarded<PruneResult>([&]() -> ProviderResult<PruneResult> {
    const Rows rows =
        pool_.run(kPrune, Parameters(instance, bounded(options.keep_last), options.completed_before), Repeat::kNever);
    if (rows.empty()) return no_such_instance(instance);
    return PruneResult{
        .instances = 1, .executions = rows.unsigned_integer(0, 0), .events = rows.unsigned_integer(0, 1)};
  });
}

ProviderResult<PruneResult> PostgresStore::prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                                          std::size_t limit) {
  return guarded<PruneResult>([&] { return prune_each(*this, matching_instances(filter, false, limit), options); });
}

void PostgresStore::damage_history(const std::string& instance) {
  static_cast<void>(pool_.run(kDamage, Parameters(instance), Repeat::kIfLost));
}

}  // namespace perdure::postgres
