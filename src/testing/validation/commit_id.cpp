// A commit whose answer was lost can be repeated: it is answered before anything else is looked at, and done once.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

// A turn whose repetition would show.
TurnCommit telling_commit(Scene& scene, const OrchestrationItem& item) {
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  commit.activities = {activity(item.instance, item.last_event_id + 1)};
  commit.messages = {event_message("other", "told")};
  commit.custom_status = CustomStatusChange{.value = "told"};
  commit.key_values = {SetKeyValue{.key = "k", .value = "told", .updated_at = {}}};
  return commit;
}

// "order" after a telling commit, and that commit.
TurnCommit committed(Scene& scene) {
  scene.create("other");
  scene.create("order");
  const TurnCommit commit = telling_commit(scene, scene.wake("order"));
  const CommitAnswer answer = scene.ack(commit);
  expect(!answer.repeated, "the first commit is a repetition");
  return commit;
}

void expect_repeated(Scene& scene, const TurnCommit& commit, Where where = Where::current()) {
  const Snapshot before = snapshot(scene, "order", where);
  const CommitAnswer answer = scene.ack(commit, where);
  expect(answer.repeated, "the repetition was not recognised", where);
  expect_equal(answer.now, scene.now(), "the time of the answer", where);
  expect(answer.claimed.empty(), "something was claimed", where);
  expect_unchanged(scene, before, where);
}

void a_repeated_commit_is_answered_and_not_done_again(ProviderFactory& factory) {
  Scene scene(factory);
  const TurnCommit commit = committed(scene);
  for (int i = 0; i < 3; ++i) expect_repeated(scene, commit);
  expect_equal(take(scene.store().read_status("order"))->custom_status_version, std::uint64_t{1}, "the version");
  expect_messages(scene.fetch(), {event_message("other", "told")});
  scene.fetch_work();
  scene.fetch_no_work();
  scene.fetch_nothing();
}

void a_commit_can_be_repeated_after_the_lock_is_gone(ProviderFactory& factory) {
  Scene scene(factory);
  const TurnCommit commit = committed(scene);
  scene.advance(kLockTimeout);
  expect_repeated(scene, commit);
  scene.advance(kLockTimeout * 1'000);
  expect_repeated(scene, commit);
}

void a_commit_can_be_repeated_after_later_fetches(ProviderFactory& factory) {
  Scene scene(factory);
  const TurnCommit commit = committed(scene);
  const OrchestrationItem other = scene.fetch();
  scene.ack(scene.commit_of(other));
  const OrchestrationItem held = scene.wake("order");
  expect_repeated(scene, commit);
  scene.fetch_nothing();
  abandon(scene, held.token);
  expect_repeated(scene, commit);
  const OrchestrationItem again = scene.fetch();
  expect_equal(again.attempt_count, 2U, "the repetition changed the attempts");
  expect_repeated(scene, commit);
  scene.ack(scene.commit_of(again));
}

void an_older_commit_is_not_accepted(ProviderFactory& factory) {
  Scene scene(factory);
  const TurnCommit older = committed(scene);
  scene.ack(scene.commit_of(scene.fetch()));
  const TurnCommit newer = scene.commit_of(scene.wake("order"));
  scene.ack(newer);
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().ack_orchestration_item(older), Kind::kLockLost);
  expect_unchanged(scene, before);
  expect_repeated(scene, newer);
}

void a_repetition_is_known_by_its_id_alone(ProviderFactory& factory) {
  Scene scene(factory);
  TurnCommit commit = committed(scene);
  commit.events = {event(1)};
  commit.execution_id = 99;
  commit.activities = {activity("other", 7)};
  expect_repeated(scene, commit);
  commit.commit_id = scene.new_commit_id();
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
}

void a_first_commit_can_be_repeated(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const TurnCommit commit = scene.first_commit_of(scene.fetch());
  scene.ack(commit);
  expect_repeated(scene, commit);
}

void a_commit_that_only_dropped_messages_can_be_repeated(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  scene.enqueue(event_message("order", "meanwhile"));
  const TurnCommit commit = scene.commit_of(item);
  scene.ack(commit);
  expect_repeated(scene, commit);
  scene.enqueue_start("order");
  expect_repeated(scene, commit);
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "meanwhile")});
}

void a_last_commit_can_be_repeated(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"out\""};
  scene.ack(commit);
  scene.advance(Milliseconds{100});
  expect_repeated(scene, commit);
}

void a_commit_that_begins_an_execution_can_be_repeated(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit commit = scene.first_commit_of(scene.wake("order"));
  commit.execution_id = 2;
  scene.ack(commit);
  expect_repeated(scene, commit);
  expect_equal(take(scene.admin().list_executions("order")), std::vector<ExecutionId>{1, 2}, "the executions");
}

void the_id_of_a_failed_commit_is_not_remembered(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.events = {event(1)};
  for (int i = 0; i < 2; ++i) expect_error(scene.store().ack_orchestration_item(commit), Kind::kDuplicateEvent);
  commit.events = {event(2)};
  expect(!scene.ack(commit).repeated, "a failed commit counts as done");
  expect_equal(history_of(scene, "order").size(), std::size_t{2}, "the events");
}

void commit_ids_belong_to_their_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("order");
  const TurnCommit first = scene.commit_of(scene.wake("a"));
  scene.ack(first);
  TurnCommit second = scene.commit_of(scene.wake("order"));
  second.commit_id = first.commit_id;
  second.events = {event(2)};
  expect(!scene.ack(second).repeated, "the commit of another instance counts");
  expect_equal(history_of(scene, "order").size(), std::size_t{2}, "the events");
  TurnCommit foreign = second;
  foreign.token = LockToken{"no such token"};
  expect_error(scene.store().ack_orchestration_item(foreign), Kind::kLockLost);
}

void a_fetch_tells_which_commit_made_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem first = scene.fetch();
  expect_equal(first.incarnation, std::uint64_t{0}, "before the first commit");
  const TurnCommit made = scene.first_commit_of(first);
  scene.ack(made);
  const OrchestrationItem second = scene.wake("order");
  expect_equal(second.incarnation, made.commit_id, "after the first commit");
  scene.ack(scene.commit_of(second));
  expect_equal(scene.wake("order").incarnation, made.commit_id, "after another commit");
  take(scene.admin().delete_instance("order", true));
  scene.enqueue_start("order");
  const TurnCommit again = scene.first_commit_of(scene.fetch());
  scene.ack(again);
  expect_equal(scene.wake("order").incarnation, again.commit_id, "of its successor");
}

// A client sees by the incarnation that the id was started again.
void the_status_and_a_wait_tell_the_incarnation(ProviderFactory& factory) {
  Scene scene(factory);
  const auto status = [&] { return take(scene.store().read_status("order")).value(); };
  const auto is_other_than = [&](std::uint64_t incarnation) {
    InstanceChange change{.ended = false, .custom_status_after = {}, .key_value = {}};
    change.incarnation_other_than = incarnation;
    return take(scene.store().wait_for_change("order", change, scene.store().now()));
  };
  expect(!is_other_than(1), "an unknown instance is waited for");
  scene.enqueue_start("order");
  expect_equal(status().incarnation, std::uint64_t{0}, "before the first commit");
  expect(!is_other_than(1), "a queued start is waited for");
  const TurnCommit made = scene.first_commit_of(scene.fetch());
  scene.ack(made);
  expect_equal(status().incarnation, made.commit_id, "after the first commit");
  expect(!is_other_than(made.commit_id), "the wait is for another incarnation");
  scene.ack(scene.commit_of(scene.wake("order")));
  expect_equal(status().incarnation, made.commit_id, "after another commit");
  take(scene.admin().delete_instance("order", true));
  expect(!is_other_than(made.commit_id), "a deleted instance is waited for");
  scene.enqueue_start("order");
  expect(!is_other_than(made.commit_id), "its successor has not begun");
  const TurnCommit again = scene.first_commit_of(scene.fetch());
  scene.ack(again);
  expect_equal(status().incarnation, again.commit_id, "of its successor");
  expect(is_other_than(made.commit_id), "its successor ends the wait");
}

void a_repeated_commit_does_not_bring_a_deleted_instance_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const TurnCommit commit = scene.first_commit_of(scene.fetch());
  scene.ack(commit);
  take(scene.admin().delete_instance("order", true));
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
  expect_error(scene.admin().instance_info("order"), Kind::kNotFound);
  scene.create("order");
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
}

}  // namespace

ValidationTests commit_id_tests() {
  return {
      {"commit_id", "a_repeated_commit_is_answered_and_not_done_again",
       &a_repeated_commit_is_answered_and_not_done_again},
      {"commit_id", "a_commit_can_be_repeated_after_the_lock_is_gone",
       &a_commit_can_be_repeated_after_the_lock_is_gone},
      {"commit_id", "a_commit_can_be_repeated_after_later_fetches", &a_commit_can_be_repeated_after_later_fetches},
      {"commit_id", "an_older_commit_is_not_accepted", &an_older_commit_is_not_accepted},
      {"commit_id", "a_repetition_is_known_by_its_id_alone", &a_repetition_is_known_by_its_id_alone},
      {"commit_id", "a_first_commit_can_be_repeated", &a_first_commit_can_be_repeated},
      {"commit_id", "a_commit_that_only_dropped_messages_can_be_repeated",
       &a_commit_that_only_dropped_messages_can_be_repeated},
      {"commit_id", "a_last_commit_can_be_repeated", &a_last_commit_can_be_repeated},
      {"commit_id", "a_commit_that_begins_an_execution_can_be_repeated",
       &a_commit_that_begins_an_execution_can_be_repeated},
      {"commit_id", "the_id_of_a_failed_commit_is_not_remembered", &the_id_of_a_failed_commit_is_not_remembered},
      {"commit_id", "commit_ids_belong_to_their_instance", &commit_ids_belong_to_their_instance},
      {"commit_id", "a_fetch_tells_which_commit_made_the_instance", &a_fetch_tells_which_commit_made_the_instance},
      {"commit_id", "the_status_and_a_wait_tell_the_incarnation", &the_status_and_a_wait_tell_the_incarnation},
      {"commit_id", "a_repeated_commit_does_not_bring_a_deleted_instance_back",
       &a_repeated_commit_does_not_bring_a_deleted_instance_back},
  };
}

}  // namespace perdure::testing
