// Key-values: what clients read, who shares them, and what becomes of them.
#include <vector>

#include "testing/validation/key_value_moves.h"
#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

std::optional<std::string> read_one(Scene& scene, const std::string& instance, const std::string& key,
                                    Where where = Where::current()) {
  return take(scene.store().read_key_value(instance, key), where);
}

void a_value_can_be_set_and_read(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "v")});
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>("v"), "the value");
  write(scene, "a", {set("l", "w")});
  expect(read(scene, "a") == Values{{"k", "v"}, {"l", "w"}}, "the values are others");
}

void the_first_turn_can_set_values(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  TurnCommit commit = scene.first_commit_of(scene.fetch());
  commit.key_values = {set("k", "v")};
  scene.ack(commit);
  expect(read(scene, "a") == Values{{"k", "v"}}, "the values are others");
}

void a_value_can_be_overwritten(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1")});
  write(scene, "a", {set("k", "2"), set("k", "3")});
  expect(read(scene, "a") == Values{{"k", "3"}}, "the values are others");
}

void the_time_of_a_value_is_the_turns(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const Timestamp at{Milliseconds{42}};
  scene.turn(
      "a", [&](TurnCommit& commit) { commit.key_values = {SetKeyValue{.key = "k", .value = "v", .updated_at = at}}; });
  const std::vector<KeyValue> values = take(scene.store().read_key_values("a"));
  expect(values == std::vector<KeyValue>{{.key = "k", .value = "v", .updated_at = at}}, "the values are others");
  scene.continue_as_new("a");
  const OrchestrationItem item = scene.wake("a");
  expect(item.history->key_values == values, "the snapshot has other values or times");
}

void a_value_can_be_cleared(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "v"), set("l", "w")});
  write(scene, "a", {clear("k")});
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(), "the value that was cleared");
  expect(read(scene, "a") == Values{{"l", "w"}}, "the values are others");
}

void all_values_can_be_cleared(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "v"), set("l", "w")});
  write(scene, "a", {clear_all()});
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(), "a value that was cleared");
  expect(read(scene, "a").empty(), "there are values");
  write(scene, "a", {set("k", "again")});
  expect(read(scene, "a") == Values{{"k", "again"}}, "the values are others");
}

void unknown_keys_and_instances_have_no_value(ProviderFactory& factory) {
  Scene scene(factory);
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(), "the value of an unknown instance");
  expect(read(scene, "a").empty(), "an unknown instance has values");
  scene.create("a");
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(), "the value of an unknown key");
  expect(read(scene, "a").empty(), "a new instance has values");
}

void clearing_an_unknown_key_does_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {clear("k"), clear_all()});
  expect(read(scene, "a").empty(), "there are values");
  write(scene, "a", {set("l", "w"), clear("k")});
  expect(read(scene, "a") == Values{{"l", "w"}}, "the values are others");
}

void mutations_apply_in_their_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("old", "1")});
  write(scene, "a", {set("gone", "1"), clear_all(), set("k", "v"), set("l", "w"), clear("l")});
  expect(read(scene, "a") == Values{{"k", "v"}}, "the values are others");
  write(scene, "a", {clear("k"), set("k", "again")});
  expect(read(scene, "a") == Values{{"k", "again"}}, "the values are others");
}

void an_empty_value_is_a_value(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", ""), set("", "of the empty key")});
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(""), "the empty value");
  scene.continue_as_new("a");
  expect(read(scene, "a") == Values{{"k", ""}, {"", "of the empty key"}}, "the values are others");
  expect(read_snapshot(scene, "a") == Values{{"k", ""}, {"", "of the empty key"}}, "the snapshot is another");
}

void a_large_value_is_kept(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  std::string large(std::size_t{1} << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 251) large[i] = static_cast<char>(i);
  write(scene, "a", {set("k", large)});
  expect(read_one(scene, "a", "k") == large, "the large value is another");
}

void any_key_can_be_used(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const Values values{{"with space", "1"},
                      {"a/b:c.d", "2"},
                      {"'; DROP TABLE x; --", "3"},
                      {"%_\\\"", "4"},
                      {"\xC3\xA4\xE2\x82\xAC", "5"},
                      {std::string("nul\0!", 5), "6"},
                      {std::string("nul\0?", 5), "7"},
                      {"Case", "8"},
                      {"case", "9"}};
  std::vector<KeyValueMutation> mutations;
  for (const auto& [key, value] : values) mutations.push_back(set(key, value));
  write(scene, "a", mutations);
  expect(read(scene, "a") == values, "the values are others");
  write(scene, "a", {clear("%_\\\""), clear(std::string("nul\0!", 5)), clear("CASE")});
  expect_equal(read(scene, "a").size(), values.size() - 2, "values that are left");
}

void instances_do_not_share_values(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  write(scene, "a", {set("k", "of a")});
  write(scene, "b", {set("k", "of b"), set("l", "of b")});
  expect(read(scene, "a") == Values{{"k", "of a"}}, "the values of a are others");
  expect(read(scene, "b") == Values{{"k", "of b"}, {"l", "of b"}}, "the values of b are others");
}

void clearing_touches_one_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  write(scene, "a", {set("k", "of a")});
  write(scene, "b", {set("k", "of b")});
  scene.continue_as_new("a");
  scene.continue_as_new("b");
  write(scene, "a", {clear_all()});
  scene.end("a");
  expect(read(scene, "a").empty(), "a has values");
  expect(read(scene, "b") == Values{{"k", "of b"}}, "the values of b are others");
}

void a_commit_that_fails_writes_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  TurnCommit commit = scene.commit_of(item);
  commit.key_values = {set("k", "v")};
  commit.events = {event(item.last_event_id + 2)};
  expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kInvalidArgument);
  expect(read(scene, "a").empty(), "a commit that failed wrote values");
  commit.events.clear();
  scene.ack(commit);
  write(scene, "a", {set("k", "later")});
  // Only the last commit is remembered, so this one is no repetition but a lost lock.
  expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kLockLost);
  expect(read(scene, "a") == Values{{"k", "later"}}, "the values are others");
}

void an_execution_overwrites_what_an_earlier_one_left(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1"), set("l", "1")});
  scene.continue_as_new("a");
  write(scene, "a", {set("k", "2")});
  expect(read(scene, "a") == Values{{"k", "2"}, {"l", "1"}}, "the values are others");
  scene.continue_as_new("a");
  expect(read(scene, "a") == Values{{"k", "2"}, {"l", "1"}}, "the values are others");
}

void an_execution_removes_and_adds_again(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1")});
  scene.continue_as_new("a");
  write(scene, "a", {clear("k")});
  expect(read(scene, "a").empty(), "there are values");
  scene.continue_as_new("a");
  expect(read(scene, "a").empty(), "there are values");
  expect(read_snapshot(scene, "a").empty(), "there are values in the snapshot");
  write(scene, "a", {set("k", "3")});
  expect(read(scene, "a") == Values{{"k", "3"}}, "the values are others");
}

// ---- Pruning and deleting ----

void pruning_keeps_every_value(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("first", "1"), set("k", "1")});
  scene.continue_as_new("a");
  write(scene, "a", {set("second", "2"), set("k", "2")});
  scene.continue_as_new("a");
  write(scene, "a", {set("third", "3")});
  const Values before = read(scene, "a");
  expect(before == Values{{"first", "1"}, {"second", "2"}, {"third", "3"}, {"k", "2"}}, "the values are others");
  expect_equal(take(scene.admin().prune_executions("a", {})).executions, std::uint64_t{2}, "executions pruned");
  expect(read(scene, "a") == before, "pruning changed the values");
  expect(read_snapshot(scene, "a") == Values{{"first", "1"}, {"second", "2"}, {"k", "2"}}, "the snapshot is another");
  scene.end("a");
  expect(read(scene, "a") == before, "the end changed the values");
}

void deleting_removes_the_values(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  write(scene, "a", {set("k", "1")});
  scene.continue_as_new("a");
  write(scene, "a", {set("l", "2")});
  take(scene.admin().delete_instance("a", true));
  expect(read(scene, "a").empty(), "a deleted instance has values");
  expect_equal(read_one(scene, "a", "k"), std::optional<std::string>(), "the value of a deleted instance");
  scene.create("a");
  expect(read(scene, "a").empty(), "the instance anew has old values");
  expect(read_snapshot(scene, "a").empty(), "the instance anew has an old snapshot");
}

void deleting_a_tree_removes_the_values_of_children(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create_child("b", "a");
  scene.create("c");
  for (const std::string id : {"a", "b", "c"}) write(scene, id, {set("k", "of " + id)});
  take(scene.admin().delete_instance("a", true));
  expect(read(scene, "a").empty(), "the root has values");
  expect(read(scene, "b").empty(), "the child has values");
  expect(read(scene, "c") == Values{{"k", "of c"}}, "the values of another instance are others");
}

}  // namespace

ValidationTests key_value_tests() {
  return {
      {"key_value", "a_value_can_be_set_and_read", &a_value_can_be_set_and_read},
      {"key_value", "the_first_turn_can_set_values", &the_first_turn_can_set_values},
      {"key_value", "a_value_can_be_overwritten", &a_value_can_be_overwritten},
      {"key_value", "the_time_of_a_value_is_the_turns", &the_time_of_a_value_is_the_turns},
      {"key_value", "a_value_can_be_cleared", &a_value_can_be_cleared},
      {"key_value", "all_values_can_be_cleared", &all_values_can_be_cleared},
      {"key_value", "unknown_keys_and_instances_have_no_value", &unknown_keys_and_instances_have_no_value},
      {"key_value", "clearing_an_unknown_key_does_nothing", &clearing_an_unknown_key_does_nothing},
      {"key_value", "mutations_apply_in_their_order", &mutations_apply_in_their_order},
      {"key_value", "an_empty_value_is_a_value", &an_empty_value_is_a_value},
      {"key_value", "a_large_value_is_kept", &a_large_value_is_kept},
      {"key_value", "any_key_can_be_used", &any_key_can_be_used},
      {"key_value", "instances_do_not_share_values", &instances_do_not_share_values},
      {"key_value", "clearing_touches_one_instance", &clearing_touches_one_instance},
      {"key_value", "a_commit_that_fails_writes_nothing", &a_commit_that_fails_writes_nothing},
      {"key_value", "an_execution_overwrites_what_an_earlier_one_left",
       &an_execution_overwrites_what_an_earlier_one_left},
      {"key_value", "an_execution_removes_and_adds_again", &an_execution_removes_and_adds_again},
      {"key_value", "pruning_keeps_every_value", &pruning_keeps_every_value},
      {"key_value", "deleting_removes_the_values", &deleting_removes_the_values},
      {"key_value", "deleting_a_tree_removes_the_values_of_children", &deleting_a_tree_removes_the_values_of_children},
  };
}

}  // namespace perdure::testing
