// When an instance comes into being: with its first commit, never with a message.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void the_first_commit_creates_the_instance_with_its_metadata(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order", "Requested");
  const OrchestrationItem item = scene.fetch();
  expect(!item.metadata.has_value(), "there is metadata before the first commit");
  TurnCommit commit = scene.first_commit_of(item, "Resolved");
  commit.started->version = SemanticVersion{2, 0, 0};
  commit.started->pinned_version = SemanticVersion{0, 9, 8};
  scene.advance(Milliseconds{10});
  scene.ack(commit);

  const InstanceInfo info = take(scene.admin().instance_info("order"));
  expect_equal(info.id, "order", "the id");
  expect_equal(info.name, "Resolved", "the name");
  expect(info.version == SemanticVersion{2, 0, 0}, "the version is not the commit's");
  expect(info.pinned_version == SemanticVersion{0, 9, 8}, "the pin is not the commit's");
  expect(!info.parent.has_value(), "a root has a parent");
  expect_equal(info.execution_id, kFirstExecutionId, "the execution");
  expect_equal(info.status, ExecutionStatus::kRunning, "the status");
  expect_equal(info.created_at, scene.now(), "created_at");
  expect_equal(info.updated_at, scene.now(), "updated_at");
  expect(!info.completed_at.has_value(), "a running instance has an end");

  const OrchestrationItem next = scene.wake("order");
  expect(next.metadata.has_value(), "no metadata after the first commit");
  expect_equal(next.metadata->name, "Resolved", "the fetched name");
  expect(next.metadata->version == SemanticVersion{2, 0, 0}, "the fetched version is not the commit's");
  expect(next.metadata->pinned_version == SemanticVersion{0, 9, 8}, "the fetched pin is not the commit's");
  expect_equal(next.metadata->status, ExecutionStatus::kRunning, "the fetched status");
  expect_equal(next.last_event_id, EventId{1}, "the last event id");
}

void expect_no_instance(Scene& scene, const std::string& instance, Where where = Where::current()) {
  expect_error(scene.admin().instance_info(instance), Kind::kNotFound, where);
  expect(take(scene.admin().list_instances({})).instances.empty(), "the instance is listed", where);
  expect(take(scene.admin().list_executions(instance)).empty(), "it has executions", where);
  expect(history_of(scene, instance).empty(), "it has a history", where);
  expect(!take(scene.store().read_stats(instance)).has_value(), "it has statistics", where);
  expect_equal(take(scene.admin().system_metrics()).instances, std::uint64_t{0}, "the instances counted", where);
}

void a_message_creates_no_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order", "Flow");
  scene.enqueue(event_message("order", "news"));
  expect_no_instance(scene, "order");
  const std::optional<InstanceStatus> status = take(scene.store().read_status("order"));
  expect(status.has_value() && status->pending, "a queued start is not pending");
  expect_equal(status->name, "Flow", "the pending name");

  const OrchestrationItem item = scene.fetch();
  expect_equal(item.instance, "order", "the fetched instance");
  expect_equal(item.execution_id, kFirstExecutionId, "the execution");
  expect_equal(item.last_event_id, EventId{0}, "the last event id");
  expect(item.history.has_value() && item.history->events.empty(), "there is a history before the first commit");
  expect(item.history->key_values.empty() && !item.history->error, "there is more than an empty history");
  expect_no_instance(scene, "order");
  expect(take(scene.store().read_status("order"))->pending, "a fetched start is no longer pending");
}

void a_start_without_version_gets_it_from_a_later_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  TurnCommit commit = scene.first_commit_of(scene.fetch());
  commit.started->version.reset();
  scene.ack(commit);
  expect(!take(scene.admin().instance_info("order")).version.has_value(), "a version from nowhere");

  const OrchestrationItem item = scene.wake("order");
  expect(item.metadata.has_value() && !item.metadata->version.has_value(), "the fetched version is not absent");
  TurnCommit second = scene.commit_of(item);
  second.started = StartedMetadata{
      .name = "Flow", .version = SemanticVersion{1, 2, 3}, .parent = {}, .pinned_version = {}, .carry_forward = 0};
  scene.ack(second);
  expect(scene.wake("order").metadata->version == SemanticVersion{1, 2, 3}, "the version did not come later");
}

void a_later_started_changes_name_and_version_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order", "Old");
  const InstanceInfo before = take(scene.admin().instance_info("order"));
  scene.advance(Milliseconds{100});
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.started = StartedMetadata{
      .name = "New", .version = SemanticVersion{3, 0, 0}, .parent = {}, .pinned_version = {}, .carry_forward = 0};
  scene.ack(commit);

  InstanceInfo expected = before;
  expected.name = "New";
  expected.version = SemanticVersion{3, 0, 0};
  expected.updated_at = scene.now();
  expect(take(scene.admin().instance_info("order")) == expected, "more or less changed than name and version");
  expect_equal(history_of(scene, "order").size(), std::size_t{1}, "the events");
}

void a_child_is_created_by_its_own_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  TurnCommit commit = scene.commit_of(scene.wake("parent"));
  commit.messages.push_back(start_message("child", "Part"));
  scene.ack(commit);
  expect_error(scene.admin().instance_info("child"), Kind::kNotFound);
  expect(take(scene.store().read_status("child"))->pending, "the child is not pending");
  expect(take(scene.admin().list_children("parent")).empty(), "the parent has a child too early");

  const OrchestrationItem item = scene.fetch();
  expect_equal(item.instance, "child", "the fetched instance");
  TurnCommit first = scene.first_commit_of(item, "Part");
  first.started->parent = link_to("parent", 77);
  scene.ack(first);
  expect(take(scene.admin().instance_info("child")).parent == "parent", "the child does not know its parent");
  expect_equal(take(scene.admin().list_children("parent")), std::vector<std::string>{"child"}, "the children");
  expect(scene.wake("child").metadata->parent == link_to("parent", 77), "the fetched link is wrong");
}

void the_parent_is_set_once(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("first");
  scene.create("second");
  scene.create_child("child", "first");
  for (const std::optional<ParentLink>& parent : {std::optional(link_to("second")), std::optional<ParentLink>()}) {
    TurnCommit commit = scene.commit_of(scene.wake("child"));
    commit.started =
        StartedMetadata{.name = "Flow", .version = {}, .parent = parent, .pinned_version = {}, .carry_forward = 0};
    scene.ack(commit);
    expect(take(scene.admin().instance_info("child")).parent == "first", "the parent changed");
    expect(take(scene.admin().list_children("second")).empty(), "another instance got the child");
  }
}

void a_commit_that_only_consumes_creates_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  scene.ack(scene.commit_of(item));
  expect_no_instance(scene, "order");
  expect(!take(scene.store().read_status("order")).has_value(), "the dropped start is still pending");
  scene.fetch_nothing();
  scene.create("order");
  expect_equal(take(scene.admin().instance_info("order")).execution_id, kFirstExecutionId, "the execution");
}

}  // namespace

ValidationTests instance_creation_tests() {
  return {
      {"instance_creation", "the_first_commit_creates_the_instance_with_its_metadata",
       &the_first_commit_creates_the_instance_with_its_metadata},
      {"instance_creation", "a_message_creates_no_instance", &a_message_creates_no_instance},
      {"instance_creation", "a_start_without_version_gets_it_from_a_later_commit",
       &a_start_without_version_gets_it_from_a_later_commit},
      {"instance_creation", "a_later_started_changes_name_and_version_only",
       &a_later_started_changes_name_and_version_only},
      {"instance_creation", "a_child_is_created_by_its_own_commit", &a_child_is_created_by_its_own_commit},
      {"instance_creation", "the_parent_is_set_once", &the_parent_is_set_once},
      {"instance_creation", "a_commit_that_only_consumes_creates_nothing",
       &a_commit_that_only_consumes_creates_nothing},
  };
}

}  // namespace perdure::testing
