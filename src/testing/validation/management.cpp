// What operators and clients look at: instances, executions, trees, and the times of all that.
#include <algorithm>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

constexpr Milliseconds kMinute{60'000};

InstanceInfo info(Scene& scene, const std::string& instance, Where where = Where::current()) {
  return take(scene.admin(where).instance_info(instance), where);
}

std::vector<std::string> listed(Scene& scene, Where where = Where::current()) {
  std::vector<std::string> ids;
  for (const InstanceInfo& entry : take(scene.admin(where).list_instances({}), where).instances)
    ids.push_back(entry.id);
  return ids;
}

void instances_are_listed_newest_first(ProviderFactory& factory) {
  Scene scene(factory);
  expect_equal(listed(scene), std::vector<std::string>{}, "instances of an empty store");
  for (const std::string id : {"b", "c", "a"}) scene.create(id);
  expect_equal(listed(scene), std::vector<std::string>{"a", "c", "b"}, "the instances");
  const InstancePage page = take(scene.admin().list_instances({}));
  expect(page.instances.front() == info(scene, "a"), "the list says something else than instance_info");
  expect(page.next.empty(), "there is another page");
}

void what_has_not_begun_is_not_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.enqueue(event_message("b", "early"));
  scene.enqueue_activity(activity("c", 2));
  expect_equal(listed(scene), std::vector<std::string>{}, "the instances");
  for (const std::string id : {"a", "b", "c", "unknown"}) {
    expect_error(scene.admin().instance_info(id), ProviderErrorKind::kNotFound);
    expect_error(scene.admin().execution_info(id, 1), ProviderErrorKind::kNotFound);
    expect_error(scene.admin().instance_tree(id), ProviderErrorKind::kNotFound);
    expect(take(scene.admin().list_executions(id)).empty(), "there are executions of " + id);
    expect(take(scene.admin().read_history(id)).empty(), "there is a history of " + id);
    expect(take(scene.admin().list_children(id)).empty(), "there are children of " + id);
  }
  expect_equal(take(scene.admin().system_metrics()).instances, std::uint64_t{0}, "instances that are counted");
}

void a_status_is_pending_until_the_first_commit(ProviderFactory& factory) {
  Scene scene(factory);
  expect(!take(scene.store().read_status("a")).has_value(), "an unknown instance has a status");
  scene.enqueue(event_message("a", "early"));
  expect(!take(scene.store().read_status("a")).has_value(), "an instance without a start has a status");
  scene.enqueue_start("a", "Ship");
  const std::optional<InstanceStatus> pending = take(scene.store().read_status("a"));
  expect(pending.has_value() && pending->pending, "it is not pending");
  expect_equal(pending->name, std::string("Ship"), "the name in the start");
  scene.ack(scene.first_commit_of(scene.fetch(), "Ship"));
  const std::optional<InstanceStatus> begun = take(scene.store().read_status("a"));
  expect(begun.has_value() && !begun->pending, "it is still pending");
  expect_equal(begun->status, ExecutionStatus::kRunning, "the status");
  scene.end("a", ExecutionStatus::kFailed, "\"why\"");
  const std::optional<InstanceStatus> ended = take(scene.store().read_status("a"));
  expect_equal(ended->status, ExecutionStatus::kFailed, "the status");
  expect_equal(ended->output, Payload("\"why\""), "the output");
  expect_equal(ended->version, std::optional(SemanticVersion{1, 0, 0}), "the version");
}

void info_says_what_the_commits_said(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a", "Ship");
  TurnCommit first = scene.first_commit_of(scene.fetch(), "Ship");
  first.started->version = SemanticVersion{2, 3, 4};
  first.started->parent = link_to("p");
  first.started->pinned_version = SemanticVersion{5, 6, 7};
  scene.ack(first);
  InstanceInfo expected;
  expected.id = "a";
  expected.name = "Ship";
  expected.version = SemanticVersion{2, 3, 4};
  expected.parent = "p";
  expected.pinned_version = SemanticVersion{5, 6, 7};
  expected.created_at = expected.updated_at = scene.now();
  expect(info(scene, "a") == expected, "the info after the first commit is another");

  scene.end("a", ExecutionStatus::kCompleted, "\"out\"");
  expected.status = ExecutionStatus::kCompleted;
  expected.output = "\"out\"";
  expected.completed_at = scene.now();
  expect(info(scene, "a") == expected, "the info after the end is another");
}

void a_later_start_renames_but_keeps_the_parent(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_child("a", "p");
  scene.turn("a", [](TurnCommit& commit) {
    commit.started = StartedMetadata{.name = "New",
                                     .version = SemanticVersion{2, 0, 0},
                                     .parent = link_to("q"),
                                     .pinned_version = {},
                                     .carry_forward = 0};
  });
  const InstanceInfo after = info(scene, "a");
  expect_equal(after.name, std::string("New"), "the name");
  expect_equal(after.version, std::optional(SemanticVersion{2, 0, 0}), "the version");
  expect_equal(after.parent, std::optional<std::string>("p"), "the parent");
  expect_equal(after.pinned_version, std::optional(engine_version()), "the pin that was not given again");
}

// All of them are times of the store's clock.
void times_are_real(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.advance(kMinute);
  const Timestamp created = scene.now();
  expect(created > Timestamp(), "the store's clock shows no time");
  scene.ack(scene.first_commit_of(scene.fetch()));
  expect_equal(info(scene, "a").created_at, created, "created_at: the first commit");
  scene.advance(kMinute);
  scene.enqueue(event_message("a", "wake"));
  expect_equal(info(scene, "a").updated_at, created, "updated_at after a message");
  const OrchestrationItem item = scene.fetch();
  scene.ack(scene.commit_of(item));
  expect_equal(info(scene, "a").updated_at, scene.now(), "updated_at after a commit");
  expect_equal(info(scene, "a").completed_at, std::optional<Timestamp>(), "completed_at of a running instance");

  scene.advance(kMinute);
  const Timestamp continued = scene.now();
  scene.continue_as_new("a");
  scene.advance(kMinute);
  scene.end("a");
  const Timestamp ended = scene.now();
  const ExecutionInfo first = take(scene.admin().execution_info("a", 1));
  expect_equal(first.started_at, created, "started_at of the first execution");
  expect_equal(first.completed_at, std::optional(continued), "completed_at of the first execution");
  const ExecutionInfo second = take(scene.admin().execution_info("a", 2));
  expect_equal(second.started_at, continued, "started_at of the second execution");
  expect_equal(second.completed_at, std::optional(ended), "completed_at of the second execution");
  const InstanceInfo last = info(scene, "a");
  expect_equal(last.created_at, created, "created_at");
  expect_equal(last.updated_at, ended, "updated_at");
  expect_equal(last.completed_at, std::optional(ended), "completed_at");
}

void running_again_clears_output_and_completion(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.end("a", ExecutionStatus::kFailed);
  scene.turn(
      "a", [](TurnCommit& commit) { commit.status = StatusChange{.status = ExecutionStatus::kRunning, .output = {}}; });
  const InstanceInfo after = info(scene, "a");
  expect_equal(after.status, ExecutionStatus::kRunning, "the status");
  expect_equal(after.output, Payload(), "the output");
  expect_equal(after.completed_at, std::optional<Timestamp>(), "completed_at");
}

void executions_are_listed_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.continue_as_new("a");
  scene.continue_as_new("a");
  expect_equal(take(scene.admin().list_executions("a")), std::vector<ExecutionId>{1, 2, 3}, "the executions");
  expect_equal(info(scene, "a").execution_id, ExecutionId{3}, "the current one");
}

void execution_info_is_of_one_execution(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.turn("a", [](TurnCommit&) {});
  scene.continue_as_new("a");
  const ExecutionInfo first = take(scene.admin().execution_info("a", 1));
  expect_equal(first.execution_id, ExecutionId{1}, "the execution");
  expect_equal(first.status, ExecutionStatus::kContinuedAsNew, "the status of the first");
  expect_equal(first.output, Payload("\"again\""), "the output of the first");
  expect_equal(first.events, std::uint64_t{3}, "events of the first");
  expect_equal(first.pinned_version, std::optional(engine_version()), "the pin of the first");
  const ExecutionInfo second = take(scene.admin().execution_info("a", 2));
  expect_equal(second.status, ExecutionStatus::kRunning, "the status of the second");
  expect_equal(second.output, Payload(), "the output of the second");
  expect_equal(second.events, std::uint64_t{1}, "events of the second");
  expect_error(scene.admin().execution_info("a", 3), ProviderErrorKind::kNotFound);
}

void histories_are_read_by_execution_and_event(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.turn("a", [](TurnCommit& commit) { commit.events = events(2, 5); });
  scene.continue_as_new("a");
  const std::vector<EventRecord> second{started_event()};
  expect(take(scene.admin().read_history("a")) == second, "the history of the latest execution is another");
  expect(take(scene.admin().read_history("a", 2)) == second, "the history of the second execution is another");
  std::vector<EventRecord> first{started_event()};
  for (const EventRecord& record : events(2, 6)) first.push_back(record);
  expect(take(scene.admin().read_history("a", 1)) == first, "the history of the first execution is another");
  expect(take(scene.admin().read_history("a", 1, 4)) == events(5, 6), "the rest of a history is another");
  expect(take(scene.admin().read_history("a", 1, 6)).empty(), "there is something behind the end");
  expect(take(scene.admin().read_history("a", 9)).empty(), "there is a history of an unknown execution");
}

void children_are_direct_and_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("z", "root");
  scene.create_child("y", "root");
  scene.create_child("grandchild", "z");
  scene.create_child("x", "root");
  scene.create("other");
  expect_equal(take(scene.admin().list_children("root")), std::vector<std::string>{"z", "y", "x"}, "the children");
  expect_equal(take(scene.admin().list_children("z")), std::vector<std::string>{"grandchild"}, "its children");
  expect_equal(take(scene.admin().list_children("other")), std::vector<std::string>{}, "children of a single one");
  expect_equal(info(scene, "z").parent, std::optional<std::string>("root"), "the parent of a child");
  expect_equal(info(scene, "root").parent, std::optional<std::string>(), "the parent of the root");
}

void a_tree_has_parents_before_children(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("root");
  scene.create_child("b", "root");
  scene.create_child("a", "b");
  scene.create_child("c", "root");
  scene.create("other");
  const InstanceTree tree = take(scene.admin().instance_tree("root"));
  expect_equal(tree.root, std::string("root"), "the root");
  expect_equal(tree.ids.size(), std::size_t{4}, "instances of the tree");
  std::vector<std::string> seen;
  for (const std::string& id : tree.ids) {
    const std::optional<std::string> parent = info(scene, id).parent;
    expect_equal(!parent, seen.empty(), "it has no parent only if it is the first: " + id);
    expect(!parent || std::find(seen.begin(), seen.end(), *parent) != seen.end(), id + " comes before its parent");
    seen.push_back(id);
  }
  const InstanceTree below = take(scene.admin().instance_tree("b"));
  expect_equal(below.root, std::string("b"), "the root of a part");
  expect_equal(below.ids, std::vector<std::string>{"b", "a"}, "the part");
}

}  // namespace

ValidationTests management_tests() {
  return {
      {"management", "instances_are_listed_newest_first", &instances_are_listed_newest_first},
      {"management", "what_has_not_begun_is_not_listed", &what_has_not_begun_is_not_listed},
      {"management", "a_status_is_pending_until_the_first_commit", &a_status_is_pending_until_the_first_commit},
      {"management", "info_says_what_the_commits_said", &info_says_what_the_commits_said},
      {"management", "a_later_start_renames_but_keeps_the_parent", &a_later_start_renames_but_keeps_the_parent},
      {"management", "times_are_real", &times_are_real},
      {"management", "running_again_clears_output_and_completion", &running_again_clears_output_and_completion},
      {"management", "executions_are_listed_in_order", &executions_are_listed_in_order},
      {"management", "execution_info_is_of_one_execution", &execution_info_is_of_one_execution},
      {"management", "histories_are_read_by_execution_and_event", &histories_are_read_by_execution_and_event},
      {"management", "children_are_direct_and_in_order", &children_are_direct_and_in_order},
      {"management", "a_tree_has_parents_before_children", &a_tree_has_parents_before_children},
  };
}

}  // namespace perdure::testing
