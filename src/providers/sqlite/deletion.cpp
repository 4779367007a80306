// Deleting instances with everything that is theirs, and pruning past executions.
#include <algorithm>

#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

constexpr const char* kChildren = "SELECT key FROM instances WHERE parent = ?1 ORDER BY key";

}  // namespace

// An execution that continued as new has ended, but its instance goes on as long as the continuation is queued.
bool Store::is_running(const InstanceRow& row) {
  if (!row.is_instance()) return row.progress.starts > 0;
  if (row.identity.status == ExecutionStatus::kContinuedAsNew) return row.progress.starts > 0;
  return row.identity.status == ExecutionStatus::kRunning;
}

// Parents before their children.
std::vector<InstanceRow> Store::tree_of(const InstanceRow& root) {
  std::vector<InstanceRow> tree{root};
  for (std::size_t next = 0; next < tree.size(); ++next) {
    std::vector<std::int64_t> children;
    {
      Query query = connection_.query(kChildren, tree[next].id);
      while (query.step()) children.push_back(query.integer(0));
    }
    for (const std::int64_t key : children) {
      const bool seen = std::any_of(tree.begin(), tree.end(), [key](const InstanceRow& row) { return row.key == key; });
      if (!seen) tree.push_back(load_instance(connection_, key).value());
    }
  }
  return tree;
}

ProviderResult<DeleteResult> Store::delete_instance(const std::string& instance, bool force) {
  const std::optional<InstanceRow> root = find_instance(connection_, instance);
  if (!root || root->is_orphan()) return no_such_instance(instance);
  if (root->identity.parent) {
    return is_a_child(instance, *root->identity.parent);
  }
  const std::vector<InstanceRow> tree = tree_of(*root);
  if (!force) {
    const auto running =
        std::find_if(tree.begin(), tree.end(), [this](const InstanceRow& row) { return is_running(row); });
    if (running != tree.end()) return still_running(running->id);
  }
  DeleteResult result;
  for (const InstanceRow& row : tree) delete_row(row, result);
  return result;
}

ProviderResult<DeleteResult> Store::delete_instances(std::span<const std::string> instances, bool force) {
  std::vector<InstanceRow> rows;
  const auto listed = [&rows](std::int64_t key) {
    return std::any_of(rows.begin(), rows.end(), [key](const InstanceRow& row) { return row.key == key; });
  };
  for (const std::string& instance : instances) {
    std::optional<InstanceRow> row = find_instance(connection_, instance);
    if (!row || row->is_orphan() || listed(row->key)) continue;
    if (!force && is_running(*row)) return still_running(instance);
    rows.push_back(*std::move(row));
  }
  for (const InstanceRow& row : rows) {
    Query query = connection_.query(kChildren, row.id);
    while (query.step()) {
      if (listed(query.integer(0))) continue;
      return leaves_children(row.id);
    }
  }
  DeleteResult result;
  for (const InstanceRow& row : rows) delete_row(row, result);
  return result;
}

void Store::delete_row(const InstanceRow& row, DeleteResult& result) {
  ++result.instances;
  result.events += static_cast<std::uint64_t>(
      connection_.integer("SELECT coalesce(sum(events), 0) FROM history WHERE key = ?1", row.key));
  connection_.run("DELETE FROM history WHERE key = ?1", row.key);
  result.executions += static_cast<std::uint64_t>(connection_.run("DELETE FROM executions WHERE key = ?1", row.key));
  result.messages += static_cast<std::uint64_t>(connection_.run(sql::kDropMessages, row.key));
  result.messages += static_cast<std::uint64_t>(connection_.run("DELETE FROM activities WHERE key = ?1", row.key));
  connection_.run("DELETE FROM key_values WHERE key = ?1", row.key);
  connection_.run(sql::kDropKeyValueChanges, row.key);
  connection_.run("DELETE FROM custom_statuses WHERE key = ?1", row.key);
  connection_.run(sql::kDeleteInstanceRow, row.key);
  touch(row);
}

ProviderResult<PruneResult> Store::prune(const std::string& instance, const PruneOptions& options) {
  const std::optional<InstanceRow> row = find_instance(connection_, instance);
  if (!row || !row->is_instance()) return no_such_instance(instance);
  std::vector<std::int64_t> executions;
  {
    // The newest keep_last are kept, and the current one whatever is asked.
    Query query = connection_.query(
        "SELECT execution FROM executions WHERE key = ?1 AND execution <> ?2 AND status <> 0"
        " AND (?3 IS NULL OR completed_at < ?3) AND execution NOT IN"
        " (SELECT execution FROM executions WHERE key = ?1 ORDER BY execution DESC LIMIT ?4)",
        row->key, row->identity.execution, options.completed_before, std::uint64_t{options.keep_last});
    while (query.step()) executions.push_back(query.integer(0));
  }
  PruneResult result;
  result.instances = 1;
  for (const std::int64_t execution : executions) {
    result.events += static_cast<std::uint64_t>(connection_.integer(
        "SELECT coalesce(sum(events), 0) FROM history WHERE key = ?1 AND execution = ?2", row->key, execution));
    connection_.run("DELETE FROM history WHERE key = ?1 AND execution = ?2", row->key, execution);
    connection_.run("DELETE FROM executions WHERE key = ?1 AND execution = ?2", row->key, execution);
    ++result.executions;
  }
  return result;
}

}  // namespace perdure::sqlite
