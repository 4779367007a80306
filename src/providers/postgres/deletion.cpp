// Deleting instances with everything that is theirs, and pruning past executions.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "providers/bulk.h"
#include "providers/postgres/instance_filter.h"
#include "providers/postgres/messages.h"
#include "providers/postgres/postgres_store.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr const char* kDeleteTree = "SELECT * FROM delete_tree($1::text, $2::boolean, $3::bigint)";
constexpr const char* kDeleteListed = "SELECT * FROM delete_listed($1::text[], $2::boolean, $3::bigint)";
constexpr const char* kPrune = "SELECT * FROM prune_executions($1::text, $2::bigint, $3::bigint)";
constexpr const char* kMatchingRoots =
    "SELECT i.id FROM instances i WHERE" PERDURE_INSTANCE_FILTER " AND i.parent IS NULL ORDER BY i.key";
constexpr const char* kLockTree = "SELECT lock_instances(rows_touched_by_deletion(family_of($1::text)))";
// Deletes one root, if it matches now. The tree is locked already, in the order that all transactions use.
constexpr const char* kDeleteMatching =
    "WITH root AS MATERIALIZED (SELECT i.id FROM instances i WHERE" PERDURE_INSTANCE_FILTER
    " AND i.parent IS NULL AND i.id = $8::text FOR UPDATE)"
    " SELECT d.* FROM root CROSS JOIN LATERAL delete_tree(root.id, false, $9::bigint) d";
// Each id with a flag: whether it has executions that prune_executions would remove.
constexpr const char* kPruneCandidates =
    "SELECT i.id, i.execution > 1 AND EXISTS (SELECT 1 FROM executions e"
    "  WHERE e.key = i.key AND e.execution <> i.execution AND e.status <> 0"
    "  AND ($9::bigint IS NULL OR e.completed_at < $9::bigint) AND e.execution NOT IN ("
    "   SELECT n.execution FROM executions n WHERE n.key = i.key ORDER BY n.execution DESC LIMIT $8::bigint))"
    " FROM instances i WHERE" PERDURE_INSTANCE_FILTER " ORDER BY i.key";
constexpr const char* kPruneMatching =
    "WITH matching AS MATERIALIZED (SELECT i.id FROM instances i WHERE" PERDURE_INSTANCE_FILTER
    " AND i.id = $8::text FOR UPDATE)"
    " SELECT p.* FROM matching CROSS JOIN LATERAL prune_executions(matching.id, $9::bigint, $10::bigint) p";
constexpr const char* kDamage =
    "UPDATE history h SET data = '\\x00ff'::bytea FROM instances i"
    " WHERE i.id = $1::text AND h.key = i.key AND h.execution = i.execution";

}  // namespace

std::vector<DiscardedMessages> ignored_starts(const Rows& rows, int column) {
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& instance : rows.texts(0, column)) ++counts[instance];
  std::vector<DiscardedMessages> ignored;
  for (const auto& [instance, count] : counts) {
    ignored.push_back({.instance = instance, .count = count, .reason = DiscardReason::kAlreadyStarted});
  }
  return ignored;
}

ProviderResult<DeleteResult> PostgresStore::deleted(const Rows& rows, const std::string& instance) {
  const std::string problem = rows.text(0, 0);
  const std::string whom = rows.text(0, 1);
  report(ignored_starts(rows, 6));
  const std::vector<std::string> discarded = rows.texts(0, 7);
  const std::vector<std::string> counts = rows.texts(0, 8);
  for (std::size_t i = 0; i < discarded.size(); ++i) {
    report({{.instance = discarded[i], .count = std::stoull(counts[i])}});
  }
  if (problem == "unknown") {
    if (!discarded.empty()) waker_->changed({.activities = true, .groups = kWithdrawals});
    return no_such_instance(instance);
  }
  if (problem == "child") return is_a_child(instance, whom);
  if (problem == "running") return still_running(whom);
  if (problem == "awaited") return is_awaited(whom);
  if (problem == "children") return leaves_children(whom);
  waker_->changed({.instances = true, .activities = true, .groups = ~std::uint64_t{0}});
  return DeleteResult{.instances = rows.unsigned_integer(0, 2),
                      .executions = rows.unsigned_integer(0, 3),
                      .events = rows.unsigned_integer(0, 4),
                      .messages = rows.unsigned_integer(0, 5)};
}

ProviderResult<DeleteResult> PostgresStore::delete_instance(const std::string& instance, bool force) {
  return guarded<DeleteResult>([&] {
    return deleted(pool_.run(kDeleteTree, Parameters(instance, force, options_.orphan_retention), Repeat::kNever),
                   instance);
  });
}

ProviderResult<DeleteResult> PostgresStore::delete_instances(std::span<const std::string> instances, bool force) {
  return guarded<DeleteResult>([&] {
    List ids = texts();
    for (const std::string& instance : instances) ids.add(instance);
    return deleted(pool_.run(kDeleteListed, Parameters(ids, force, options_.orphan_retention), Repeat::kNever), "");
  });
}

ProviderResult<DeleteResult> PostgresStore::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  return guarded<DeleteResult>([&] {
    std::vector<std::string> roots;
    const Rows rows = pool_.run(kMatchingRoots, filter_parameters(filter), Repeat::kIfLost);
    for (int row = 0; row < rows.size(); ++row) roots.push_back(rows.text(row, 0));
    return delete_each(roots, limit, [&](const std::string& root) -> ProviderResult<std::optional<DeleteResult>> {
      Parameters parameters = filter_parameters(filter);
      parameters.add(root);
      parameters.add(options_.orphan_retention);
      const std::vector<Call> calls{{kLockTree, Parameters(root)}, {kDeleteMatching, parameters}};
      const std::vector<Rows> answers = pool_.run(calls, Repeat::kNever);
      if (answers.back().empty()) return std::optional<DeleteResult>();
      const ProviderResult<DeleteResult> result = deleted(answers.back(), root);
      if (!result) return result.error();
      return std::optional<DeleteResult>(*result);
    });
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
  return guarded<PruneResult>([&] {
    Parameters which = filter_parameters(filter);
    which.add(bounded(options.keep_last));
    which.add(options.completed_before);
    std::vector<PruneCandidate> candidates;
    const Rows rows = pool_.run(kPruneCandidates, which, Repeat::kIfLost);
    for (int row = 0; row < rows.size(); ++row) {
      candidates.push_back({.instance = rows.text(row, 0), .has_old_executions = rows.boolean(row, 1)});
    }
    return prune_each(
        candidates, limit, [&](const std::string& instance) -> ProviderResult<std::optional<PruneResult>> {
          Parameters parameters = filter_parameters(filter);
          parameters.add(instance);
          parameters.add(bounded(options.keep_last));
          parameters.add(options.completed_before);
          const Rows pruned = pool_.run(kPruneMatching, parameters, Repeat::kNever);
          if (pruned.empty()) return std::optional<PruneResult>();
          return std::optional<PruneResult>(
              {.instances = 1, .executions = pruned.unsigned_integer(0, 0), .events = pruned.unsigned_integer(0, 1)});
        });
  });
}

void PostgresStore::damage_history(const std::string& instance) {
  static_cast<void>(pool_.run(kDamage, Parameters(instance), Repeat::kIfLost));
}

}  // namespace perdure::postgres
