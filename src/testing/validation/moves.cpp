#include "testing/validation/moves.h"

#include <utility>

namespace perdure::testing {

Snapshot snapshot(Scene& scene, const std::string& instance, Where where) {
  ProviderAdmin& admin = scene.admin(where);
  Snapshot seen;
  seen.instance = instance;
  seen.status = take(scene.store().read_status(instance), where);
  if (seen.status && !seen.status->pending) seen.info = take(admin.instance_info(instance), where);
  seen.executions = take(admin.list_executions(instance), where);
  seen.history = take(admin.read_history(instance), where);
  seen.key_values = take(scene.store().read_key_values(instance), where);
  seen.metrics = take(admin.system_metrics(), where);
  seen.queues = take(admin.queue_depths(), where);
  return seen;
}

void expect_unchanged(Scene& scene, const Snapshot& before, Where where) {
  const Snapshot now = snapshot(scene, before.instance, where);
  expect(now.status == before.status, "the status changed", where);
  expect(now.info == before.info, "the instance's info changed", where);
  expect_equal(now.executions, before.executions, "the executions", where);
  expect(now.history == before.history, "the history changed", where);
  expect(now.key_values == before.key_values, "the key-values changed", where);
  expect(now.metrics == before.metrics, "the system's metrics changed", where);
  expect_equal(now.queues.messages, before.queues.messages, "the depth of the orchestrator queue", where);
  expect_equal(now.queues.delayed_messages, before.queues.delayed_messages, "the delayed messages", where);
  expect_equal(now.queues.activities, before.queues.activities, "the depth of the worker queue", where);
  expect(now.queues == before.queues, "the locked or delayed activities changed", where);
}

void expect_record(const MessageRecord& actual, const MessageRecord& expected, Where where) {
  expect_equal(actual.kind, expected.kind, "the kind", where);
  expect_equal(actual.body, expected.body, "the body", where);
  MessageRecord wanted = expected;
  if (expected.kind == MessageKind::kExecuteActivity) {
    wanted.visible_at.reset();
  } else if (!wanted.visible_at) {
    wanted.visible_at = actual.visible_at;
    expect(actual.visible_at.has_value(), "the message does not say when it became visible", where);
  }
  expect(actual == wanted, "the envelope is not the one that was enqueued", where);
}

void expect_messages(const OrchestrationItem& item, const std::vector<MessageRecord>& expected, Where where) {
  expect_equal(item.messages.size(), expected.size(), "the number of messages", where);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_record(item.messages[i].record, expected[i], where);
}

std::vector<OrchestrationItem> fetch_instances(Scene& scene, std::size_t limit, OrchestrationFetch options,
                                               Where where) {
  options.limit = limit;
  OrchestrationBatch batch = take(scene.store().fetch_orchestration_items(options), where);
  expect(batch.items.size() <= limit, "more instances than the limit allows", where);
  return std::move(batch.items);
}

std::vector<WorkItem> fetch_activities(Scene& scene, std::size_t limit, WorkFetch options, Where where) {
  options.limit = limit;
  WorkBatch batch = take(scene.store().fetch_work_items(options), where);
  expect(batch.items.size() <= limit, "more activities than the limit allows", where);
  return std::move(batch.items);
}

std::vector<std::string> instances_of(const std::vector<OrchestrationItem>& items) {
  std::vector<std::string> ids;
  ids.reserve(items.size());
  for (const OrchestrationItem& item : items) ids.push_back(item.instance);
  return ids;
}

std::vector<EventId> activity_ids_of(const std::vector<WorkItem>& items) {
  std::vector<EventId> ids;
  ids.reserve(items.size());
  for (const WorkItem& item : items) ids.push_back(item.record.activity_id);
  return ids;
}

std::uint64_t messages_in(Scene& scene) {
  const QueueDepths depths = take(scene.admin().queue_depths());
  return depths.messages + depths.delayed_messages;
}

void abandon(Scene& scene, const LockToken& token, Milliseconds delay, bool ignore_attempt, Where where) {
  take(scene.store().abandon_orchestration_item({.token = token, .delay = delay, .ignore_attempt = ignore_attempt}),
       where);
}

void abandon_work(Scene& scene, const LockToken& token, Milliseconds delay, bool ignore_attempt, Where where) {
  take(scene.store().abandon_work_item({.token = token, .delay = delay, .ignore_attempt = ignore_attempt}), where);
}

void create_pinned(Scene& scene, const std::string& instance, std::optional<SemanticVersion> pin, Where where) {
  scene.enqueue_start(instance, "Flow", where);
  TurnCommit commit = scene.first_commit_of(scene.fetch({}, where));
  commit.started->pinned_version = pin;
  scene.ack(commit, where);
}

std::vector<EventRecord> history_of(Scene& scene, const std::string& instance, std::optional<ExecutionId> execution,
                                    Where where) {
  return take(scene.admin(where).read_history(instance, execution), where);
}

}  // namespace perdure::testing
