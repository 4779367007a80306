// What operators do with a store: look, list, delete, prune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/status.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

struct InstanceInfo {
  std::string id;
  std::string name;
  std::optional<SemanticVersion> version;
  ExecutionId execution_id = kFirstExecutionId;        // the current one
  ExecutionStatus status = ExecutionStatus::kRunning;  // of the current one
  Payload output;
  std::optional<std::string> parent;
  std::optional<SemanticVersion> pinned_version;
  Timestamp created_at{};                 // the first commit
  Timestamp updated_at{};                 // the last commit
  std::optional<Timestamp> completed_at;  // of the current execution
  bool operator==(const InstanceInfo&) const = default;
};

struct ExecutionInfo {
  ExecutionId execution_id = kFirstExecutionId;
  ExecutionStatus status = ExecutionStatus::kRunning;
  Payload output;
  std::optional<SemanticVersion> pinned_version;
  Timestamp started_at{};
  std::optional<Timestamp> completed_at;
  std::uint64_t events = 0;
  bool operator==(const ExecutionInfo&) const = default;
};

// Which instances; conditions that are given must all hold. Concerning the current execution.
struct InstanceFilter {
  // Empty: any. kFailed stands for kCancelled and kTerminated too, unless `exact_statuses`.
  std::vector<ExecutionStatus> statuses;
  bool exact_statuses = false;
  std::optional<std::vector<std::string>> ids;  // an empty list matches nothing
  std::optional<std::string> name;
  std::optional<SemanticVersion> version;
  std::optional<Timestamp> created_from;    // inclusive
  std::optional<Timestamp> created_before;  // exclusive, as all that is "before"
  std::optional<Timestamp> completed_before;
  bool operator==(const InstanceFilter&) const = default;
};

struct InstanceQuery {
  InstanceFilter filter;
  std::size_t limit = 100;
  std::string cursor;  // InstancePage::next of the page before; empty: the first page
};

struct InstancePage {
  std::vector<InstanceInfo> instances;  // newest first
  std::string next;                     // empty: there is no more
};

struct InstanceTree {
  std::string root;
  std::vector<std::string> ids;  // root first, every parent before its children
  bool operator==(const InstanceTree&) const = default;
};

struct SystemMetrics {
  std::uint64_t instances = 0;
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t running = 0;  // instances by their current execution; continued-as-new counts as running
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // with cancelled and terminated
  std::uint64_t cancelled = 0;
  std::uint64_t terminated = 0;
  bool operator==(const SystemMetrics&) const = default;
};

struct QueueDepths {
  std::uint64_t messages = 0;          // in the orchestrator queue and visible, locked ones included
  std::uint64_t delayed_messages = 0;  // timers and other messages whose time has not come
  std::uint64_t activities = 0;        // in the worker queue and visible, unlocked
  std::uint64_t locked_activities = 0;
  std::uint64_t delayed_activities = 0;
  bool operator==(const QueueDepths&) const = default;
};

struct DeleteResult {
  std::uint64_t instances = 0;
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  // of both queues
  bool operator==(const DeleteResult&) const = default;
};

struct PruneOptions {
  std::size_t keep_last = 1;                  // newest executions to keep; the current one stays in any case
  std::optional<Timestamp> completed_before;  // only older ones
};

struct PruneResult {
  std::uint64_t instances = 0;  // looked at
  std::uint64_t executions = 0;
  std::uint64_t events = 0;
  bool operator==(const PruneResult&) const = default;
};

inline constexpr std::size_t kDefaultBulkLimit = 1'000;

class ProviderAdmin {
 public:
  ProviderAdmin() = default;
  ProviderAdmin(const ProviderAdmin&) = delete;
  ProviderAdmin& operator=(const ProviderAdmin&) = delete;
  virtual ~ProviderAdmin() = default;

  // ---- Looking. A queued start is not an instance yet: lists and info do not show it ----

  [[nodiscard]] virtual ProviderResult<InstancePage> list_instances(const InstanceQuery& query) = 0;
  // Ascending; empty if unknown.
  [[nodiscard]] virtual ProviderResult<std::vector<ExecutionId>> list_executions(const std::string& instance) = 0;
  // kNotFound.
  [[nodiscard]] virtual ProviderResult<InstanceInfo> instance_info(const std::string& instance) = 0;
  [[nodiscard]] virtual ProviderResult<ExecutionInfo> execution_info(const std::string& instance,
                                                                     ExecutionId execution) = 0;
  // Of one execution, or of the latest. Empty if unknown; kCorruptData if the bytes cannot be split into events.
  [[nodiscard]] virtual ProviderResult<std::vector<EventRecord>> read_history(
      const std::string& instance, std::optional<ExecutionId> execution = std::nullopt, EventId after = 0) = 0;
  // Direct ones, in order of their creation; empty if unknown.
  [[nodiscard]] virtual ProviderResult<std::vector<std::string>> list_children(const std::string& instance) = 0;
  // The instance and everything below it. kNotFound.
  [[nodiscard]] virtual ProviderResult<InstanceTree> instance_tree(const std::string& instance) = 0;
  [[nodiscard]] virtual ProviderResult<SystemMetrics> system_metrics() = 0;
  [[nodiscard]] virtual ProviderResult<QueueDepths> queue_depths() = 0;
  // By id.
  [[nodiscard]] virtual ProviderResult<std::vector<NodeInfo>> list_nodes() = 0;

  // ---- Deleting. Everything of an instance goes: histories, values, queued messages, activities, its lock ----

  // The instance with its tree. kNotFound; kSubOrchestration if it has a parent, even with force; kStillRunning without
  // force if anything in the tree runs. A start that is queued, or a continuation, counts as running.
  [[nodiscard]] virtual ProviderResult<DeleteResult> delete_instance(const std::string& instance, bool force) = 0;
  // Just these, all or none. kChildrenLeftBehind if a child of one of them is not among them. Unknown ids are skipped.
  [[nodiscard]] virtual ProviderResult<DeleteResult> delete_instances(std::span<const std::string> instances,
                                                                      bool force) = 0;
  // Ended roots that match, each with its tree in a transaction of its own, oldest first, at most `limit` roots. Trees
  // in which something runs are left alone.
  [[nodiscard]] virtual ProviderResult<DeleteResult> delete_matching(const InstanceFilter& filter,
                                                                     std::size_t limit = kDefaultBulkLimit) = 0;
  // Past executions with their histories; key-values stay. kNotFound.
  [[nodiscard]] virtual ProviderResult<PruneResult> prune_executions(const std::string& instance,
                                                                     const PruneOptions& options) = 0;
  // Of every instance that matches, running ones included, oldest first.
  [[nodiscard]] virtual ProviderResult<PruneResult> prune_matching(const InstanceFilter& filter,
                                                                   const PruneOptions& options,
                                                                   std::size_t limit = kDefaultBulkLimit) = 0;

  // ---- Mending ----

  // Appends events without a turn: for tools that repair or import a history. Ids follow the stored ones without a gap.
  // kNotFound, kDuplicateEvent.
  [[nodiscard]] virtual ProviderResult<void> append_history(const std::string& instance, ExecutionId execution,
                                                            std::span<const EventRecord> events) = 0;
};

}  // namespace perdure
