// Many items in one call: an outcome for each, in order, and a bad element fails alone. Histories that are loaded
// later.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;
using Ids = std::vector<std::string>;

LockToken unknown() {
  return {"no such token"};
}

// "a", "b" and "c", each with a message, locked.
std::vector<OrchestrationItem> three_locked(Scene& scene) {
  for (const char* id : {"a", "b", "c"}) scene.create(id);
  for (const char* id : {"a", "b", "c"}) scene.enqueue(event_message(id, "x"));
  std::vector<OrchestrationItem> items = fetch_instances(scene, 10);
  expect_equal(instances_of(items), Ids{"a", "b", "c"}, "the instances");
  return items;
}

// Activities 2, 3 and 4 of "order", locked.
std::vector<WorkItem> three_locked_activities(Scene& scene) {
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3), activity("order", 4)});
  std::vector<WorkItem> items = fetch_activities(scene, 10);
  expect_equal(activity_ids_of(items), std::vector<EventId>{2, 3, 4}, "the activities");
  return items;
}

void a_fetch_takes_up_to_its_limit(ProviderFactory& factory) {
  Scene scene(factory);
  for (int i = 0; i < 5; ++i) {
    scene.enqueue_start("order" + std::to_string(i));
    scene.enqueue_activity(activity("order" + std::to_string(i), 2));
  }
  expect_equal(instances_of(fetch_instances(scene, 3)), Ids{"order0", "order1", "order2"}, "the first instances");
  expect_equal(instances_of(fetch_instances(scene, 3)), Ids{"order3", "order4"}, "the rest of the instances");
  expect_equal(fetch_activities(scene, 3).size(), std::size_t{3}, "the first activities");
  const std::vector<WorkItem> rest = fetch_activities(scene, 3);
  expect_equal(rest.size(), std::size_t{2}, "the rest of the activities");
  expect_equal(rest.front().record.instance, "order3", "whose activity comes next");
}

void a_bad_commit_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<OrchestrationItem> items = three_locked(scene);
  std::vector<TurnCommit> commits;
  for (const OrchestrationItem& item : items) {
    TurnCommit commit = scene.commit_of(item);
    commit.events = {event(2)};
    commit.activities = {activity(item.instance, 2)};
    commit.messages = {event_message("a", "from " + item.instance)};
    commits.push_back(commit);
  }
  commits[1].events = {event(1)};
  commits.push_back(commits[2]);
  commits.back().commit_id = scene.new_commit_id();
  commits.push_back(commits[0]);

  const Snapshot bad = snapshot(scene, "b");
  const std::vector<ProviderResult<CommitAnswer>> outcomes = scene.store().ack_orchestration_items(commits);
  expect_equal(outcomes.size(), std::size_t{5}, "the outcomes");
  take(outcomes[0]);
  expect_error(outcomes[1], Kind::kDuplicateEvent);
  take(outcomes[2]);
  expect_error(outcomes[3], Kind::kLockLost);
  expect(take(outcomes[4]).repeated, "the same commit twice in a batch is not a repetition");

  expect(history_of(scene, "b") == bad.history, "the bad commit left events");
  for (const char* id : {"a", "c"})
    expect_equal(history_of(scene, id).size(), std::size_t{2}, "the events of a good one");
  const std::vector<WorkItem> work = fetch_activities(scene, 10);
  expect_equal(work.size(), std::size_t{2}, "the activities");
  expect_equal(work[0].record.instance, "a", "whose activity is first");
  expect_equal(work[1].record.instance, "c", "whose activity is second");
  expect_messages(scene.fetch(), {event_message("a", "from a"), event_message("a", "from c")});
  scene.fetch_nothing();
  scene.ack(scene.commit_of(items[1]));
}

void a_bad_message_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const std::vector<MessageRecord> messages = {event_message("order", "one"), activity("order", 2),
                                               event_message("order", "two"), event_message("", "nobody"),
                                               event_message("order", "three")};
  const std::vector<ProviderResult<void>> outcomes = scene.store().enqueue_messages(messages);
  expect_equal(outcomes.size(), std::size_t{5}, "the outcomes");
  for (const std::size_t good : {0U, 2U, 4U}) take(outcomes[good]);
  expect_error(outcomes[1], Kind::kInvalidArgument);
  expect_error(outcomes[3], Kind::kInvalidArgument);
  expect_messages(scene.fetch(), {messages[0], messages[2], messages[4]});
  scene.fetch_no_work();
}

void a_bad_activity_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<MessageRecord> activities = {activity("order", 2), event_message("order", "x"),
                                                 activity("order", 2, "Again"), activity("order", 3)};
  const std::vector<ProviderResult<void>> outcomes = scene.store().enqueue_activities(activities);
  expect_equal(outcomes.size(), std::size_t{4}, "the outcomes");
  take(outcomes[0]);
  expect_error(outcomes[1], Kind::kInvalidArgument);
  expect_error(outcomes[2], Kind::kAlreadyExists);
  take(outcomes[3]);
  const std::vector<WorkItem> work = fetch_activities(scene, 10);
  expect_equal(activity_ids_of(work), std::vector<EventId>{2, 3}, "the activities");
  expect_equal(work.front().record.name, "Work", "the name of the one that was first");
}

void a_bad_abandon_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<OrchestrationItem> items = three_locked(scene);
  const std::vector<Abandon> abandons = {{.token = items[0].token, .delay = Milliseconds{100}},
                                         {.token = unknown()},
                                         {.token = items[2].token, .delay = Milliseconds{0}, .ignore_attempt = true},
                                         {.token = items[2].token}};
  const std::vector<ProviderResult<void>> outcomes = scene.store().abandon_orchestration_items(abandons);
  expect_equal(outcomes.size(), std::size_t{4}, "the outcomes");
  take(outcomes[0]);
  expect_error(outcomes[1], Kind::kLockLost);
  take(outcomes[2]);
  expect_error(outcomes[3], Kind::kLockLost);
  const std::vector<OrchestrationItem> now = fetch_instances(scene, 10);
  expect_equal(instances_of(now), Ids{"c"}, "what is free");
  expect_equal(now.front().attempt_count, 1U, "the attempts");
  scene.advance(Milliseconds{100});
  const std::vector<OrchestrationItem> later = fetch_instances(scene, 10);
  expect_equal(instances_of(later), Ids{"a"}, "what is free after the delay");
  expect_equal(later.front().attempt_count, 2U, "the attempts");
}

void a_bad_renewal_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<OrchestrationItem> items = three_locked(scene);
  scene.advance(kLockTimeout - Milliseconds{1});
  const std::vector<LockToken> tokens = {items[2].token, unknown(), items[0].token};
  const std::vector<ProviderResult<Timestamp>> outcomes =
      scene.store().renew_orchestration_locks(tokens, Milliseconds{1'000});
  expect_equal(outcomes.size(), std::size_t{3}, "the outcomes");
  expect_equal(take(outcomes[0]), scene.now() + Milliseconds{1'000}, "until when c is locked");
  expect_error(outcomes[1], Kind::kLockLost);
  expect_equal(take(outcomes[2]), scene.now() + Milliseconds{1'000}, "until when a is locked");
  scene.advance(Milliseconds{1});
  expect_equal(instances_of(fetch_instances(scene, 10)), Ids{"b"}, "what is free");
}

void a_bad_work_ack_fails_alone(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<WorkItem> work = three_locked_activities(scene);
  const std::vector<WorkAck> acks = {{.token = work[2].token, .completion = completion(work[2].record)},
                                     {.token = work[1].token, .completion = event_message("order", "wrong")},
                                     {.token = unknown(), .completion = completion(work[1].record)},
                                     {.token = work[2].token, .completion = completion(work[2].record)},
                                     {.token = work[0].token, .completion = failure(work[0].record)}};
  const std::vector<ProviderResult<void>> outcomes = scene.store().ack_work_items(acks);
  expect_equal(outcomes.size(), std::size_t{5}, "the outcomes");
  take(outcomes[0]);
  expect_error(outcomes[1], Kind::kInvalidArgument);
  expect_error(outcomes[2], Kind::kLockLost);
  expect_error(outcomes[3], Kind::kLockLost);
  take(outcomes[4]);
  expect_messages(scene.fetch(), {completion(work[2].record), failure(work[0].record)});
  scene.fetch_no_work();
  take(scene.store().ack_work_item({.token = work[1].token, .completion = completion(work[1].record)}));
}

void activities_are_renewed_and_given_back_in_batches(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<WorkItem> work = three_locked_activities(scene);
  const std::vector<LockToken> tokens = {work[1].token, unknown(), work[0].token};
  const std::vector<ProviderResult<Timestamp>> renewed = scene.store().renew_work_locks(tokens, Milliseconds{1'000});
  expect_equal(renewed.size(), std::size_t{3}, "the outcomes of the renewal");
  expect_equal(take(renewed[0]), scene.now() + Milliseconds{1'000}, "until when 3 is locked");
  expect_error(renewed[1], Kind::kLockLost);
  expect_equal(take(renewed[2]), scene.now() + Milliseconds{1'000}, "until when 2 is locked");

  const std::vector<Heartbeat> heartbeats = {{.token = work[2].token, .details = "\"half\"", .extend_for = {}},
                                             {.token = unknown(), .details = "\"none\"", .extend_for = {}},
                                             {.token = work[0].token, .details = {}, .extend_for = Milliseconds{500}}};
  const std::vector<ProviderResult<Timestamp>> beats = scene.store().heartbeat(heartbeats);
  expect_equal(beats.size(), std::size_t{3}, "the outcomes of the heartbeats");
  expect_equal(take(beats[0]), work[2].locked_until, "until when 4 is locked");
  expect_error(beats[1], Kind::kLockLost);
  expect_equal(take(beats[2]), scene.now() + Milliseconds{500}, "until when 2 is locked after a heartbeat");

  const std::vector<Abandon> abandons = {{.token = work[2].token}, {.token = unknown()}, {.token = work[1].token}};
  const std::vector<ProviderResult<void>> outcomes = scene.store().abandon_work_items(abandons);
  expect_equal(outcomes.size(), std::size_t{3}, "the outcomes of giving back");
  for (const ProviderResult<void>& outcome : outcomes) take(outcome);
  const std::vector<WorkItem> free = fetch_activities(scene, 10);
  expect_equal(activity_ids_of(free), std::vector<EventId>{3, 4}, "what is free");
  expect(free[1].heartbeat_details == "\"half\"", "the details of the heartbeat");
}

void an_empty_batch_has_no_outcomes(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const Snapshot before = snapshot(scene, "order");
  Provider& store = scene.store();
  expect(store.ack_orchestration_items({}).empty(), "commits");
  expect(store.abandon_orchestration_items({}).empty(), "abandons");
  expect(store.renew_orchestration_locks({}, kLockTimeout).empty(), "renewals");
  expect(store.enqueue_messages({}).empty(), "messages");
  expect(store.ack_work_items({}).empty(), "acks of activities");
  expect(store.abandon_work_items({}).empty(), "abandons of activities");
  expect(store.renew_work_locks({}, kLockTimeout).empty(), "renewals of activities");
  expect(store.heartbeat({}).empty(), "heartbeats");
  expect(store.enqueue_activities({}).empty(), "activities");
  expect_unchanged(scene, before);
}

// ---- Histories that are loaded later ----

// Two executions; the first left a value, the second has three events and wrote another value.
OrchestrationItem fetch_lazily(Scene& scene) {
  scene.create("order");
  TurnCommit set = scene.commit_of(scene.wake("order"));
  set.key_values = {SetKeyValue{.key = "k", .value = "old", .updated_at = scene.now()}};
  scene.ack(set);
  scene.continue_as_new("order");
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.events = events(2, 3);
  commit.key_values = {SetKeyValue{.key = "k", .value = "new", .updated_at = scene.now()}};
  scene.ack(commit);
  scene.enqueue(event_message("order", "x"));
  OrchestrationFetch options;
  options.with_history = false;
  return scene.fetch(options);
}

void a_history_can_be_left_out_and_read_later(ProviderFactory& factory) {
  Scene scene(factory);
  const OrchestrationItem item = fetch_lazily(scene);
  expect(!item.history.has_value(), "a history that was not asked for");
  expect_equal(item.execution_id, ExecutionId{2}, "the execution");
  expect_equal(item.last_event_id, EventId{3}, "the last event id");
  expect(item.metadata.has_value() && item.messages.size() == 1, "more than the history was left out");

  const StoredHistory all = take(scene.store().read_history(item.token, 0));
  expect(all.events == std::vector<EventRecord>{started_event(), event(2), event(3)}, "the whole history");
  expect(!all.error.has_value(), "an error");
  expect_equal(all.key_values.size(), std::size_t{1}, "the values");
  expect_equal(all.key_values.front().value, "old", "the value as of the previous execution");
  const StoredHistory tail = take(scene.store().read_history(item.token, 1));
  expect(tail.events == events(2, 3), "the history behind event 1");
  expect(tail.key_values.empty(), "values with a part of the history");
  for (const EventId after : {EventId{3}, EventId{99}}) {
    expect(take(scene.store().read_history(item.token, after)).events.empty(), "events behind the last");
  }
  scene.ack(scene.commit_of(item));

  const OrchestrationItem eager = scene.wake("order");
  expect(eager.history == all, "the history that comes with a fetch is another");
}

void a_history_is_read_only_under_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  const OrchestrationItem item = fetch_lazily(scene);
  expect_error(scene.store().read_history(unknown(), 0), Kind::kLockLost);
  scene.advance(kLockTimeout);
  expect_error(scene.store().read_history(item.token, 0), Kind::kLockLost);
  const OrchestrationItem next = scene.fetch();
  expect_error(scene.store().read_history(item.token, 0), Kind::kLockLost);
  take(scene.store().read_history(next.token, 0));
  scene.ack(scene.commit_of(next));
  expect_error(scene.store().read_history(next.token, 0), Kind::kLockLost);
}

}  // namespace

ValidationTests batch_tests() {
  return {
      {"batch", "a_fetch_takes_up_to_its_limit", &a_fetch_takes_up_to_its_limit},
      {"batch", "a_bad_commit_fails_alone", &a_bad_commit_fails_alone},
      {"batch", "a_bad_message_fails_alone", &a_bad_message_fails_alone},
      {"batch", "a_bad_activity_fails_alone", &a_bad_activity_fails_alone},
      {"batch", "a_bad_abandon_fails_alone", &a_bad_abandon_fails_alone},
      {"batch", "a_bad_renewal_fails_alone", &a_bad_renewal_fails_alone},
      {"batch", "a_bad_work_ack_fails_alone", &a_bad_work_ack_fails_alone},
      {"batch", "activities_are_renewed_and_given_back_in_batches", &activities_are_renewed_and_given_back_in_batches},
      {"batch", "an_empty_batch_has_no_outcomes", &an_empty_batch_has_no_outcomes},
      {"batch", "a_history_can_be_left_out_and_read_later", &a_history_can_be_left_out_and_read_later},
      {"batch", "a_history_is_read_only_under_the_lock", &a_history_is_read_only_under_the_lock},
  };
}

}  // namespace perdure::testing
