#include "providers/memory/deletion.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/planted_fault.h"
#include "providers/memory/instance_filter.h"

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
  return {ProviderErrorKind::kStillRunning,
          "instance '" + row.id + "' is still running; cancel it and wait for its end, or delete with force"};
}

DeleteResult erase(Store& store, const std::vector<const KeyRow*>& rows) {
  DeleteResult result;
  for (const KeyRow* const row : rows) {
    ++result.instances;
    if (row->instance) {
      result.executions += row->instance->executions.size();
      for (const auto& [id, execution] : row->instance->executions) result.events += execution.events.size();
    }
    result.messages += row->mailbox.messages().size();
    for (const Position position : store.activities.all_of(row->id)) {
      if (planted(PlantedFault::kDeletionLeavesActivities)) break;
      store.activities.erase(*store.activities.find(position));
      ++result.messages;
    }
    store.keys.erase(*store.keys.find(row->age));
  }
  return result;
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

ProviderResult<DeleteResult> delete_instance(Store& store, const std::string& instance, bool force) {
  const KeyRow* const row = store.keys.find(instance);
  if (!is_known(row)) {
    return ProviderError(ProviderErrorKind::kNotFound,
                         "instance '" + instance + "' does not exist; list_instances shows what does");
  }
  if (row->instance && row->instance->parent) {
    return ProviderError(ProviderErrorKind::kSubOrchestration,
                         "instance '" + instance + "' is a sub-orchestration of '" + *row->instance->parent +
                             "'; delete the root of its tree");
  }
  const std::vector<const KeyRow*> tree = tree_of(store, *row);
  if (const KeyRow* const running = force ? nullptr : first_running(tree)) return still_running(*running);
  if (planted(PlantedFault::kDeletionLeavesChildren)) return erase(store, {row});
  return erase(store, tree);
}

ProviderResult<DeleteResult> delete_instances(Store& store, std::span<const std::string> instances, bool force) {
  std::set<Age> listed;
  std::vector<const KeyRow*> rows;
  for (const std::string& id : instances) {
    const KeyRow* const row = store.keys.find(id);
    if (is_known(row) && listed.insert(row->age).second) rows.push_back(row);
  }
  if (const KeyRow* const running = force ? nullptr : first_running(rows)) return still_running(*running);
  for (const KeyRow* const row : rows) {
    for (const KeyRow* const child : store.keys.children(row->id)) {
      if (listed.contains(child->age)) continue;
      return ProviderError(
          ProviderErrorKind::kChildrenLeftBehind,
          "instance '" + row->id + "' has the child '" + child->id + "', which is not in the list; add it");
    }
  }
  return erase(store, rows);
}

DeleteResult delete_matching(Store& store, const InstanceFilter& filter, std::size_t limit) {
  const InstanceMatcher matches(filter);
  std::vector<std::vector<const KeyRow*>> trees;
  for (const auto& [age, row] : store.keys.rows()) {
    if (trees.size() >= limit) break;
    if (!row.instance || row.instance->parent || !matches(row)) continue;
    std::vector<const KeyRow*> tree = tree_of(store, row);
    if (first_running(tree) == nullptr) trees.push_back(std::move(tree));
  }
  DeleteResult total;
  for (const auto& tree : trees) {
    const DeleteResult deleted = erase(store, tree);
    total.instances += deleted.instances;
    total.executions += deleted.executions;
    total.events += deleted.events;
    total.messages += deleted.messages;
  }
  return total;
}

}  // namespace perdure::memory
