// More moves than Scene has, and comparisons: of what a fetch delivered, and of a store before and after a call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testing/validation/scene.h"

namespace perdure::testing {

// Everything that can be seen of an instance, and of the store as a whole, without locking anything.
struct Snapshot {
  std::string instance;
  std::optional<InstanceStatus> status;
  std::optional<InstanceInfo> info;
  std::vector<ExecutionId> executions;
  std::vector<EventRecord> history;
  std::vector<KeyValue> key_values;
  SystemMetrics metrics;
  QueueDepths queues;
};

[[nodiscard]] Snapshot snapshot(Scene& scene, const std::string& instance, Where where = Where::current());
void expect_unchanged(Scene& scene, const Snapshot& before, Where where = Where::current());

// Messages say when they became visible, also if they were enqueued without a time; activities do not.
void expect_record(const MessageRecord& actual, const MessageRecord& expected, Where where = Where::current());
void expect_messages(const OrchestrationItem& item, const std::vector<MessageRecord>& expected,
                     Where where = Where::current());

// Up to `limit` instances in one fetch; locks them.
[[nodiscard]] std::vector<OrchestrationItem> fetch_instances(Scene& scene, std::size_t limit,
                                                             OrchestrationFetch options = {},
                                                             Where where = Where::current());
[[nodiscard]] std::vector<WorkItem> fetch_activities(Scene& scene, std::size_t limit, WorkFetch options = {},
                                                     Where where = Where::current());
[[nodiscard]] std::vector<std::string> instances_of(const std::vector<OrchestrationItem>& items);
[[nodiscard]] std::vector<EventId> activity_ids_of(const std::vector<WorkItem>& items);

// In the orchestrator queue, visible or not.
[[nodiscard]] std::uint64_t messages_in(Scene& scene);

void abandon(Scene& scene, const LockToken& token, Milliseconds delay = Milliseconds{0}, bool ignore_attempt = false,
             Where where = Where::current());
void abandon_work(Scene& scene, const LockToken& token, Milliseconds delay = Milliseconds{0},
                  bool ignore_attempt = false, Where where = Where::current());

// Starts, fetches and commits the first turn with this pin, which may be absent. Nothing else may be ready.
void create_pinned(Scene& scene, const std::string& instance, std::optional<SemanticVersion> pin,
                   Where where = Where::current());

// The events that a client sees, of the latest execution or of one.
[[nodiscard]] std::vector<EventRecord> history_of(Scene& scene, const std::string& instance,
                                                  std::optional<ExecutionId> execution = std::nullopt,
                                                  Where where = Where::current());

}  // namespace perdure::testing
