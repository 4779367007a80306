#include "testing/validation/scene.h"

#include <utility>

#include "model/event_codec.h"
#include "model/message_codec.h"

namespace perdure::testing {

void fail(std::string_view what, std::source_location where) {
  throw ValidationFailure(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
                          std::string(what));
}

namespace {

MessageRecord record_of(const std::string& instance, MessageBody body,
                        std::optional<ExecutionId> execution = std::nullopt) {
  return encode_message({.instance = instance, .execution = execution, .visible_at = {}, .body = std::move(body)});
}

}  // namespace

MessageRecord start_message(const std::string& instance, const std::string& name, const std::string& input) {
  return record_of(instance, messages::StartOrchestration{.name = name, .version = {}, .input = input, .parent = {}});
}

ParentLink link_to(const std::string& parent, std::uint64_t incarnation) {
  return {.instance = parent, .execution_id = kFirstExecutionId, .schedule_id = 2, .incarnation = incarnation};
}

MessageRecord child_start_message(const std::string& instance, const std::string& parent) {
  MessageRecord record = start_message(instance, "Child");
  record.parent = link_to(parent);
  return record;
}

MessageRecord parent_cancel_message(const std::string& instance, const std::string& parent) {
  MessageRecord record = cancel_message(instance);
  record.parent = link_to(parent);
  return record;
}

MessageRecord continue_message(const std::string& instance, const std::string& name) {
  messages::ContinueAsNew body;
  body.name = name;
  body.input = "\"again\"";
  return record_of(instance, std::move(body));
}

MessageRecord event_message(const std::string& instance, const std::string& event, const std::string& data) {
  return record_of(instance, messages::ExternalRaised{.name = event, .data = data});
}

MessageRecord queue_message(const std::string& instance, const std::string& data) {
  return record_of(instance, messages::QueueMessage{.queue = "inbox", .data = data});
}

MessageRecord cancel_message(const std::string& instance) {
  return record_of(instance, messages::CancelInstance{.reason = "enough"});
}

MessageRecord terminate_message(const std::string& instance) {
  return record_of(instance, messages::TerminateInstance{.reason = "at once"});
}

MessageRecord timer_message(const std::string& instance, EventId schedule_id, Timestamp fire_at) {
  MessageRecord record =
      record_of(instance, messages::TimerFired{.schedule_id = schedule_id, .fire_at = fire_at}, kFirstExecutionId);
  record.visible_at = fire_at;
  return record;
}

MessageRecord completion(const MessageRecord& activity, const std::string& result) {
  return record_of(activity.instance,
                   messages::ActivityCompleted{.schedule_id = activity.activity_id, .result = result},
                   activity.execution);
}

MessageRecord failure(const MessageRecord& activity, const std::string& message) {
  return record_of(activity.instance,
                   messages::ActivityFailed{.schedule_id = activity.activity_id,
                                            .error = ApplicationError{.kind = ApplicationErrorKind::kActivityFailed,
                                                                      .message = message,
                                                                      .retryable = false}},
                   activity.execution);
}

MessageRecord activity(const std::string& instance, EventId id, const std::string& name, ExecutionId execution) {
  messages::ExecuteActivity body;
  body.schedule_id = id;
  body.name = name;
  body.input = "\"in\"";
  body.orchestration_name = "Flow";
  return record_of(instance, std::move(body), execution);
}

MessageRecord in_session(MessageRecord activity, const std::string& session) {
  activity.session = session;
  return activity;
}

MessageRecord tagged(MessageRecord activity, const std::string& tag) {
  activity.tag = tag;
  return activity;
}

EventRecord started_event(const std::string& name) {
  events::OrchestrationStarted body;
  body.name = name;
  body.version = SemanticVersion{1, 0, 0};
  body.input = "\"in\"";
  Event event;
  event.id = kFirstEventId;
  event.turn = kFirstTurn;
  event.engine_version = engine_version();
  event.body = std::move(body);
  return encode_event(event);
}

EventRecord event(EventId id, const std::string& activity_name) {
  events::ActivityScheduled body;
  body.name = activity_name;
  body.input = "\"in\"";
  Event event;
  event.id = id;
  event.turn = id;
  event.engine_version = engine_version();
  event.body = std::move(body);
  return encode_event(event);
}

std::vector<EventRecord> events(EventId first, EventId last) {
  std::vector<EventRecord> records;
  for (EventId id = first; id <= last; ++id) records.push_back(event(id));
  return records;
}

ProviderAdmin& Scene::admin(Where where) {
  expect(store_->admin() != nullptr, "the store has no admin interface", where);
  return *store_->admin();
}

void Scene::enqueue(const MessageRecord& message, Where where) {
  take(store_->enqueue_message(message), where);
}

void Scene::enqueue_start(const std::string& instance, const std::string& name, Where where) {
  const StartOutcome outcome = take(store_->enqueue_start(start_message(instance, name), StartPolicy::kFail), where);
  expect(outcome == StartOutcome::kEnqueued, "the start was not enqueued", where);
}

OrchestrationItem Scene::fetch(OrchestrationFetch options, Where where) {
  std::optional<OrchestrationItem> item = take(store_->fetch_orchestration_item(std::move(options)), where);
  expect(item.has_value(), "no instance could be fetched", where);
  return std::move(*item);
}

void Scene::fetch_nothing(OrchestrationFetch options, Where where) {
  const std::optional<OrchestrationItem> item = take(store_->fetch_orchestration_item(std::move(options)), where);
  expect(!item.has_value(), "an instance was fetched: " + (item ? item->instance : std::string()), where);
}

TurnCommit Scene::commit_of(const OrchestrationItem& item) {
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = new_commit_id();
  commit.execution_id = item.execution_id;
  for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
  return commit;
}

TurnCommit Scene::first_commit_of(const OrchestrationItem& item, const std::string& name) {
  TurnCommit commit = commit_of(item);
  commit.started = StartedMetadata{.name = name,
                                   .version = SemanticVersion{1, 0, 0},
                                   .parent = {},
                                   .pinned_version = engine_version(),
                                   .carry_forward = 0};
  commit.events.push_back(started_event(name));
  return commit;
}

CommitAnswer Scene::ack(const TurnCommit& commit, Where where) {
  return take(store_->ack_orchestration_item(commit), where);
}

void Scene::create(const std::string& instance, const std::string& name, Where where) {
  enqueue_start(instance, name, where);
  const OrchestrationItem item = fetch({}, where);
  expect_equal(item.instance, instance, "the instance that was fetched", where);
  ack(first_commit_of(item, name), where);
}

void Scene::create_with_activities(const std::string& instance, std::vector<MessageRecord> activities, Where where) {
  enqueue_start(instance, "Flow", where);
  const OrchestrationItem item = fetch({}, where);
  TurnCommit commit = first_commit_of(item);
  for (EventId id = 2; id < 2 + activities.size(); ++id) commit.events.push_back(event(id));
  commit.activities = std::move(activities);
  ack(commit, where);
}

void Scene::create_child(const std::string& instance, const std::string& parent, Where where) {
  enqueue_start(instance, "Flow", where);
  TurnCommit commit = first_commit_of(fetch({}, where));
  commit.started->parent = link_to(parent);
  ack(commit, where);
}

OrchestrationItem Scene::wake(const std::string& instance, Where where) {
  enqueue(event_message(instance, "wake"), where);
  OrchestrationItem item = fetch({}, where);
  expect_equal(item.instance, instance, "the instance that was fetched", where);
  return item;
}

void Scene::end(const std::string& instance, ExecutionStatus status, Payload output, Where where) {
  const OrchestrationItem item = wake(instance, where);
  TurnCommit commit = commit_of(item);
  commit.events.push_back(event(item.last_event_id + 1));
  commit.status = StatusChange{.status = status, .output = std::move(output)};
  ack(commit, where);
}

void Scene::continue_as_new(const std::string& instance, Where where) {
  const OrchestrationItem item = wake(instance, where);
  TurnCommit commit = commit_of(item);
  commit.events.push_back(event(item.last_event_id + 1));
  commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = "\"again\""};
  commit.messages.push_back(continue_message(instance));
  ack(commit, where);
  const OrchestrationItem next = fetch({}, where);
  TurnCommit first = first_commit_of(next);
  first.execution_id = next.execution_id + 1;
  ack(first, where);
}

void Scene::enqueue_activity(const MessageRecord& activity, Where where) {
  take(store_->enqueue_activity(activity), where);
}

WorkItem Scene::fetch_work(WorkFetch options, Where where) {
  std::optional<WorkItem> item = take(store_->fetch_work_item(std::move(options)), where);
  expect(item.has_value(), "no activity could be fetched", where);
  return std::move(*item);
}

void Scene::fetch_no_work(WorkFetch options, Where where) {
  const std::optional<WorkItem> item = take(store_->fetch_work_item(std::move(options)), where);
  expect(!item.has_value(), "an activity was fetched", where);
}

void Scene::ack_work(const WorkItem& item, Where where) {
  take(store_->ack_work_item({.token = item.token, .completion = completion(item.record)}), where);
}

WorkFetch any_tag() {
  WorkFetch options;
  options.tags = TagFilter::any();
  return options;
}

WorkFetch as_worker(const std::string& session_owner, Milliseconds session_lock) {
  WorkFetch options;
  options.session = SessionFetch{.owner = session_owner, .lock_timeout = session_lock};
  return options;
}

OrchestrationFetch pinned_within(const std::string& min, const std::string& max) {
  OrchestrationFetch options;
  options.filter.engine_versions.push_back({SemanticVersion::of(min), SemanticVersion::of(max)});
  return options;
}

}  // namespace perdure::testing
