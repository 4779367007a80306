// What operators look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/provider_error.h>
#include "providers/memory/store.h"

namespace perdure::memory {

[[nodiscard]] ProviderResult<InstancePage> list_instances(const Store& store, const InstanceQuery& query);
[[nodiscard]] std::vector<ExecutionId> list_executions(const Store& store, const std::string& instance);
[[nodiscard]] ProviderResult<InstanceInfo> instance_info(const Store& store, const std::string& instance);
[[nodiscard]] ProviderResult<ExecutionInfo> execution_info(const Store& store, const std::string& instance,
                                                           ExecutionId execution);
[[nodiscard]] std::vector<EventRecord> read_history(const Store& store, const std::string& instance,
                                                    std::optional<ExecutionId> execution, EventId after);
[[nodiscard]] ProviderResult<InstanceTree> instance_tree(const Store& store, const std::string& instance);
[[nodiscard]] SystemMetrics system_metrics(const Store& store);
[[nodiscard]] QueueDepths queue_depths(const Store& store, Timestamp now);
[[nodiscard]] ProviderResult<ActivityPage> list_activities(const Store& store, const ActivityQuery& query,
                                                           Timestamp now);
[[nodiscard]] ProviderResult<StartPage> list_queued_starts(const Store& store, const StartQuery& query);
[[nodiscard]] InstanceQueue instance_queue(const Store& store, const std::string& instance, Timestamp now);
[[nodiscard]] std::vector<KeyValue> read_key_value_snapshot(const Store& store, const std::string& instance);

[[nodiscard]] ProviderError instance_not_found(const std::string& instance);
[[nodiscard]] ProviderError execution_not_found(const std::string& instance, ExecutionId execution);

}  // namespace perdure::memory
