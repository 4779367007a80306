// Key-values: what a turn begins with is what past executions left; what the current one wrote lies over it.
#include <vector>

#include "testing/validation/key_value_moves.h"
#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

// The instance with these values left by its first execution; the second runs.
void create_with_past_values(Scene& scene, const std::string& instance, const std::vector<KeyValueMutation>& values) {
  scene.create(instance);
  write(scene, instance, values);
  scene.continue_as_new(instance);
}

void a_new_instance_has_an_empty_snapshot(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  const OrchestrationItem item = scene.fetch();
  expect(item.history.has_value() && item.history->key_values.empty(), "there is a snapshot before the first turn");
  scene.ack(scene.first_commit_of(item));
  expect(read_snapshot(scene, "a").empty(), "there is a snapshot before anything was written");
}

void the_snapshot_has_what_past_executions_left(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("l", "2"), set("k", "1")});
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}, {"l", "2"}}, "the snapshot is another");
  scene.continue_as_new("a");
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}, {"l", "2"}}, "the next execution's snapshot is another");
}

void the_snapshot_has_nothing_of_the_current_execution(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1")});
  expect(read_snapshot(scene, "a").empty(), "the first execution sees its own writes");
  scene.continue_as_new("a");
  write(scene, "a", {set("k", "2"), set("new", "2")});
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}}, "the second execution sees its own writes");
  write(scene, "a", {clear("k")});
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}}, "the second execution sees its own clear");
  write(scene, "a", {clear_all()});
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}}, "the second execution sees its own clear-all");
}

void the_snapshot_comes_with_the_whole_history_only(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("k", "1")});
  scene.enqueue(event_message("a", "wake"));
  OrchestrationFetch bare;
  bare.with_history = false;
  const OrchestrationItem item = scene.fetch(bare);
  expect(!item.history.has_value(), "the fetch brought a history that nobody asked for");
  expect_equal(take(scene.store().read_history(item.token, 0)).key_values.size(), std::size_t{1},
               "values with the whole history");
  expect_equal(take(scene.store().read_history(item.token, 1)).key_values.size(), std::size_t{0},
               "values with the rest of a history");
}

void clients_read_the_current_writes_over_the_past(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("kept", "1"), set("k", "1")});
  write(scene, "a", {set("k", "2"), set("new", "2")});
  expect(read(scene, "a") == Values{{"kept", "1"}, {"k", "2"}, {"new", "2"}}, "the values are others");
}

void a_clear_hides_a_past_value(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("kept", "1"), set("k", "1")});
  write(scene, "a", {clear("k")});
  expect_equal(take(scene.store().read_key_value("a", "k")), std::optional<std::string>(), "the cleared value");
  expect(read(scene, "a") == Values{{"kept", "1"}}, "the values are others");
  write(scene, "a", {set("k", "2")});
  expect(read(scene, "a") == Values{{"kept", "1"}, {"k", "2"}}, "the values are others");
}

void clear_all_hides_every_past_value(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("k", "1"), set("l", "1")});
  write(scene, "a", {set("new", "2"), set("k", "2"), clear_all()});
  expect(read(scene, "a").empty(), "there are values");
  for (const std::string key : {"k", "l", "new"}) {
    expect_equal(take(scene.store().read_key_value("a", key)), std::optional<std::string>(), "the value of " + key);
  }
  write(scene, "a", {set("l", "3")});
  expect(read(scene, "a") == Values{{"l", "3"}}, "the values are others");
}

void clear_all_hides_only_what_was_there(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("k", "1")});
  write(scene, "a", {clear_all(), set("new", "2")});
  scene.continue_as_new("a");
  expect(read(scene, "a") == Values{{"new", "2"}}, "the values are others");
  expect(read_snapshot(scene, "a") == Values{{"new", "2"}}, "the snapshot is another");
}

// Every status but running ends an execution, and the end keeps what it wrote.
void the_end_merges(ProviderFactory& factory) {
  Scene scene(factory);
  int count = 0;
  for (const ExecutionStatus status : {ExecutionStatus::kCompleted, ExecutionStatus::kFailed,
                                       ExecutionStatus::kCancelled, ExecutionStatus::kTerminated}) {
    const std::string id = "a" + std::to_string(++count);
    create_with_past_values(scene, id, {set("kept", "1"), set("k", "1"), set("gone", "1")});
    write(scene, id, {set("k", "2"), clear("gone")});
    scene.turn(id, [&](TurnCommit& commit) {
      commit.key_values = {set("last", "3")};
      commit.status = StatusChange{.status = status, .output = {}};
    });
    const Values expected{{"kept", "1"}, {"k", "2"}, {"last", "3"}};
    expect(read(scene, id) == expected, "the values are others after " + std::string(to_string(status)));
    expect(read_snapshot(scene, id) == expected, "the snapshot is another after " + std::string(to_string(status)));
  }
}

void continuing_as_new_merges(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("kept", "1"), set("k", "1"), set("gone", "1")});
  write(scene, "a", {set("k", "2"), clear("gone")});
  const Values expected{{"kept", "1"}, {"k", "2"}};
  scene.turn("a", [&](TurnCommit& commit) {
    commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
    commit.messages.push_back(continue_message("a"));
  });
  const OrchestrationItem next = scene.fetch();
  expect_equal(next.history->key_values.size(), expected.size(), "values that the next execution begins with");
  TurnCommit first = scene.first_commit_of(next);
  first.execution_id = next.execution_id + 1;
  scene.ack(first);
  expect(read(scene, "a") == expected, "the values are others");
  expect(read_snapshot(scene, "a") == expected, "the snapshot is another");
}

// A snapshot is what the next turn begins with. Between two executions that is what the next one begins with.
void operators_see_the_snapshot_of_the_next_turn(ProviderFactory& factory) {
  Scene scene(factory);
  const auto seen = [&scene] { return take(scene.admin().read_key_value_snapshot("a")); };
  const auto entry = [](const std::string& key, const std::string& value) {
    return KeyValue{.key = key, .value = value, .updated_at = written_at()};
  };
  expect(seen().empty(), "an unknown instance has a snapshot");
  scene.enqueue_start("a");
  expect(seen().empty(), "a start that is queued has a snapshot");
  scene.ack(scene.first_commit_of(scene.fetch()));
  write(scene, "a", {set("l", "1"), set("k", "1")});
  expect(seen().empty(), "the first execution sees its own writes");

  scene.turn("a", [&](TurnCommit& commit) {
    commit.key_values = {set("k", "2")};
    commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
    commit.messages.push_back(continue_message("a"));
  });
  const std::vector<KeyValue> left{entry("k", "2"), entry("l", "1")};
  expect(seen() == left, "the snapshot for the continuation is another");
  const OrchestrationItem next = scene.fetch();
  expect(next.history->key_values == left, "the continuation is given another snapshot");
  TurnCommit first = scene.first_commit_of(next);
  first.execution_id = next.execution_id + 1;
  first.key_values = {clear_all(), set("k", "3")};
  scene.ack(first);
  expect(seen() == left, "the second execution sees its own writes");

  scene.end("a");
  expect(seen() == std::vector<KeyValue>{entry("k", "3")}, "the snapshot after the end is another");
  take(scene.admin().delete_instance("a", false));
  expect(seen().empty(), "an instance that was deleted has a snapshot");
}

void after_the_merge_nothing_lies_over_the_store(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("k", "1")});
  write(scene, "a", {clear("k")});
  scene.continue_as_new("a");
  scene.continue_as_new("a");
  expect(read_snapshot(scene, "a").empty(), "a value that was cleared came back");
  write(scene, "a", {set("k", "2")});
  scene.continue_as_new("a");
  expect(read(scene, "a") == Values{{"k", "2"}}, "a clear of the past hides a new value");
  expect(read_snapshot(scene, "a") == Values{{"k", "2"}}, "the snapshot is another");
}

// kRunning is a status, but it ends nothing.
void a_status_that_ends_nothing_does_not_merge(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.turn("a", [](TurnCommit& commit) {
    commit.key_values = {set("k", "1")};
    commit.status = StatusChange{.status = ExecutionStatus::kRunning, .output = {}};
  });
  expect(read(scene, "a") == Values{{"k", "1"}}, "the values are others");
  expect(read_snapshot(scene, "a").empty(), "the execution sees its own writes");
}

void deleting_removes_what_the_current_execution_wrote(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1"), clear("l")});
  take(scene.admin().delete_instance("a", true));
  create_with_past_values(scene, "a", {set("l", "2")});
  expect(read(scene, "a") == Values{{"l", "2"}}, "the values are others");
}

void pruning_keeps_values_that_nobody_touched_since(ProviderFactory& factory) {
  Scene scene(factory);
  create_with_past_values(scene, "a", {set("k", "1")});
  scene.continue_as_new("a");
  scene.continue_as_new("a");
  expect_equal(take(scene.admin().prune_executions("a", {})).executions, std::uint64_t{3}, "executions pruned");
  expect(read(scene, "a") == Values{{"k", "1"}}, "the values are others");
  expect(read_snapshot(scene, "a") == Values{{"k", "1"}}, "the snapshot is another");
}

}  // namespace

ValidationTests key_value_delta_tests() {
  return {
      {"key_value_delta", "a_new_instance_has_an_empty_snapshot", &a_new_instance_has_an_empty_snapshot},
      {"key_value_delta", "the_snapshot_has_what_past_executions_left", &the_snapshot_has_what_past_executions_left},
      {"key_value_delta", "the_snapshot_has_nothing_of_the_current_execution",
       &the_snapshot_has_nothing_of_the_current_execution},
      {"key_value_delta", "the_snapshot_comes_with_the_whole_history_only",
       &the_snapshot_comes_with_the_whole_history_only},
      {"key_value_delta", "clients_read_the_current_writes_over_the_past",
       &clients_read_the_current_writes_over_the_past},
      {"key_value_delta", "a_clear_hides_a_past_value", &a_clear_hides_a_past_value},
      {"key_value_delta", "clear_all_hides_every_past_value", &clear_all_hides_every_past_value},
      {"key_value_delta", "clear_all_hides_only_what_was_there", &clear_all_hides_only_what_was_there},
      {"key_value_delta", "the_end_merges", &the_end_merges},
      {"key_value_delta", "continuing_as_new_merges", &continuing_as_new_merges},
      {"key_value_delta", "operators_see_the_snapshot_of_the_next_turn", &operators_see_the_snapshot_of_the_next_turn},
      {"key_value_delta", "after_the_merge_nothing_lies_over_the_store", &after_the_merge_nothing_lies_over_the_store},
      {"key_value_delta", "a_status_that_ends_nothing_does_not_merge", &a_status_that_ends_nothing_does_not_merge},
      {"key_value_delta", "deleting_removes_what_the_current_execution_wrote",
       &deleting_removes_what_the_current_execution_wrote},
      {"key_value_delta", "pruning_keeps_values_that_nobody_touched_since",
       &pruning_keeps_values_that_nobody_touched_since},
  };
}

}  // namespace perdure::testing
