// Children that are only queued: how deletion and replacement treat their starts. No parent waits forever, and no child
// is left without its parent.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

// A turn of the parent that starts a child under this id.
void schedule_child(Scene& scene, const std::string& parent, const std::string& child, Where where = Where::current()) {
  scene.turn(parent, [&](TurnCommit& commit) { commit.messages = {child_start_message(child, parent)}; }, where);
}

void expect_nothing_left(Scene& scene, Where where = Where::current()) {
  expect(take(scene.admin().system_metrics(), where) == SystemMetrics{}, "an instance is left", where);
  expect(take(scene.admin().queue_depths(), where) == QueueDepths{}, "something is left in a queue", where);
}

void the_link_comes_with_the_start_and_the_cancel(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  MessageRecord start = child_start_message("child", "parent");
  start.parent =
      ParentLink{.instance = "parent", .execution_id = 3, .schedule_id = 17, .incarnation = 1'234'567'890'123};
  scene.enqueue(start);
  scene.enqueue(parent_cancel_message("child", "parent"));
  expect_messages(scene.fetch(), {start, parent_cancel_message("child", "parent")});
}

void a_queued_child_cannot_be_deleted_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  schedule_child(scene, "parent", "child");
  for (const bool force : {false, true}) {
    expect_error(scene.admin().delete_instance("child", force), Kind::kSubOrchestration);
  }
  expect_error(scene.store().enqueue_start(start_message("child"), StartPolicy::kReplaceIfTerminal),
               Kind::kSubOrchestration);
  const std::vector<std::string> alone{"child"};
  expect_error(scene.admin().delete_instances(alone, true), Kind::kSubOrchestration);
  expect_messages(scene.fetch(), {child_start_message("child", "parent")});
}

void a_running_child_is_not_deleted_without_its_parent(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create_child("child", "parent");
  const std::vector<std::string> alone{"child"};
  expect_error(scene.admin().delete_instances(alone, true), Kind::kSubOrchestration);
  scene.end("child");
  expect_equal(take(scene.admin().delete_instances(alone, false)).instances, std::uint64_t{1}, "an ended one may go");
}

void a_queued_child_counts_as_running(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  schedule_child(scene, "parent", "child");
  scene.end("parent");
  expect_error(scene.admin().delete_instance("parent", false), Kind::kStillRunning);
  expect_error(scene.store().enqueue_start(start_message("parent"), StartPolicy::kReplaceIfTerminal),
               Kind::kStillRunning);
  const std::vector<std::string> without_child{"parent"};
  expect_error(scene.admin().delete_instances(without_child, true), Kind::kChildrenLeftBehind);
  expect_equal(take(scene.admin().delete_matching({})).instances, std::uint64_t{0}, "instances deleted");
}

// "parent" schedules a child under the id of "taken", an instance that has ended.
void schedule_child_under_taken_id(Scene& scene) {
  scene.create("parent");
  scene.create("taken");
  scene.end("taken");
  schedule_child(scene, "parent", "taken");
}

void a_deleted_parent_takes_its_queued_children_along(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  schedule_child(scene, "parent", "child");
  scene.enqueue(event_message("child", "early"));
  const DeleteResult result = take(scene.admin().delete_instance("parent", true));
  expect_equal(result.instances, std::uint64_t{2}, "instances deleted");
  expect_equal(result.messages, std::uint64_t{2}, "messages deleted");
  expect_nothing_left(scene);
}

void a_deleted_parent_withdraws_what_it_has_sent_to_others(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create("other");
  scene.create("another");
  schedule_child(scene, "parent", "other");
  scene.enqueue(parent_cancel_message("other", "parent"));
  scene.enqueue(parent_cancel_message("another", "parent"));
  take(scene.admin().delete_instance("parent", true));
  scene.fetch_nothing();
  expect_equal(take(scene.admin().queue_depths()).messages, std::uint64_t{0}, "messages left");
  scene.end("other");
}

void a_deleted_id_goes_to_the_child_that_waits_for_it(ProviderFactory& factory) {
  for (const bool force : {false, true}) {
    Scene scene(factory);
    scene.create("parent");
    scene.create("taken");
    if (!force) scene.end("taken");
    schedule_child(scene, "parent", "taken");
    scene.enqueue(event_message("taken", "for the old one"));
    const DeleteResult result = take(scene.admin().delete_instance("taken", force));
    expect_equal(result.instances, std::uint64_t{1}, "instances deleted");
    expect_equal(result.messages, std::uint64_t{1}, "messages deleted");
    const OrchestrationItem item = scene.fetch();
    expect(!item.metadata, "the old instance is still there");
    expect_messages(item, {child_start_message("taken", "parent")});
  }
}

void what_a_parent_sent_after_the_start_stays_with_it(ProviderFactory& factory) {
  Scene scene(factory);
  schedule_child_under_taken_id(scene);
  scene.enqueue(parent_cancel_message("taken", "parent"));
  take(scene.admin().delete_instance("taken", false));
  expect_messages(scene.fetch(), {child_start_message("taken", "parent"), parent_cancel_message("taken", "parent")});
}

void a_parents_cancel_without_a_start_goes_with_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create("taken");
  scene.end("taken");
  scene.enqueue(parent_cancel_message("taken", "parent"));
  take(scene.admin().delete_instance("taken", false));
  expect_equal(take(scene.admin().queue_depths()).messages, std::uint64_t{0}, "messages left");
}

void a_replacement_comes_before_the_child_that_waits_for_its_id(ProviderFactory& factory) {
  Scene scene(factory);
  schedule_child_under_taken_id(scene);
  expect_equal(take(scene.store().enqueue_start(start_message("taken"), StartPolicy::kReplaceIfTerminal)),
               StartOutcome::kReplaced, "the outcome");
  expect_messages(scene.fetch(), {start_message("taken"), child_start_message("taken", "parent")});
}

void bulk_deletion_keeps_and_takes_the_same(ProviderFactory& factory) {
  Scene scene(factory);
  schedule_child_under_taken_id(scene);
  InstanceFilter ended;
  ended.statuses = {ExecutionStatus::kCompleted};
  expect_equal(take(scene.admin().delete_matching(ended)).instances, std::uint64_t{1}, "instances deleted");
  expect_messages(scene.fetch(), {child_start_message("taken", "parent")});
}

void an_instance_that_wants_its_own_id_can_be_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("self");
  schedule_child(scene, "self", "self");
  take(scene.admin().delete_instance("self", true));
  expect_nothing_left(scene);
}

// Locks "other", whose batch holds a child start of "parent", and then deletes "parent".
OrchestrationItem fetch_withdrawn_start(Scene& scene) {
  scene.create("parent");
  scene.create("other");
  schedule_child(scene, "parent", "other");
  OrchestrationItem item = scene.fetch();
  take(scene.admin().delete_instance("parent", true));
  return item;
}

void a_turn_may_consume_what_was_withdrawn_meanwhile(ProviderFactory& factory) {
  Scene scene(factory);
  const OrchestrationItem item = fetch_withdrawn_start(scene);
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  scene.ack(commit);
  scene.fetch_nothing();
}

// The id of a withdrawn message belongs to that message for ever.
void a_turn_that_consumes_a_withdrawn_message_leaves_the_next_one(ProviderFactory& factory) {
  Scene scene(factory);
  const OrchestrationItem item = fetch_withdrawn_start(scene);
  scene.enqueue(event_message("other", "next"));
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  scene.ack(commit);
  expect_messages(scene.fetch(), {event_message("other", "next")});
}

// The deletion of "taken" gives its id to a queued child of "parent", which therefore runs.
void bulk_deletion_judges_each_tree_when_its_turn_comes(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("taken");
  scene.end("taken");
  scene.create("parent");
  scene.turn("parent", [](TurnCommit& commit) {
    commit.messages = {child_start_message("taken", "parent")};
    commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = {}};
  });
  expect_equal(take(scene.admin().delete_matching({})).instances, std::uint64_t{1}, "instances deleted");
  expect_messages(scene.fetch(), {child_start_message("taken", "parent")});
}

}  // namespace

ValidationTests child_start_tests() {
  return {
      {"child_start", "the_link_comes_with_the_start_and_the_cancel", &the_link_comes_with_the_start_and_the_cancel},
      {"child_start", "a_queued_child_cannot_be_deleted_alone", &a_queued_child_cannot_be_deleted_alone},
      {"child_start", "a_running_child_is_not_deleted_without_its_parent",
       &a_running_child_is_not_deleted_without_its_parent},
      {"child_start", "a_queued_child_counts_as_running", &a_queued_child_counts_as_running},
      {"child_start", "a_deleted_parent_takes_its_queued_children_along",
       &a_deleted_parent_takes_its_queued_children_along},
      {"child_start", "a_deleted_parent_withdraws_what_it_has_sent_to_others",
       &a_deleted_parent_withdraws_what_it_has_sent_to_others},
      {"child_start", "a_deleted_id_goes_to_the_child_that_waits_for_it",
       &a_deleted_id_goes_to_the_child_that_waits_for_it},
      {"child_start", "what_a_parent_sent_after_the_start_stays_with_it",
       &what_a_parent_sent_after_the_start_stays_with_it},
      {"child_start", "a_parents_cancel_without_a_start_goes_with_the_instance",
       &a_parents_cancel_without_a_start_goes_with_the_instance},
      {"child_start", "a_replacement_comes_before_the_child_that_waits_for_its_id",
       &a_replacement_comes_before_the_child_that_waits_for_its_id},
      {"child_start", "bulk_deletion_keeps_and_takes_the_same", &bulk_deletion_keeps_and_takes_the_same},
      {"child_start", "an_instance_that_wants_its_own_id_can_be_deleted",
       &an_instance_that_wants_its_own_id_can_be_deleted},
      {"child_start", "a_turn_may_consume_what_was_withdrawn_meanwhile",
       &a_turn_may_consume_what_was_withdrawn_meanwhile},
      {"child_start", "a_turn_that_consumes_a_withdrawn_message_leaves_the_next_one",
       &a_turn_that_consumes_a_withdrawn_message_leaves_the_next_one},
      {"child_start", "bulk_deletion_judges_each_tree_when_its_turn_comes",
       &bulk_deletion_judges_each_tree_when_its_turn_comes},
  };
}

}  // namespace perdure::testing
