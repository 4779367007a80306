// Deleting instances, with everything of theirs and everything below them.
#include <vector>

#include "testing/validation/key_value_moves.h"
#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

bool exists(Scene& scene, const std::string& instance, Where where = Where::current()) {
  const auto info = scene.admin(where).instance_info(instance);
  if (!info) expect_error(info, ProviderErrorKind::kNotFound, where);
  return info.has_value();
}

// Ends the current execution; the continuation stays queued.
void begin_to_continue(Scene& scene, const std::string& instance, Where where = Where::current()) {
  scene.turn(
      instance,
      [&](TurnCommit& commit) {
        commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
        commit.messages.push_back(continue_message(instance));
      },
      where);
}

void ended_instances_are_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  int count = 0;
  for (const ExecutionStatus status : {ExecutionStatus::kCompleted, ExecutionStatus::kFailed,
                                       ExecutionStatus::kCancelled, ExecutionStatus::kTerminated}) {
    const std::string id = "a" + std::to_string(++count);
    scene.create(id);
    scene.end(id, status);
    const DeleteResult expected{.instances = 1, .executions = 1, .events = 2, .messages = 0};
    expect(take(scene.admin().delete_instance(id, false)) == expected, "the counts are others");
    expect(!exists(scene, id), "the instance is still there");
  }
  expect(take(scene.admin().system_metrics()) == SystemMetrics{}, "something is left");
}

void everything_of_an_instance_is_counted(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3)});
  scene.fetch_work();
  scene.continue_as_new("a");
  scene.enqueue(event_message("a", "unread"));
  scene.enqueue(timer_message("a", 2, scene.now() + Milliseconds{1'000}));
  const DeleteResult expected{.instances = 1, .executions = 2, .events = 3 + 1 + 1, .messages = 2 + 2};
  expect(take(scene.admin().delete_instance("a", true)) == expected, "the counts are others");
  expect(take(scene.admin().system_metrics()) == SystemMetrics{}, "something is left");
  expect(take(scene.admin().queue_depths()) == QueueDepths{}, "something is left in a queue");
}

void running_instances_need_force(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const Snapshot before = snapshot(scene, "a");
  expect_error(scene.admin().delete_instance("a", false), ProviderErrorKind::kStillRunning);
  expect_unchanged(scene, before);
  expect_equal(take(scene.admin().delete_instance("a", true)).instances, std::uint64_t{1}, "instances deleted");
  expect(!exists(scene, "a"), "the instance is still there");
  expect(!take(scene.store().read_status("a")).has_value(), "the instance has a status");
}

void unknown_instances_are_not_found(ProviderFactory& factory) {
  Scene scene(factory);
  for (const bool force : {false, true}) {
    expect_error(scene.admin().delete_instance("a", force), ProviderErrorKind::kNotFound);
  }
  // Neither a stray message nor an activity makes an instance. They are removed nevertheless.
  const Snapshot before = snapshot(scene, "a");
  for (const bool force : {false, true}) {
    scene.enqueue(event_message("a", "stray"));
    scene.enqueue_activity(activity("b", 2));
    expect_error(scene.admin().delete_instance("a", force), ProviderErrorKind::kNotFound);
    expect_error(scene.admin().delete_instance("b", force), ProviderErrorKind::kNotFound);
    expect_unchanged(scene, before);
  }
}

// An instance between two executions runs, although its execution has ended.
void a_queued_continuation_counts_as_running(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  begin_to_continue(scene, "a");
  const Snapshot before = snapshot(scene, "a");
  expect_error(scene.admin().delete_instance("a", false), ProviderErrorKind::kStillRunning);
  const std::vector<std::string> ids{"a"};
  expect_error(scene.admin().delete_instances(ids, false), ProviderErrorKind::kStillRunning);
  expect_unchanged(scene, before);
  // It goes on as if nothing had been.
  const OrchestrationItem next = scene.fetch();
  TurnCommit first = scene.first_commit_of(next);
  first.execution_id = next.execution_id + 1;
  scene.ack(first);
  expect_error(scene.admin().delete_instance("a", false), ProviderErrorKind::kStillRunning);
}

void a_lost_continuation_does_not_run(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  begin_to_continue(scene, "a");
  const OrchestrationItem next = scene.fetch();
  scene.ack(scene.commit_of(next));
  expect_equal(take(scene.admin().delete_instance("a", false)).instances, std::uint64_t{1}, "instances deleted");
}

void a_queued_start_counts_as_running(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.enqueue(event_message("a", "early"));
  expect_error(scene.admin().delete_instance("a", false), ProviderErrorKind::kStillRunning);
  const std::vector<std::string> ids{"a"};
  expect_error(scene.admin().delete_instances(ids, false), ProviderErrorKind::kStillRunning);
  expect(take(scene.store().read_status("a")).has_value(), "the start is gone");
  const DeleteResult expected{.instances = 1, .executions = 0, .events = 0, .messages = 2};
  expect(take(scene.admin().delete_instance("a", true)) == expected, "the counts are others");
  expect(!take(scene.store().read_status("a")).has_value(), "the start is still there");
  scene.fetch_nothing();
  scene.enqueue_start("a");
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.messages.size(), std::size_t{1}, "messages of the new start");
}

void a_start_in_its_first_turn_can_be_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  const OrchestrationItem item = scene.fetch();
  expect_error(scene.admin().delete_instance("a", false), ProviderErrorKind::kStillRunning);
  take(scene.admin().delete_instance("a", true));
  expect_error(scene.store().ack_orchestration_item(scene.first_commit_of(item)), ProviderErrorKind::kLockLost);
  expect(!exists(scene, "a"), "the commit brought the instance back");
}

void an_id_can_be_used_again(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2)});
  scene.turn("a", [](TurnCommit& commit) {
    commit.key_values = {set("k", "old")};
    commit.custom_status = CustomStatusChange{.value = "old"};
  });
  scene.enqueue(event_message("a", "unread"));
  for (int i = 0; i < 3; ++i) {
    const OrchestrationItem item = scene.fetch();
    abandon(scene, item.token, i == 2 ? Milliseconds{60'000} : Milliseconds{0});
  }
  take(scene.admin().delete_instance("a", true));
  scene.fetch_no_work();

  scene.enqueue_start("a", "Other");
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.attempt_count, 1U, "the attempt");
  expect_equal(item.messages.size(), std::size_t{1}, "messages");
  expect(!item.metadata.has_value(), "there is metadata");
  expect_equal(item.execution_id, kFirstExecutionId, "the execution");
  expect_equal(item.last_event_id, EventId{0}, "the last event");
  expect(item.history.has_value() && *item.history == StoredHistory{}, "there is a history");
  TurnCommit commit = scene.first_commit_of(item, "Other");
  // The activity has the identity of one that was deleted.
  commit.events.push_back(event(2));
  commit.activities.push_back(activity("a", 2));
  scene.ack(commit);
  expect(read(scene, "a").empty(), "there are old values");
  expect_equal(take(scene.store().read_status("a"))->custom_status_version, std::uint64_t{0}, "the status version");
  expect_equal(take(scene.admin().list_executions("a")), std::vector<ExecutionId>{1}, "the executions");
  expect_equal(scene.fetch_work().attempt_count, 1U, "the attempt of the activity");
}

void a_turn_cannot_bring_a_deleted_instance_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  take(scene.admin().delete_instance("a", true));
  TurnCommit commit = scene.first_commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  commit.messages = {event_message("a", "to itself")};
  expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kLockLost);
  expect_error(scene.store().renew_orchestration_lock(item.token, kLockTimeout), ProviderErrorKind::kLockLost);
  expect_error(scene.store().abandon_orchestration_item({.token = item.token}), ProviderErrorKind::kLockLost);
  expect_error(scene.store().read_history(item.token, 0), ProviderErrorKind::kLockLost);
  expect(!exists(scene, "a"), "the instance is back");
  expect(take(scene.admin().queue_depths()) == QueueDepths{}, "something was queued");
}

void an_activity_of_the_deleted_does_not_reach_the_new(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2)});
  const WorkItem old = scene.fetch_work();
  take(scene.admin().delete_instance("a", true));
  scene.create_with_activities("a", {activity("a", 2)});
  expect_error(scene.store().ack_work_item({.token = old.token, .completion = completion(old.record)}),
               ProviderErrorKind::kLockLost);
  expect_error(scene.store().renew_work_lock(old.token, kLockTimeout), ProviderErrorKind::kLockLost);
  scene.fetch_nothing();
  const WorkItem mine = scene.fetch_work();
  expect_equal(mine.attempt_count, 1U, "the attempt of the new activity");
  scene.ack_work(mine);
  expect_equal(scene.fetch().messages.size(), std::size_t{1}, "completions");
}

// ---- Trees ----

void a_root_takes_its_tree_along(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("child", "root");
  scene.create_child("sibling", "root");
  scene.create_child("grandchild", "child");
  scene.create("other");
  for (const std::string id : {"root", "child", "sibling", "grandchild"}) scene.end(id);
  for (const std::string id : {"child", "grandchild"}) {
    for (const bool force : {false, true}) {
      expect_error(scene.admin().delete_instance(id, force), ProviderErrorKind::kSubOrchestration);
    }
  }
  const DeleteResult expected{.instances = 4, .executions = 4, .events = 8, .messages = 0};
  expect(take(scene.admin().delete_instance("root", false)) == expected, "the counts are others");
  for (const std::string id : {"root", "child", "sibling", "grandchild"}) expect(!exists(scene, id), id + " is left");
  expect(exists(scene, "other"), "another instance is gone");
  expect(take(scene.admin().list_children("root")).empty(), "there are children of the deleted");
}

void a_tree_runs_if_anything_in_it_runs(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("child", "root");
  scene.create_child("grandchild", "child");
  scene.end("root");
  scene.end("child");
  const Snapshot before = snapshot(scene, "root");
  expect_error(scene.admin().delete_instance("root", false), ProviderErrorKind::kStillRunning);
  expect_unchanged(scene, before);
  scene.end("grandchild");
  expect_equal(take(scene.admin().delete_instance("root", false)).instances, std::uint64_t{3}, "instances deleted");
}

void an_instance_of_a_deleted_tree_is_no_child_any_more(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("child", "root");
  take(scene.admin().delete_instance("root", true));
  scene.create("child");
  expect_equal(take(scene.admin().instance_info("child")).parent, std::optional<std::string>(), "the parent");
  take(scene.admin().delete_instance("child", true));
}

// ---- Several at once ----

void several_are_deleted_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c"}) scene.create(id);
  scene.end("a");
  scene.end("b");
  expect(take(scene.admin().delete_instances({}, false)) == DeleteResult{}, "nothing was asked for");
  const std::vector<std::string> ids{"a", "unknown", "b"};
  const DeleteResult expected{.instances = 2, .executions = 2, .events = 4, .messages = 0};
  expect(take(scene.admin().delete_instances(ids, false)) == expected, "the counts are others");
  expect(!exists(scene, "a") && !exists(scene, "b"), "an instance is left");
  expect(exists(scene, "c"), "another instance is gone");
}

void several_are_deleted_all_or_none(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  scene.end("a");
  const std::vector<std::string> ids{"a", "b"};
  expect_error(scene.admin().delete_instances(ids, false), ProviderErrorKind::kStillRunning);
  expect(exists(scene, "a") && exists(scene, "b"), "an instance is gone");
  expect_equal(take(scene.admin().delete_instances(ids, true)).instances, std::uint64_t{2}, "instances deleted");
  expect(take(scene.admin().system_metrics()) == SystemMetrics{}, "something is left");
}

void no_child_is_left_behind(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("child", "root");
  scene.create_child("grandchild", "child");
  for (const std::string id : {"root", "child", "grandchild"}) scene.end(id);
  const Snapshot before = snapshot(scene, "root");
  for (const bool force : {false, true}) {
    const std::vector<std::string> without_child{"root", "grandchild"};
    expect_error(scene.admin().delete_instances(without_child, force), ProviderErrorKind::kChildrenLeftBehind);
    const std::vector<std::string> without_grandchild{"child", "root"};
    expect_error(scene.admin().delete_instances(without_grandchild, force), ProviderErrorKind::kChildrenLeftBehind);
  }
  expect_unchanged(scene, before);
  const std::vector<std::string> all{"grandchild", "root", "child"};
  expect_equal(take(scene.admin().delete_instances(all, false)).instances, std::uint64_t{3}, "instances deleted");
}

}  // namespace

ValidationTests deletion_tests() {
  return {
      {"deletion", "ended_instances_are_deleted", &ended_instances_are_deleted},
      {"deletion", "everything_of_an_instance_is_counted", &everything_of_an_instance_is_counted},
      {"deletion", "running_instances_need_force", &running_instances_need_force},
      {"deletion", "unknown_instances_are_not_found", &unknown_instances_are_not_found},
      {"deletion", "a_queued_continuation_counts_as_running", &a_queued_continuation_counts_as_running},
      {"deletion", "a_lost_continuation_does_not_run", &a_lost_continuation_does_not_run},
      {"deletion", "a_queued_start_counts_as_running", &a_queued_start_counts_as_running},
      {"deletion", "a_start_in_its_first_turn_can_be_deleted", &a_start_in_its_first_turn_can_be_deleted},
      {"deletion", "an_id_can_be_used_again", &an_id_can_be_used_again},
      {"deletion", "a_turn_cannot_bring_a_deleted_instance_back", &a_turn_cannot_bring_a_deleted_instance_back},
      {"deletion", "an_activity_of_the_deleted_does_not_reach_the_new",
       &an_activity_of_the_deleted_does_not_reach_the_new},
      {"deletion", "a_root_takes_its_tree_along", &a_root_takes_its_tree_along},
      {"deletion", "a_tree_runs_if_anything_in_it_runs", &a_tree_runs_if_anything_in_it_runs},
      {"deletion", "an_instance_of_a_deleted_tree_is_no_child_any_more",
       &an_instance_of_a_deleted_tree_is_no_child_any_more},
      {"deletion", "several_are_deleted_at_once", &several_are_deleted_at_once},
      {"deletion", "several_are_deleted_all_or_none", &several_are_deleted_all_or_none},
      {"deletion", "no_child_is_left_behind", &no_child_is_left_behind},
  };
}

}  // namespace perdure::testing
