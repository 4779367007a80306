// The custom status: one value an instance, with a version that grows by one.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

void set_status(Scene& scene, const std::string& instance, std::optional<std::string> value,
                Where where = Where::current()) {
  scene.turn(
      instance, [&](TurnCommit& commit) { commit.custom_status = CustomStatusChange{.value = std::move(value)}; },
      where);
}

std::optional<CustomStatus> read_custom(Scene& scene, const std::string& instance, std::uint64_t last_seen = 0,
                                        Where where = Where::current()) {
  return take(scene.store().read_custom_status(instance, last_seen), where);
}

void expect_status(Scene& scene, const std::string& instance, const std::optional<std::string>& value,
                   std::uint64_t version, Where where = Where::current()) {
  const std::optional<InstanceStatus> status = take(scene.store().read_status(instance), where);
  expect(status.has_value(), "there is no status", where);
  expect_equal(status->custom_status, value, "the custom status in read_status", where);
  expect_equal(status->custom_status_version, version, "its version in read_status", where);
  const std::optional<CustomStatus> custom = read_custom(scene, instance, 0, where);
  expect_equal(custom.has_value(), version > 0, "there is something newer than version 0", where);
  if (custom) {
    expect_equal(custom->value, value, "the custom status", where);
    expect_equal(custom->version, version, "its version", where);
  }
}

void a_new_instance_has_none(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  expect_status(scene, "a", std::nullopt, 0);
}

void the_first_turn_can_set_it(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  TurnCommit commit = scene.first_commit_of(scene.fetch());
  commit.custom_status = CustomStatusChange{.value = "begun"};
  scene.ack(commit);
  expect_status(scene, "a", "begun", 1);
}

void it_can_be_set(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  set_status(scene, "a", "half");
  expect_status(scene, "a", "half", 1);
  expect_status(scene, "b", std::nullopt, 0);
}

void it_can_be_reset(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  set_status(scene, "a", "half");
  set_status(scene, "a", std::nullopt);
  expect_status(scene, "a", std::nullopt, 2);
  set_status(scene, "a", "");
  expect_status(scene, "a", "", 3);
}

void a_turn_without_it_leaves_it(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  set_status(scene, "a", "half");
  scene.turn("a", [](TurnCommit&) {});
  expect_status(scene, "a", "half", 1);
}

void its_version_grows_by_one_with_each_change(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  for (std::uint64_t version = 1; version <= 5; ++version) {
    // A value that stays the same was set all the same.
    set_status(scene, "a", "value " + std::to_string(version / 2));
    expect_status(scene, "a", "value " + std::to_string(version / 2), version);
  }
}

void it_is_read_only_if_it_is_newer(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  set_status(scene, "a", "one");
  set_status(scene, "a", "two");
  expect_equal(read_custom(scene, "a", 1).has_value(), true, "there is something newer than version 1");
  expect_equal(read_custom(scene, "a", 2).has_value(), false, "there is something newer than version 2");
  expect_equal(read_custom(scene, "a", 99).has_value(), false, "there is something newer than version 99");
  set_status(scene, "a", std::nullopt);
  const std::optional<CustomStatus> reset = read_custom(scene, "a", 2);
  expect(reset.has_value(), "the reset is not seen");
  expect_equal(reset->value, std::optional<std::string>(), "the value");
  expect_equal(reset->version, std::uint64_t{3}, "the version");
}

void an_unknown_instance_has_none(ProviderFactory& factory) {
  Scene scene(factory);
  expect(!read_custom(scene, "a").has_value(), "an unknown instance has a custom status");
  scene.enqueue_start("a");
  expect(!read_custom(scene, "a").has_value(), "an instance that has not begun has a custom status");
}

void it_survives_the_end_and_the_next_execution(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  set_status(scene, "a", "half");
  scene.continue_as_new("a");
  expect_status(scene, "a", "half", 1);
  scene.end("a");
  expect_status(scene, "a", "half", 1);
}

void a_commit_that_fails_or_repeats_does_not_change_it(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const OrchestrationItem item = scene.wake("a");
  TurnCommit commit = scene.commit_of(item);
  commit.custom_status = CustomStatusChange{.value = "once"};
  commit.events = {event(item.last_event_id + 2)};
  expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kInvalidArgument);
  expect_status(scene, "a", std::nullopt, 0);
  commit.events = {event(item.last_event_id + 1)};
  scene.ack(commit);
  expect(scene.ack(commit).repeated, "the commit was not recognised");
  expect_status(scene, "a", "once", 1);
}

void it_goes_with_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  set_status(scene, "a", "half");
  take(scene.admin().delete_instance("a", true));
  expect(!read_custom(scene, "a").has_value(), "a deleted instance has a custom status");
  scene.create("a");
  expect_status(scene, "a", std::nullopt, 0);
}

}  // namespace

ValidationTests custom_status_tests() {
  return {
      {"custom_status", "a_new_instance_has_none", &a_new_instance_has_none},
      {"custom_status", "the_first_turn_can_set_it", &the_first_turn_can_set_it},
      {"custom_status", "it_can_be_set", &it_can_be_set},
      {"custom_status", "it_can_be_reset", &it_can_be_reset},
      {"custom_status", "a_turn_without_it_leaves_it", &a_turn_without_it_leaves_it},
      {"custom_status", "its_version_grows_by_one_with_each_change", &its_version_grows_by_one_with_each_change},
      {"custom_status", "it_is_read_only_if_it_is_newer", &it_is_read_only_if_it_is_newer},
      {"custom_status", "an_unknown_instance_has_none", &an_unknown_instance_has_none},
      {"custom_status", "it_survives_the_end_and_the_next_execution", &it_survives_the_end_and_the_next_execution},
      {"custom_status", "a_commit_that_fails_or_repeats_does_not_change_it",
       &a_commit_that_fails_or_repeats_does_not_change_it},
      {"custom_status", "it_goes_with_the_instance", &it_goes_with_the_instance},
  };
}

}  // namespace perdure::testing
