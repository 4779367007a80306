// What is read without changing anything: for clients, for operators, for waits. Works on any connection.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include "providers/bulk.h"
#include "providers/sqlite/connection.h"
#include "providers/sqlite/instance_row.h"
#include "providers/sqlite/saved_time.h"

namespace perdure::sqlite {

// A history under a token, which must be valid at `now`.
[[nodiscard]] ProviderResult<StoredHistory> read_locked_history(Connection& connection, const LockToken& token,
                                                                EventId after, Timestamp now);
[[nodiscard]] std::optional<InstanceStatus> read_status(Connection& connection, const std::string& instance);
[[nodiscard]] std::optional<CustomStatus> read_custom_status(Connection& connection, const std::string& instance,
                                                             std::uint64_t last_seen_version);
[[nodiscard]] std::optional<std::string> read_key_value(Connection& connection, const std::string& instance,
                                                        const std::string& key);
[[nodiscard]] std::vector<KeyValue> read_key_values(Connection& connection, const std::string& instance);
[[nodiscard]] std::optional<InstanceStats> read_stats(Connection& connection, const std::string& instance);
[[nodiscard]] bool has_changed(Connection& connection, const std::string& instance, const InstanceChange& change);
// Whether one of these activities is gone, or under another lock.
[[nodiscard]] bool has_lost_any(Connection& connection, std::span<const LockToken> held);

// ---- For operators (admin_queries.cpp) ----

[[nodiscard]] ProviderResult<InstancePage> list_instances(Connection& connection, const InstanceQuery& query);
// Instances that match and have no parent, the oldest first.
[[nodiscard]] std::vector<std::string> matching_roots(Connection& connection, const InstanceFilter& filter);
// Instances that match, the oldest first.
[[nodiscard]] std::vector<PruneCandidate> prune_candidates(Connection& connection, const InstanceFilter& filter,
                                                           const PruneOptions& options);
// Whether this one matches as it is now.
[[nodiscard]] bool is_matching(Connection& connection, const InstanceFilter& filter, const std::string& instance);
[[nodiscard]] bool is_matching_root(Connection& connection, const InstanceFilter& filter, const std::string& instance);
[[nodiscard]] std::vector<ExecutionId> list_executions(Connection& connection, const std::string& instance);
[[nodiscard]] ProviderResult<InstanceInfo> instance_info(Connection& connection, const std::string& instance);
[[nodiscard]] ProviderResult<ExecutionInfo> execution_info(Connection& connection, const std::string& instance,
                                                           ExecutionId execution);
[[nodiscard]] ProviderResult<std::vector<EventRecord>> read_events(Connection& connection, const std::string& instance,
                                                                   std::optional<ExecutionId> execution, EventId after);
[[nodiscard]] std::vector<std::string> list_children(Connection& connection, const std::string& instance);
[[nodiscard]] ProviderResult<InstanceTree> instance_tree(Connection& connection, const std::string& instance);
[[nodiscard]] SystemMetrics system_metrics(Connection& connection);
[[nodiscard]] QueueDepths queue_depths(Connection& connection, const ReadTime& time);
[[nodiscard]] std::vector<KeyValue> read_key_value_snapshot(Connection& connection, const std::string& instance);

// ---- For operators (queue_lists.cpp) ----

[[nodiscard]] ProviderResult<ActivityPage> list_activities(Connection& connection, const ActivityQuery& query,
                                                           const ReadTime& time);
[[nodiscard]] InstanceQueue instance_queue(Connection& connection, const std::string& instance, Timestamp now);
[[nodiscard]] ProviderResult<StartPage> list_queued_starts(Connection& connection, const StartQuery& query);

// ---- For operators (nodes.cpp) ----

[[nodiscard]] ProviderResult<std::vector<NodeInfo>> list_nodes(Connection& connection);

}  // namespace perdure::sqlite
