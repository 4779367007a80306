#include "providers/memory/deletion.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/planted_fault.h"
#include "providers/memory/instance_filter.h"
#include "providers/store_errors.h"

namespace perdure::memory {

namespace {

// What a client would call an instance: one that exists, or whose start is queued.
bool is_known(const KeyRow* row) {
  return row != nullptr && !is_orphan(*row);
}

const KeyRow* first_running(const std::vector<const KeyRow*>& rows) {
  const auto running = std::find_if(rows.begin(), rows.end(), [](const KeyRow* row) { return runs(*row); });
  return running == rows.end() ? nullptr : *running;
}

ProviderError still_running(const KeyRow& row) {
  return perdure::still_running(row.id);
}

// Messages from parents that still exist to their children. A cancel without a start before it has no receiver.
std::map<MessageId, MessageRecord> left_of(const KeyRow& row, const std::set<std::string>& deleted) {
  std::map<MessageId, MessageRecord> left;
  bool any_start = false;
  for (const auto& [id, message] : row.mailbox.messages()) {
    const MessageRecord& record = message.record;
    if (!record.parent || deleted.contains(record.parent->instance)) continue;
    any_start = any_start || record.kind == MessageKind::kStartOrchestration;
    left.emplace(id, record);
  }
  if (!any_start || planted(PlantedFault::kDeletionDropsChildStarts)) left.clear();
  return left;
}

// Removes messages that a deleted parent has sent to ids of other instances.
void withdraw_messages_of(Store& store, const std::string& parent) {
  if (planted(PlantedFault::kDeletionLeavesQueuedChildren)) return;
  for (KeyRow* const row : store.keys.with_messages_of(parent)) {
    std::vector<MessageId> ids;
    for (const auto& [id, message] : row->mailbox.messages()) {
      if (message.record.parent && message.record.parent->instance == parent) ids.push_back(id);
    }
    for (const MessageId id : ids) row->mailbox.remove(id);
    store.settle(*row);
  }
}

// Starts without a parent that wait for an id which the row has. Only a report makes their
// removal visible.
std::uint64_t starts_behind(const KeyRow& row) {
  const Message* const own = row.instance ? nullptr : row.mailbox.first_start();
  const auto& messages = row.mailbox.messages();
  return static_cast<std::uint64_t>(std::count_if(messages.begin(), messages.end(), [own](const auto& entry) {
    const MessageRecord& record = entry.second.record;
    return record.kind == MessageKind::kStartOrchestration && !record.parent && &entry.second != own;
  }));
}

void erase_activities(Store& store, const KeyRow& row) {
  for (const Position position : store.activities.all_of(row.id)) {
    store.activities.erase(*store.activities.find(position));
    store.activities.count_loss();
  }
}

// Removes what has collected for an id without an instance, so that a start after the deletion does not receive it.
void discard_orphan(Store& store, KeyRow& row) {
  const std::uint64_t count = row.mailbox.messages().size();
  if (count > 0) store.discarded.push_back({.instance = row.id, .count = count});
  erase_activities(store, row);
  store.keys.erase(row);
}

Deletion erase(Store& store, const std::vector<const KeyRow*>& rows) {
  Deletion deletion;
  DeleteResult& result = deletion.result;
  std::map<MessageId, MessageRecord> left;  // in order of arrival, whatever the order of the rows
  std::set<std::string> deleted;
  for (const KeyRow* const row : rows) deleted.insert(row->id);
  for (const KeyRow* const row : rows) {
    std::map<MessageId, MessageRecord> left_here = left_of(*row, deleted);
    const std::uint64_t starts = starts_behind(*row);
    if (starts > 0) {
      store.discarded.push_back({.instance = row->id, .count = starts, .reason = DiscardReason::kAlreadyStarted});
    }
    ++result.instances;
    if (row->instance) {
      result.executions += row->instance->executions.size();
      for (const auto& [id, execution] : row->instance->executions) result.events += execution.events.size();
    }
    result.messages += row->mailbox.messages().size() - left_here.size();
    left.merge(left_here);
    if (!planted(PlantedFault::kDeletionLeavesActivities)) {
      result.messages += store.activities.all_of(row->id).size();
      erase_activities(store, *row);
    }
    store.keys.erase(*store.keys.find(row->age));
  }
  for (const std::string& id : deleted) withdraw_messages_of(store, id);
  for (auto& [id, message] : left) deletion.left.push_back(std::move(message));
  return deletion;
}

DeleteResult finish(Store& store, const Deletion& deletion, Timestamp now) {
  for (const MessageRecord& message : deletion.left) store.enqueue(message, now);
  return deletion.result;
}

// Children that are only queued.
std::vector<const KeyRow*> queued_children(const Store& store, const KeyRow& row) {
  if (planted(PlantedFault::kDeletionLeavesQueuedChildren)) return {};
  std::vector<const KeyRow*> children = store.keys.with_messages_of(row.id);
  std::erase_if(children, [&](const KeyRow* child) { return child->instance || parent_of(*child) != row.id; });
  return children;
}

// The tree, and the children in it that are only queued.
std::vector<const KeyRow*> family_of(const Store& store, const KeyRow& root) {
  std::vector<const KeyRow*> family = tree_of(store, root);
  for (std::size_t next = 0, instances = family.size(); next < instances; ++next) {
    const std::vector<const KeyRow*> queued = queued_children(store, *family[next]);
    family.insert(family.end(), queued.begin(), queued.end());
  }
  return family;
}

ProviderError is_a_child(const KeyRow& row) {
  return perdure::is_a_child(row.id, *parent_of(row));
}

// Its parent would wait for it forever.
bool is_awaited(const Store& store, const KeyRow& row) {
  const auto parent = parent_of(row);
  const KeyRow* const above = parent ? store.keys.find(*parent) : nullptr;
  return above != nullptr && above->instance && runs(row);
}

}  // namespace

std::vector<const KeyRow*> tree_of(const Store& store, const KeyRow& root) {
  std::vector<const KeyRow*> tree{&root};
  std::set<Age> seen{root.age};  // parents are what commits say they are: a circle must not hold us up
  for (std::size_t next = 0; next < tree.size(); ++next) {
    for (const KeyRow* const child : store.keys.children(tree[next]->id)) {
      if (seen.insert(child->age).second) tree.push_back(child);
    }
  }
  return tree;
}

ProviderResult<Deletion> delete_tree(Store& store, const std::string& instance, bool force) {
  const KeyRow* const row = store.keys.find(instance);
  if (!is_known(row)) {
    return no_such_instance(instance);
  }
  if (parent_of(*row)) return is_a_child(*row);
  const std::vector<const KeyRow*> tree = family_of(store, *row);
  if (const KeyRow* const running = force ? nullptr : first_running(tree)) return still_running(*running);
  if (planted(PlantedFault::kDeletionLeavesChildren)) return erase(store, {row});
  return erase(store, tree);
}

ProviderResult<DeleteResult> delete_instance(Store& store, const std::string& instance, bool force, Timestamp now) {
  if (KeyRow* const row = store.keys.find(instance); row != nullptr && is_orphan(*row)) discard_orphan(store, *row);
  const ProviderResult<Deletion> deleted = delete_tree(store, instance, force);
  if (!deleted) return deleted.error();
  return finish(store, *deleted, now);
}

ProviderResult<DeleteResult> delete_instances(Store& store, std::span<const std::string> instances, bool force,
                                              Timestamp now) {
  std::set<Age> listed;
  std::vector<const KeyRow*> rows;
  for (const std::string& id : instances) {
    const KeyRow* const row = store.keys.find(id);
    if (is_known(row) && listed.insert(row->age).second) rows.push_back(row);
  }
  if (const KeyRow* const running = force ? nullptr : first_running(rows)) return still_running(*running);
  for (const KeyRow* const row : rows) {
    const KeyRow* const above = parent_of(*row) ? store.keys.find(*parent_of(*row)) : nullptr;
    if (is_awaited(store, *row) && !listed.contains(above->age)) {
      return perdure::is_awaited(row->id);
    }
    std::vector<const KeyRow*> children = store.keys.children(row->id);
    const std::vector<const KeyRow*> queued = queued_children(store, *row);
    children.insert(children.end(), queued.begin(), queued.end());
    for (const KeyRow* const child : children) {
      if (listed.contains(child->age)) continue;
      return leaves_children(row->id);
    }
  }
  for (const std::string& id : instances) {
    KeyRow* const row = store.keys.find(id);
    if (row != nullptr && is_orphan(*row)) discard_orphan(store, *row);
  }
  return finish(store, erase(store, rows), now);
}

DeleteResult delete_matching(Store& store, const InstanceFilter& filter, std::size_t limit, Timestamp now) {
  InstanceFilter checked = filter;
  if (planted(PlantedFault::kBulkIgnoresChanges)) checked.statuses.clear();
  const InstanceMatcher matches(checked);
  const auto is_root = [&](const KeyRow& row) { return row.instance && !row.instance->parent && matches(row); };
  std::vector<Age> roots;
  for (const auto& [age, row] : store.keys.rows()) {
    if (is_root(row)) roots.push_back(age);
  }
  DeleteResult total;
  std::size_t trees = 0;
  for (const Age root : roots) {
    if (trees >= limit) break;
    const auto row = store.keys.rows().find(root);
    if (row == store.keys.rows().end() || !is_root(row->second)) continue;
    // The tree as it is now: an earlier deletion may have given an id to a queued child of this one.
    const std::vector<const KeyRow*> tree = family_of(store, row->second);
    if (first_running(tree) != nullptr) continue;
    ++trees;
    const DeleteResult deleted = finish(store, erase(store, tree), now);
    total.instances += deleted.instances;
    total.executions += deleted.executions;
    total.events += deleted.events;
    total.messages += deleted.messages;
  }
  return total;
}

}  // namespace perdure::memory
