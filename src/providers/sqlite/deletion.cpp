// Deleting instances with everything that is theirs, and pruning past executions.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "providers/sqlite/sql.h"
#include "providers/sqlite/store.h"
#include "providers/sqlite/transaction_load.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

constexpr const char* kHistorySize =
    "SELECT coalesce(sum(events), 0), coalesce(sum(body_bytes), 0) FROM history WHERE key = ?1 AND execution = ?2";
// Starts without a parent; ?2: also the one that is delivered first.
constexpr const char* kStartsBehind =
    "SELECT count(*) FROM messages WHERE key = ?1 AND kind = 1 AND parent IS NULL AND (?2 OR id IS NOT"
    " (SELECT id FROM messages WHERE key = ?1 AND kind IN (1, 2) ORDER BY visible_at, id LIMIT 1))";
constexpr const char* kChildren = "SELECT key FROM instances WHERE parent = ?1 ORDER BY key";

std::vector<std::int64_t> keys_of(Connection& connection, const char* sql, const std::string& parent) {
  std::vector<std::int64_t> keys;
  Query query = connection.query(sql, parent);
  while (query.step()) keys.push_back(query.integer(0));
  return keys;
}

}  // namespace

// An execution that continued as new has ended, but its instance goes on as long as the continuation is queued.
bool Store::is_running(const InstanceRow& row) {
  if (!row.is_instance()) return row.progress.starts > 0;
  if (row.identity.status == ExecutionStatus::kContinuedAsNew) return row.progress.starts > 0;
  return row.identity.status == ExecutionStatus::kRunning;
}

StoredLink Store::link_of(const InstanceRow& row) {
  if (row.is_instance()) return row.identity.parent;
  Query query = connection_.query(sql::kFirstStartLink, row.key);
  if (!query.step()) return {};
  return {.parent = query.optional_text(0), .rest = query.optional_text(1)};
}

std::optional<std::string> Store::parent_of(const InstanceRow& row) {
  return link_of(row).parent;
}

std::vector<InstanceRow> Store::started_children_of(const InstanceRow& row) {
  std::vector<InstanceRow> children;
  for (const std::int64_t key : keys_of(connection_, kChildren, row.id)) {
    children.push_back(load_instance(connection_, key).value());
  }
  return children;
}

std::vector<InstanceRow> Store::queued_children_of(const InstanceRow& row) {
  std::vector<InstanceRow> children;
  for (const std::int64_t key : keys_of(connection_, sql::kRowsWithMessagesOf, row.id)) {
    InstanceRow child = load_instance(connection_, key).value();
    if (!child.is_instance() && parent_of(child) == row.id) children.push_back(std::move(child));
  }
  return children;
}

// Parents before their children, and those that are only queued last.
std::vector<InstanceRow> Store::tree_of(const InstanceRow& root) {
  std::vector<InstanceRow> tree{root};
  std::set<std::int64_t> seen{root.key};
  const auto add = [&](std::vector<InstanceRow> children) {
    for (InstanceRow& child : children) {
      if (seen.insert(child.key).second) tree.push_back(std::move(child));
    }
  };
  for (std::size_t next = 0; next < tree.size(); ++next) add(started_children_of(InstanceRow(tree[next])));
  for (std::size_t next = 0, instances = tree.size(); next < instances; ++next) {
    add(queued_children_of(InstanceRow(tree[next])));
  }
  return tree;
}

ProviderResult<Deletion> Store::delete_tree(const std::string& instance, bool force) {
  const std::optional<InstanceRow> root = find_instance(connection_, instance);
  if (!root || root->is_orphan()) return no_such_instance(instance);
  if (const std::optional<std::string> parent = parent_of(*root)) return is_a_child(instance, *parent);
  const std::vector<InstanceRow> tree = tree_of(*root);
  if (!force) {
    const auto running =
        std::find_if(tree.begin(), tree.end(), [this](const InstanceRow& row) { return is_running(row); });
    if (running != tree.end()) return still_running(running->id);
  }
  return delete_rows(tree);
}

ProviderResult<DeleteResult> Store::delete_instance(const std::string& instance, bool force) {
  const std::optional<InstanceRow> row = find_instance(connection_, instance);
  if (row && row->is_orphan()) discard_orphan(*row);
  const ProviderResult<Deletion> deleted = delete_tree(instance, force);
  if (!deleted) return deleted.error();
  return finish_deletion(*deleted);
}

bool Store::has_waiting_parent(const InstanceRow& row) {
  const std::optional<std::string> parent = parent_of(row);
  const std::optional<InstanceRow> above = parent ? find_instance(connection_, *parent) : std::nullopt;
  return above && above->is_instance() && is_running(row);
}

ProviderResult<DeleteResult> Store::delete_instances(std::span<const std::string> instances, bool force) {
  std::vector<InstanceRow> rows;
  std::vector<InstanceRow> orphans;
  std::set<std::string> listed;
  for (const std::string& instance : instances) {
    std::optional<InstanceRow> row = find_instance(connection_, instance);
    if (!row || !listed.insert(instance).second) continue;
    if (row->is_orphan()) {
      orphans.push_back(*std::move(row));
      continue;
    }
    if (!force && is_running(*row)) return still_running(instance);
    rows.push_back(*std::move(row));
  }
  for (const InstanceRow& row : rows) {
    const std::optional<std::string> parent = parent_of(row);
    if (parent && !listed.contains(*parent) && has_waiting_parent(row)) return is_awaited(row.id);
    const auto is_left_out = [&listed](const InstanceRow& child) { return !listed.contains(child.id); };
    const std::vector<InstanceRow> started = started_children_of(row);
    const std::vector<InstanceRow> queued = queued_children_of(row);
    if (std::any_of(started.begin(), started.end(), is_left_out) ||
        std::any_of(queued.begin(), queued.end(), is_left_out)) {
      return leaves_children(row.id);
    }
  }
  for (const InstanceRow& orphan : orphans) discard_orphan(orphan);
  return finish_deletion(delete_rows(rows));
}

// Removes what has collected for an id without an instance, so that a start after the deletion does not receive it.
void Store::discard_orphan(const InstanceRow& row) {
  discard({.instance = row.id, .count = static_cast<std::uint64_t>(row.progress.queued)});
  DeleteResult ignored;
  delete_row(row, ignored);
}

Deletion Store::delete_rows(const std::vector<InstanceRow>& rows) {
  Deletion deletion;
  std::map<MessageId, MessageRecord> left;  // in order of arrival, whatever the order of the rows
  std::set<std::string> deleted;
  for (const InstanceRow& row : rows) deleted.insert(row.id);
  for (const InstanceRow& row : rows) {
    std::map<MessageId, MessageRecord> left_here = messages_left_of(row, deleted);
    // Only a report makes their removal visible.
    const std::int64_t starts = connection_.integer(kStartsBehind, row.key, row.is_instance());
    discard(
        {.instance = row.id, .count = static_cast<std::uint64_t>(starts), .reason = DiscardReason::kAlreadyStarted});
    delete_row(row, deletion.result);
    deletion.result.messages -= left_here.size();
    left.merge(left_here);
  }
  for (const std::string& id : deleted) withdraw_messages_of(id);
  for (auto& [id, message] : left) deletion.left.push_back(std::move(message));
  return deletion;
}

DeleteResult Store::finish_deletion(const Deletion& deletion) {
  for (const MessageRecord& message : deletion.left) queue_message(message);
  return deletion.result;
}

// Messages from parents that still exist to their children. A cancel without a start before it has no receiver.
std::map<MessageId, MessageRecord> Store::messages_left_of(const InstanceRow& row,
                                                           const std::set<std::string>& deleted) {
  std::map<MessageId, MessageRecord> left;
  bool any_start = false;
  Query query = connection_.query(sql::kLinkedMessages, row.key);
  while (query.step()) {
    QueuedMessage queued = read_message(query, row.id);
    const MessageRecord& message = queued.record;
    if (deleted.contains(message.parent->instance)) continue;
    any_start = any_start || message.kind == MessageKind::kStartOrchestration;
    left.emplace(queued.id, std::move(queued.record));
  }
  if (!any_start) left.clear();
  return left;
}

// Removes messages that a deleted parent has sent to ids of other instances.
void Store::withdraw_messages_of(const std::string& parent) {
  for (const std::int64_t key : keys_of(connection_, sql::kRowsWithMessagesOf, parent)) {
    InstanceRow row = load_instance(connection_, key).value();
    const InstanceRow before = row;
    row.progress.starts -=
        connection_.integer("SELECT count(*) FROM messages WHERE key = ?1 AND parent = ?2 AND kind = 1", key, parent);
    row.progress.queued -= connection_.run("DELETE FROM messages WHERE key = ?1 AND parent = ?2", key, parent);
    finish(row, before);
  }
}

void Store::delete_row(const InstanceRow& row, DeleteResult& result) {
  ++result.instances;
  result.events += static_cast<std::uint64_t>(
      connection_.integer("SELECT coalesce(sum(events), 0) FROM history WHERE key = ?1", row.key));
  connection_.run("DELETE FROM history WHERE key = ?1", row.key);
  result.executions += static_cast<std::uint64_t>(connection_.run("DELETE FROM executions WHERE key = ?1", row.key));
  result.messages += static_cast<std::uint64_t>(connection_.run(sql::kDropMessages, row.key));
  const auto activities = static_cast<std::uint64_t>(connection_.run("DELETE FROM activities WHERE key = ?1", row.key));
  if (activities > 0) changes_.withdrawals = true;
  result.messages += activities;
  connection_.run("DELETE FROM key_values WHERE key = ?1", row.key);
  connection_.run(sql::kDropKeyValueChanges, row.key);
  connection_.run("DELETE FROM custom_statuses WHERE key = ?1", row.key);
  connection_.run(sql::kDeleteInstanceRow, row.key);
  touch(row);
}

ProviderResult<PruneProgress> Store::prune(const std::string& instance, const PruneOptions& options,
                                           const PruneProgress& before) {
  PruneProgress progress = before;
  const std::optional<InstanceRow> row = find_instance(connection_, instance);
  const bool is_there = row && row->is_instance();
  if (before.incarnation == 0 && !is_there) return no_such_instance(instance);
  progress.is_complete = true;
  if (before.incarnation != 0 && (!is_there || row->identity.incarnation != before.incarnation)) return progress;
  std::vector<std::int64_t> executions;
  {
    Query query = connection_.query(sql::kOldExecutions, row->key, row->identity.execution, options.completed_before,
                                    std::uint64_t{options.keep_last}, std::uint64_t{TransactionLoad::kMaxParts});
    while (query.step()) executions.push_back(query.integer(0));
  }
  progress.incarnation = row->identity.incarnation;
  progress.result.instances = 1;
  progress.is_complete = executions.size() < TransactionLoad::kMaxParts;
  TransactionLoad load;
  for (const std::int64_t execution : executions) {
    Query size = connection_.query(kHistorySize, row->key, execution);
    size.step();
    if (!load.add(1, static_cast<std::size_t>(size.integer(1)))) {
      progress.is_complete = false;
      break;
    }
    progress.result.events += static_cast<std::uint64_t>(size.integer(0));
    connection_.run("DELETE FROM history WHERE key = ?1 AND execution = ?2", row->key, execution);
    connection_.run("DELETE FROM executions WHERE key = ?1 AND execution = ?2", row->key, execution);
    ++progress.result.executions;
  }
  return progress;
}

}  // namespace perdure::sqlite
