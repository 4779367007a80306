#include "providers/memory/memory_admin.h"

#include "providers/memory/admin_reads.h"
#include "providers/memory/commit_check.h"
#include "providers/memory/deletion.h"
#include "providers/memory/pruning.h"

namespace perdure::memory {

ProviderResult<InstancePage> MemoryAdmin::list_instances(const InstanceQuery& query) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::list_instances(store, query); });
}

ProviderResult<std::vector<ExecutionId>> MemoryAdmin::list_executions(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::list_executions(store, instance); });
}

ProviderResult<InstanceInfo> MemoryAdmin::instance_info(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::instance_info(store, instance); });
}

ProviderResult<ExecutionInfo> MemoryAdmin::execution_info(const std::string& instance, ExecutionId execution) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::execution_info(store, instance, execution); });
}

ProviderResult<std::vector<EventRecord>> MemoryAdmin::read_history(const std::string& instance,
                                                                   std::optional<ExecutionId> execution,
                                                                   EventId after) {
  return transactions_.run(
      [&](Store& store, Timestamp) { return memory::read_history(store, instance, execution, after); });
}

ProviderResult<std::vector<std::string>> MemoryAdmin::list_children(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp) {
    std::vector<std::string> ids;
    for (const KeyRow* const child : store.keys.children(instance)) ids.push_back(child->id);
    return ids;
  });
}

ProviderResult<InstanceTree> MemoryAdmin::instance_tree(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::instance_tree(store, instance); });
}

ProviderResult<SystemMetrics> MemoryAdmin::system_metrics() {
  return transactions_.run([](Store& store, Timestamp) { return memory::system_metrics(store); });
}

ProviderResult<QueueDepths> MemoryAdmin::queue_depths() {
  return transactions_.run([](Store& store, Timestamp now) { return memory::queue_depths(store, now); });
}

ProviderResult<std::vector<NodeInfo>> MemoryAdmin::list_nodes() {
  return transactions_.run([](Store& store, Timestamp) {
    std::vector<NodeInfo> nodes;
    nodes.reserve(store.nodes.size());
    for (const auto& [id, node] : store.nodes) nodes.push_back(node);
    return nodes;
  });
}

ProviderResult<ActivityPage> MemoryAdmin::list_activities(const ActivityQuery& query) {
  return transactions_.run([&](Store& store, Timestamp now) { return memory::list_activities(store, query, now); });
}

ProviderResult<InstanceQueue> MemoryAdmin::instance_queue(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp now) { return memory::instance_queue(store, instance, now); });
}

ProviderResult<StartPage> MemoryAdmin::list_queued_starts(const StartQuery& query) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::list_queued_starts(store, query); });
}

ProviderResult<std::vector<KeyValue>> MemoryAdmin::read_key_value_snapshot(const std::string& instance) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::read_key_value_snapshot(store, instance); });
}

ProviderResult<DeleteResult> MemoryAdmin::delete_instance(const std::string& instance, bool force) {
  return reports_.change(
      transactions_, [&](Store& store, Timestamp now) { return memory::delete_instance(store, instance, force, now); });
}

ProviderResult<DeleteResult> MemoryAdmin::delete_instances(std::span<const std::string> instances, bool force) {
  return reports_.change(transactions_, [&](Store& store, Timestamp now) {
    return memory::delete_instances(store, instances, force, now);
  });
}

ProviderResult<DeleteResult> MemoryAdmin::delete_matching(const InstanceFilter& filter, std::size_t limit) {
  return reports_.change(
      transactions_, [&](Store& store, Timestamp now) { return memory::delete_matching(store, filter, limit, now); });
}

ProviderResult<PruneResult> MemoryAdmin::prune_executions(const std::string& instance, const PruneOptions& options) {
  return transactions_.run([&](Store& store, Timestamp) { return memory::prune_executions(store, instance, options); });
}

ProviderResult<PruneResult> MemoryAdmin::prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                                        std::size_t limit) {
  return transactions_.run(
      [&](Store& store, Timestamp) { return memory::prune_matching(store, filter, options, limit); });
}

ProviderResult<void> MemoryAdmin::append_history(const std::string& instance, ExecutionId execution,
                                                 std::span<const EventRecord> events) {
  return transactions_.run([&](Store& store, Timestamp) -> ProviderResult<void> {
    KeyRow* const row = store.keys.find(instance);
    if (row == nullptr || !row->instance) return instance_not_found(instance);
    const auto found = row->instance->executions.find(execution);
    if (found == row->instance->executions.end()) return execution_not_found(instance, execution);
    Execution& stored = found->second;
    if (auto error = check_events(events, stored.events.size(), "instance '" + instance + "'")) return *error;
    for (const EventRecord& event : events) stored.append(event);
    return {};
  });
}

}  // namespace perdure::memory
