// Calls that must fail: with the right kind, and without any effect.
#include <functional>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void an_unknown_token_is_a_lost_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const OrchestrationItem item = scene.wake("order");
  const WorkItem work = scene.fetch_work();
  const Snapshot before = snapshot(scene, "order");
  for (const std::string& value : {std::string("no such token"), std::string(), work.token.value}) {
    const LockToken token{value};
    TurnCommit commit = scene.commit_of(item);
    commit.token = token;
    const ProviderResult<CommitAnswer> answer = scene.store().ack_orchestration_item(commit);
    expect_error(answer, Kind::kLockLost);
    expect(!answer.error().retryable(), "a lost lock is worth a retry");
    expect_error(scene.store().abandon_orchestration_item({.token = token}), Kind::kLockLost);
    expect_error(scene.store().renew_orchestration_lock(token, kLockTimeout), Kind::kLockLost);
    expect_error(scene.store().read_history(token, 0), Kind::kLockLost);
    expect_unchanged(scene, before);
  }
  for (const std::string& value : {std::string("no such token"), std::string(), item.token.value}) {
    const LockToken token{value};
    expect_error(scene.store().ack_work_item({.token = token, .completion = completion(work.record)}), Kind::kLockLost);
    expect_error(scene.store().renew_work_lock(token, kLockTimeout), Kind::kLockLost);
    const Heartbeat heartbeat{.token = token, .details = "\"x\"", .extend_for = {}};
    expect_error(scene.store().heartbeat({&heartbeat, 1}).front(), Kind::kLockLost);
    expect_unchanged(scene, before);
  }
  scene.fetch_nothing();
  scene.ack(scene.commit_of(item));
  take(scene.store().ack_work_item({.token = work.token, .completion = {}}));
}

void an_event_id_that_is_stored_is_refused(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(1, "Other")};
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kDuplicateEvent);
  expect(history_of(scene, "order") == std::vector<EventRecord>{started_event()}, "the history changed");
  commit.commit_id = scene.new_commit_id();
  commit.events = {event(2)};
  scene.ack(commit);
}

void a_commit_after_the_lock_expired_fails(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(2)};
  scene.advance(kLockTimeout);
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
  expect_unchanged(scene, before);
  expect(scene.fetch().messages == item.messages, "the messages are gone");
}

void an_unknown_instance_is_an_empty_answer_to_readers(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("other");
  Provider& store = scene.store();
  expect(!take(store.read_status("nobody")).has_value(), "a status");
  expect(!take(store.read_custom_status("nobody", 0)).has_value(), "a custom status");
  expect(!take(store.read_key_value("nobody", "k")).has_value(), "a value");
  expect(take(store.read_key_values("nobody")).empty(), "values");
  expect(!take(store.read_stats("nobody")).has_value(), "statistics");
  ProviderAdmin& admin = scene.admin();
  expect(take(admin.read_history("nobody")).empty(), "events");
  expect(take(admin.read_history("nobody", kFirstExecutionId)).empty(), "events of an execution");
  expect(take(admin.read_history("other", ExecutionId{2})).empty(), "events of an execution that never was");
  expect(take(admin.list_executions("nobody")).empty(), "executions");
  expect(take(admin.list_children("nobody")).empty(), "children");
  expect_error(admin.instance_info("nobody"), Kind::kNotFound);
  expect_error(admin.execution_info("nobody", kFirstExecutionId), Kind::kNotFound);
  expect_error(admin.execution_info("other", ExecutionId{2}), Kind::kNotFound);
  expect_error(admin.instance_tree("nobody"), Kind::kNotFound);
}

void an_empty_store_hands_out_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  const OrchestrationBatch instances = take(scene.store().fetch_orchestration_items({}));
  expect(instances.items.empty(), "an instance from nowhere");
  expect_equal(instances.now, scene.now(), "the time of a fetch of instances");
  const WorkBatch work = take(scene.store().fetch_work_items({}));
  expect(work.items.empty(), "an activity from nowhere");
  expect_equal(work.now, scene.now(), "the time of a fetch of activities");
  scene.fetch_nothing(pinned_within("0.0.0", "9.9.9"));
  scene.fetch_no_work(any_tag());
  scene.fetch_no_work(as_worker("worker"));
  expect_equal(take(scene.store().cleanup_sessions()), std::size_t{0}, "sessions");
}

// Changes a good commit so that it can never work.
struct BadCommit {
  const char* what;
  Kind kind;
  std::function<void(TurnCommit&)> spoil;
};

// Nothing but the execution's id is wrong.
void move_to_execution(TurnCommit& commit, ExecutionId execution) {
  commit.execution_id = execution;
  commit.activities.clear();
  commit.events = {started_event()};
}

void a_commit_that_can_never_work_is_refused(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const OrchestrationItem item = scene.wake("order");
  const Snapshot before = snapshot(scene, "order");
  const std::vector<BadCommit> bad = {
      {"commit id 0", Kind::kInvalidArgument, [](TurnCommit& c) { c.commit_id = 0; }},
      {"execution 0", Kind::kInvalidArgument, [](TurnCommit& c) { move_to_execution(c, 0); }},
      {"an execution skipped", Kind::kInvalidArgument, [](TurnCommit& c) { move_to_execution(c, 3); }},
      {"a gap before the events", Kind::kInvalidArgument, [](TurnCommit& c) { c.events = {event(4)}; }},
      {"a gap between events", Kind::kInvalidArgument, [](TurnCommit& c) { c.events = {event(3), event(5)}; }},
      {"an id twice", Kind::kInvalidArgument, [](TurnCommit& c) { c.events = {event(3), event(3)}; }},
      {"ids backwards", Kind::kInvalidArgument, [](TurnCommit& c) { c.events = {event(3), event(2)}; }},
      {"events of a next execution that do not begin at 1", Kind::kInvalidArgument,
       [](TurnCommit& c) {
         move_to_execution(c, 2);
         c.events = {event(3)};
       }},
      {"a message among the activities", Kind::kInvalidArgument,
       [](TurnCommit& c) { c.activities = {event_message("order", "x")}; }},
      {"an activity of another instance", Kind::kInvalidArgument,
       [](TurnCommit& c) { c.activities = {activity("other", 3)}; }},
      {"an activity of another execution", Kind::kInvalidArgument,
       [](TurnCommit& c) { c.activities = {activity("order", 3, "Work", 2)}; }},
      {"an activity among the messages", Kind::kInvalidArgument,
       [](TurnCommit& c) { c.messages = {activity("order", 9)}; }},
      {"an activity that is queued", Kind::kAlreadyExists,
       [](TurnCommit& c) { c.activities = {activity("order", 2)}; }},
      {"stored event ids", Kind::kDuplicateEvent, [](TurnCommit& c) { c.events = events(2, 3); }},
  };
  for (const BadCommit& each : bad) {
    TurnCommit commit = scene.commit_of(item);
    commit.events = {event(3)};
    commit.activities = {activity("order", 3)};
    commit.messages = {event_message("order", "more")};
    commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"out\""};
    each.spoil(commit);
    const ProviderResult<CommitAnswer> answer = scene.store().ack_orchestration_item(commit);
    expect(!answer, std::string("accepted: ") + each.what);
    expect_equal(to_string(answer.error().kind()), to_string(each.kind), each.what);
    expect_unchanged(scene, before);
    scene.fetch_nothing();
  }
  scene.ack(scene.commit_of(item));
}

void without_started_there_is_no_instance_to_change(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  const std::vector<std::function<void(TurnCommit&)>> changes = {
      [](TurnCommit& c) { c.events = {started_event()}; },
      [](TurnCommit& c) { c.status = StatusChange{.status = ExecutionStatus::kFailed, .output = {}}; },
      [](TurnCommit& c) { c.custom_status = CustomStatusChange{.value = "x"}; },
      [](TurnCommit& c) { c.key_values = {SetKeyValue{.key = "k", .value = "v", .updated_at = {}}}; },
  };
  for (const auto& change : changes) {
    TurnCommit commit = scene.commit_of(item);
    change(commit);
    expect_error(scene.store().ack_orchestration_item(commit), Kind::kInvalidArgument);
    expect(take(scene.store().read_status("order"))->pending, "the start is gone");
    expect_error(scene.admin().instance_info("order"), Kind::kNotFound);
  }
  TurnCommit zero = scene.first_commit_of(item);
  zero.commit_id = 0;
  expect_error(scene.store().ack_orchestration_item(zero), Kind::kInvalidArgument);
  scene.ack(scene.first_commit_of(item));
}

void queues_refuse_what_is_not_theirs(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().enqueue_message(activity("order", 2)), Kind::kInvalidArgument);
  expect_error(scene.store().enqueue_message(event_message("", "nobody")), Kind::kInvalidArgument);
  expect_error(scene.store().enqueue_activity(event_message("order", "x")), Kind::kInvalidArgument);
  expect_error(scene.store().enqueue_start(event_message("fresh", "x"), StartPolicy::kIgnore), Kind::kInvalidArgument);
  expect_unchanged(scene, before);
  scene.enqueue_activity(activity("order", 2));
  expect_error(scene.store().enqueue_activity(activity("order", 2)), Kind::kAlreadyExists);
  scene.enqueue_activity(activity("order", 2, "Work", 2));
  scene.enqueue_activity(activity("other", 2));
  expect_equal(take(scene.admin().queue_depths()).activities, std::uint64_t{3}, "the activities");
}

void an_activity_is_completed_by_its_own_outcome_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("other");
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  const Snapshot before = snapshot(scene, "order");
  const std::vector<MessageRecord> wrong = {event_message("order", "x"), start_message("order"),
                                            timer_message("order", 2, scene.now()), work.record,
                                            completion(activity("other", 2))};
  for (const MessageRecord& outcome : wrong) {
    expect_error(scene.store().ack_work_item({.token = work.token, .completion = outcome}), Kind::kInvalidArgument);
    expect_unchanged(scene, before);
  }
  scene.fetch_nothing();
  take(scene.store().ack_work_item({.token = work.token, .completion = failure(work.record)}));
  expect_messages(scene.fetch(), {failure(work.record)});
}

}  // namespace

ValidationTests error_tests() {
  return {
      {"error", "an_unknown_token_is_a_lost_lock", &an_unknown_token_is_a_lost_lock},
      {"error", "an_event_id_that_is_stored_is_refused", &an_event_id_that_is_stored_is_refused},
      {"error", "a_commit_after_the_lock_expired_fails", &a_commit_after_the_lock_expired_fails},
      {"error", "an_unknown_instance_is_an_empty_answer_to_readers",
       &an_unknown_instance_is_an_empty_answer_to_readers},
      {"error", "an_empty_store_hands_out_nothing", &an_empty_store_hands_out_nothing},
      {"error", "a_commit_that_can_never_work_is_refused", &a_commit_that_can_never_work_is_refused},
      {"error", "without_started_there_is_no_instance_to_change", &without_started_there_is_no_instance_to_change},
      {"error", "queues_refuse_what_is_not_theirs", &queues_refuse_what_is_not_theirs},
      {"error", "an_activity_is_completed_by_its_own_outcome_only", &an_activity_is_completed_by_its_own_outcome_only},
  };
}

}  // namespace perdure::testing
