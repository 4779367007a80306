// Deleting by a filter: ended roots with their trees, the oldest first.
#include <atomic>
#include <thread>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Ids = std::vector<std::string>;

Ids remaining(Scene& scene, Where where = Where::current()) {
  Ids ids;
  for (const InstanceInfo& entry : take(scene.admin(where).list_instances({}), where).instances) {
    ids.insert(ids.begin(), entry.id);
  }
  return ids;
}

std::uint64_t deleted(Scene& scene, const InstanceFilter& filter, std::size_t limit = kDefaultBulkLimit,
                      Where where = Where::current()) {
  return take(scene.admin(where).delete_matching(filter, limit), where).instances;
}

void create_ended(Scene& scene, const Ids& ids, ExecutionStatus status = ExecutionStatus::kCompleted) {
  for (const std::string& id : ids) {
    scene.create(id);
    scene.end(id, status);
  }
}

void a_filter_chooses_what_is_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"a", "b", "c", "d"});
  InstanceFilter filter;
  filter.ids = Ids{"unknown"};
  expect_equal(deleted(scene, filter), std::uint64_t{0}, "of unknown ids");
  filter.ids = Ids{};
  expect_equal(deleted(scene, filter), std::uint64_t{0}, "of an empty list");
  filter.ids = Ids{"b", "unknown", "d"};
  const DeleteResult expected{.instances = 2, .executions = 2, .events = 4, .messages = 0};
  expect(take(scene.admin().delete_matching(filter)) == expected, "the counts are others");
  expect_equal(remaining(scene), Ids{"a", "c"}, "what is left");
  expect_equal(deleted(scene, {}), std::uint64_t{2}, "without a filter");
  expect_equal(remaining(scene), Ids{}, "what is left");
}

void statuses_and_names_choose_too(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"completed"});
  create_ended(scene, {"failed"}, ExecutionStatus::kFailed);
  create_ended(scene, {"cancelled"}, ExecutionStatus::kCancelled);
  create_ended(scene, {"terminated"}, ExecutionStatus::kTerminated);
  scene.create("other", "Other");
  scene.end("other");
  InstanceFilter filter;
  filter.statuses = {ExecutionStatus::kFailed};
  filter.exact_statuses = true;
  expect_equal(deleted(scene, filter), std::uint64_t{1}, "failed, exactly");
  filter.exact_statuses = false;
  expect_equal(deleted(scene, filter), std::uint64_t{2}, "failed, cancelled and terminated");
  filter = {};
  filter.name = "Other";
  expect_equal(deleted(scene, filter), std::uint64_t{1}, "of a name");
  expect_equal(remaining(scene), Ids{"completed"}, "what is left");
}

void what_runs_is_left_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("running");
  create_ended(scene, {"ended"});
  scene.create("continuing");
  scene.turn("continuing", [](TurnCommit& commit) {
    commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
    commit.messages.push_back(continue_message("continuing"));
  });
  scene.enqueue_start("pending");
  expect_equal(deleted(scene, {}), std::uint64_t{1}, "instances deleted");
  expect_equal(remaining(scene), Ids{"running", "continuing"}, "what is left");
  expect(take(scene.store().read_status("pending")).has_value(), "a start is gone");
  InstanceFilter filter;
  filter.statuses = {ExecutionStatus::kRunning, ExecutionStatus::kContinuedAsNew};
  filter.ids = Ids{"running", "continuing", "pending"};
  expect_equal(deleted(scene, filter), std::uint64_t{0}, "what runs, asked for by name");
}

void a_limit_takes_the_oldest(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"e", "d", "c"});
  scene.create("running");
  create_ended(scene, {"b", "a"});
  expect_equal(deleted(scene, {}, 2), std::uint64_t{2}, "the first two");
  expect_equal(remaining(scene), Ids{"c", "running", "b", "a"}, "what is left");
  expect_equal(deleted(scene, {}, 2), std::uint64_t{2}, "the next two");
  expect_equal(remaining(scene), Ids{"running", "a"}, "what is left");
  expect_equal(deleted(scene, {}, 2), std::uint64_t{1}, "the last one");
  expect_equal(deleted(scene, {}, 2), std::uint64_t{0}, "nothing more");
  expect_equal(remaining(scene), Ids{"running"}, "what is left");
}

void completion_before_a_time_is_exclusive(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"a", "b"});
  const Timestamp early = scene.now();
  scene.advance(Milliseconds{10});
  create_ended(scene, {"c"});
  InstanceFilter filter;
  filter.completed_before = early;
  expect_equal(deleted(scene, filter), std::uint64_t{0}, "before the first end itself");
  filter.completed_before = early + Milliseconds{1};
  filter.ids = Ids{"b", "c"};
  expect_equal(deleted(scene, filter), std::uint64_t{1}, "by time and id");
  expect_equal(remaining(scene), Ids{"a", "c"}, "what is left");
  filter.ids.reset();
  expect_equal(deleted(scene, filter), std::uint64_t{1}, "by time");
  expect_equal(remaining(scene), Ids{"c"}, "what is left");
}

void roots_take_their_trees_along(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"root"});
  scene.create_child("child", "root");
  scene.create_child("grandchild", "child");
  create_ended(scene, {"other"});
  scene.end("child");
  scene.end("grandchild");
  InstanceFilter filter;
  filter.ids = Ids{"child", "grandchild"};
  expect_equal(deleted(scene, filter), std::uint64_t{0}, "children alone");
  // The limit counts roots, and the filter need not match the children.
  filter.ids = Ids{"root"};
  expect_equal(deleted(scene, filter, 1), std::uint64_t{3}, "the tree");
  expect_equal(remaining(scene), Ids{"other"}, "what is left");
}

void a_tree_in_which_something_runs_stays_and_is_no_obstacle(ProviderFactory& factory) {
  Scene scene(factory);
  create_ended(scene, {"root"});
  scene.create_child("child", "root");
  create_ended(scene, {"other"});
  expect_equal(deleted(scene, {}, 1), std::uint64_t{1}, "instances deleted");
  expect_equal(remaining(scene), Ids{"root", "child"}, "what is left");
  expect_equal(deleted(scene, {}), std::uint64_t{0}, "instances deleted");
  scene.end("child");
  expect_equal(deleted(scene, {}), std::uint64_t{2}, "instances deleted");
}

// The list of matching instances is made first. One that is replaced before its deletion no longer matches.
void what_no_longer_matches_stays(ProviderFactory& factory) {
  Scene scene(factory);
  Ids ids;
  for (int i = 0; i < 100; ++i) ids.push_back("i" + std::to_string(i));
  create_ended(scene, ids, ExecutionStatus::kFailed);
  InstanceFilter failed;
  failed.statuses = {ExecutionStatus::kFailed};
  std::atomic<bool> is_deleted = false;
  in_parallel(2, [&](std::size_t thread) {
    if (thread == 0) {
      const ProviderResult<DeleteResult> result = scene.admin().delete_matching(failed);
      is_deleted = true;
      take(result);
      return;
    }
    while (!is_deleted && take(scene.store().read_status(ids.front())).has_value()) std::this_thread::yield();
    take(scene.store().enqueue_start(start_message(ids.back()), StartPolicy::kReplaceIfTerminal));
    TurnCommit commit = scene.first_commit_of(scene.fetch());
    commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"new\""};
    scene.ack(commit);
  });
  expect_equal(remaining(scene), Ids{ids.back()}, "what is left");
  expect_equal(take(scene.admin().instance_info(ids.back())).output, Payload("\"new\""), "its output");
}

}  // namespace

ValidationTests bulk_deletion_tests() {
  return {
      {"bulk_deletion", "a_filter_chooses_what_is_deleted", &a_filter_chooses_what_is_deleted},
      {"bulk_deletion", "statuses_and_names_choose_too", &statuses_and_names_choose_too},
      {"bulk_deletion", "what_runs_is_left_alone", &what_runs_is_left_alone},
      {"bulk_deletion", "a_limit_takes_the_oldest", &a_limit_takes_the_oldest},
      {"bulk_deletion", "completion_before_a_time_is_exclusive", &completion_before_a_time_is_exclusive},
      {"bulk_deletion", "roots_take_their_trees_along", &roots_take_their_trees_along},
      {"bulk_deletion", "a_tree_in_which_something_runs_stays_and_is_no_obstacle",
       &a_tree_in_which_something_runs_stays_and_is_no_obstacle},
      {"bulk_deletion", "what_no_longer_matches_stays", &what_no_longer_matches_stays},
  };
}

}  // namespace perdure::testing
