// Activities and the instance that scheduled them: the worker queue does not look at it, and a commit can take them
// back.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;
using EventIds = std::vector<EventId>;

std::vector<MessageRecord> three_activities(const std::string& instance = "order") {
  return {activity(instance, 2), activity(instance, 3), activity(instance, 4)};
}

void cancel_activities(Scene& scene, const std::string& instance, std::vector<EventId> ids) {
  TurnCommit commit = scene.commit_of(scene.wake(instance));
  commit.cancelled_activities = std::move(ids);
  scene.ack(commit);
}

// ---- The state of the instance does not matter ----

void an_activity_of_a_running_instance_is_fetched_and_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  expect_record(work.record, activity("order", 2));
  take(scene.store().renew_work_lock(work.token, kWorkLock));
}

void an_activity_of_an_ended_instance_is_fetched_and_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  const ExecutionStatus ends[] = {ExecutionStatus::kCompleted, ExecutionStatus::kFailed, ExecutionStatus::kCancelled,
                                  ExecutionStatus::kTerminated};
  for (const ExecutionStatus status : ends) {
    const std::string instance = "order-" + std::string(to_string(status));
    scene.create_with_activities(instance, three_activities(instance));
    const WorkItem before = scene.fetch_work();
    scene.end(instance, status);
    const WorkItem after = scene.fetch_work();
    expect_equal(after.record.activity_id, EventId{3}, "the activity");
    take(scene.store().renew_work_lock(before.token, kWorkLock));
    take(scene.store().renew_work_lock(after.token, kWorkLock));
    take(scene.store().ack_work_item({.token = before.token, .completion = completion(before.record)}));
    const OrchestrationItem item = scene.fetch();
    expect_messages(item, {completion(before.record)});
    scene.ack(scene.commit_of(item));
    take(scene.store().ack_work_item({.token = after.token, .completion = {}}));
    take(scene.store().ack_work_item({.token = scene.fetch_work().token, .completion = {}}));
  }
}

void an_activity_of_a_past_execution_is_fetched_and_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  const WorkItem before = scene.fetch_work();
  scene.continue_as_new("order");
  const WorkItem after = scene.fetch_work();
  expect_record(after.record, activity("order", 3));
  take(scene.store().renew_work_lock(before.token, kWorkLock));
  take(scene.store().ack_work_item({.token = before.token, .completion = completion(before.record)}));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {completion(before.record)});
  expect_equal(item.execution_id, ExecutionId{2}, "the execution that is fetched");
}

void an_activity_of_an_unknown_instance_is_fetched_and_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("nobody", 2));
  const WorkItem work = scene.fetch_work();
  take(scene.store().renew_work_lock(work.token, kWorkLock));
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  scene.fetch_no_work();
  scene.fetch_nothing();
  expect_error(scene.admin().instance_info("nobody"), Kind::kNotFound);
}

void an_activity_goes_with_its_deleted_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  const WorkItem work = scene.fetch_work();
  take(scene.admin().delete_instance("order", true));
  scene.fetch_no_work();
  expect_error(scene.store().renew_work_lock(work.token, kWorkLock), Kind::kLockLost);
  const ProviderResult<void> answer =
      scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)});
  expect_error(answer, Kind::kLockLost);
  expect(!answer.error().retryable(), "a deleted activity is worth a retry");
  abandon_work(scene, work.token);
  scene.advance(kWorkLock);
  scene.fetch_no_work();
  scene.fetch_nothing();
  expect_equal(take(scene.admin().queue_depths()).messages, std::uint64_t{0}, "the messages");
}

// ---- Taking back ----

void an_activity_can_be_removed_without_outcome(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  take(scene.store().ack_work_item({.token = scene.fetch_work().token, .completion = {}}));
  scene.fetch_nothing();
  scene.advance(kWorkLock);
  scene.fetch_no_work();
  expect(take(scene.admin().queue_depths()) == QueueDepths{}, "something is left in the queues");
}

void cancelled_activities_leave_the_queue(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", three_activities());
  cancel_activities(scene, "order", {2, 4});
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), EventIds{3}, "what is left");
  scene.fetch_nothing();
}

void many_activities_are_cancelled_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  std::vector<MessageRecord> activities;
  std::vector<EventId> ids;
  for (EventId id = 2; id < 102; ++id) {
    activities.push_back(activity("order", id));
    if (id != 50) ids.push_back(id);
  }
  scene.create_with_activities("order", activities);
  cancel_activities(scene, "order", ids);
  expect_equal(activity_ids_of(fetch_activities(scene, 200)), EventIds{50}, "what is left");
}

void a_running_activity_learns_that_it_was_cancelled(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  cancel_activities(scene, "order", {2});
  expect_error(scene.store().renew_work_lock(work.token, kWorkLock), Kind::kLockLost);
  const Heartbeat heartbeat{.token = work.token, .details = {}, .extend_for = kWorkLock};
  expect_error(scene.store().heartbeat({&heartbeat, 1}).front(), Kind::kLockLost);
  expect_error(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}),
               Kind::kLockLost);
  abandon_work(scene, work.token);
  scene.fetch_nothing();
  scene.advance(kWorkLock);
  scene.fetch_no_work();
}

void cancelling_what_is_not_there_does_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", three_activities());
  cancel_activities(scene, "order", {99, 3, 100, 3});
  cancel_activities(scene, "order", {3});
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), EventIds{2, 4}, "what is left");
}

void an_activity_that_is_scheduled_and_cancelled_in_one_turn_is_gone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.events = events(2, 3);
  commit.activities = {activity("order", 2), activity("order", 3)};
  commit.cancelled_activities = {2};
  scene.ack(commit);
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), EventIds{3}, "what is left");
}

void cancelling_concerns_one_execution_of_one_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("other", {activity("other", 2)});
  scene.create_with_activities("order", {activity("order", 2)});
  scene.continue_as_new("order");
  TurnCommit schedule = scene.commit_of(scene.wake("order"));
  schedule.events = {event(2)};
  schedule.activities = {activity("order", 2, "Work", 2)};
  scene.ack(schedule);
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.cancelled_activities = {2};
  scene.ack(commit);
  const std::vector<WorkItem> left = fetch_activities(scene, 10);
  expect_equal(left.size(), std::size_t{2}, "the activities that are left");
  expect_record(left[0].record, activity("other", 2));
  expect_record(left[1].record, activity("order", 2, "Work", 1));
}

void a_cancelled_id_can_be_scheduled_again(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem old = scene.fetch_work();
  cancel_activities(scene, "order", {2});
  scene.enqueue_activity(activity("order", 2, "Again"));
  expect_error(scene.store().ack_work_item({.token = old.token, .completion = completion(old.record)}),
               Kind::kLockLost);
  const WorkItem work = scene.fetch_work();
  expect_equal(work.record.name, "Again", "the activity");
  expect_equal(work.attempt_count, 1U, "the attempts");
}

}  // namespace

ValidationTests cancellation_tests() {
  return {
      {"cancellation", "an_activity_of_a_running_instance_is_fetched_and_renewed",
       &an_activity_of_a_running_instance_is_fetched_and_renewed},
      {"cancellation", "an_activity_of_an_ended_instance_is_fetched_and_renewed",
       &an_activity_of_an_ended_instance_is_fetched_and_renewed},
      {"cancellation", "an_activity_of_a_past_execution_is_fetched_and_renewed",
       &an_activity_of_a_past_execution_is_fetched_and_renewed},
      {"cancellation", "an_activity_of_an_unknown_instance_is_fetched_and_renewed",
       &an_activity_of_an_unknown_instance_is_fetched_and_renewed},
      {"cancellation", "an_activity_goes_with_its_deleted_instance", &an_activity_goes_with_its_deleted_instance},
      {"cancellation", "an_activity_can_be_removed_without_outcome", &an_activity_can_be_removed_without_outcome},
      {"cancellation", "cancelled_activities_leave_the_queue", &cancelled_activities_leave_the_queue},
      {"cancellation", "many_activities_are_cancelled_at_once", &many_activities_are_cancelled_at_once},
      {"cancellation", "a_running_activity_learns_that_it_was_cancelled",
       &a_running_activity_learns_that_it_was_cancelled},
      {"cancellation", "cancelling_what_is_not_there_does_nothing", &cancelling_what_is_not_there_does_nothing},
      {"cancellation", "an_activity_that_is_scheduled_and_cancelled_in_one_turn_is_gone",
       &an_activity_that_is_scheduled_and_cancelled_in_one_turn_is_gone},
      {"cancellation", "cancelling_concerns_one_execution_of_one_instance",
       &cancelling_concerns_one_execution_of_one_instance},
      {"cancellation", "a_cancelled_id_can_be_scheduled_again", &a_cancelled_id_can_be_scheduled_again},
  };
}

}  // namespace perdure::testing
