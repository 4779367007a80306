// The administration of a memory provider.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include "providers/memory/reports.h"
#include "providers/memory/transactions.h"

namespace perdure::memory {

class MemoryAdmin final : public ProviderAdmin {
 public:
  MemoryAdmin(Transactions& transactions, const Reports& reports) : transactions_(transactions), reports_(reports) {}

  ProviderResult<InstancePage> list_instances(const InstanceQuery& query) override;
  ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) override;
  ProviderResult<InstanceInfo> instance_info(const std::string& instance) override;
  ProviderResult<ExecutionInfo> execution_info(const std::string& instance, ExecutionId execution) override;
  ProviderResult<std::vector<EventRecord>> read_history(const std::string& instance,
                                                        std::optional<ExecutionId> execution, EventId after) override;
  ProviderResult<std::vector<std::string>> list_children(const std::string& instance) override;
  ProviderResult<InstanceTree> instance_tree(const std::string& instance) override;
  ProviderResult<SystemMetrics> system_metrics() override;
  ProviderResult<QueueDepths> queue_depths() override;
  ProviderResult<std::vector<NodeInfo>> list_nodes() override;
  ProviderResult<ActivityPage> list_activities(const ActivityQuery& query) override;
  ProviderResult<StartPage> list_queued_starts(const StartQuery& query) override;
  ProviderResult<InstanceQueue> instance_queue(const std::string& instance) override;
  ProviderResult<std::vector<KeyValue>> read_key_value_snapshot(const std::string& instance) override;

  ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force) override;
  ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances, bool force) override;
  ProviderResult<DeleteResult> delete_matching(const InstanceFilter& filter, std::size_t limit) override;
  ProviderResult<PruneResult> prune_executions(const std::string& instance, const PruneOptions& options) override;
  ProviderResult<PruneResult> prune_matching(const InstanceFilter& filter, const PruneOptions& options,
                                             std::size_t limit) override;

  ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                      std::span<const EventRecord> events) override;

 private:
  Transactions& transactions_;
  const Reports& reports_;
};

}  // namespace perdure::memory
