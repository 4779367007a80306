// What a node can run, and what it is therefore given: pins of executions, names of orchestrations and activities.
#include <atomic>
#include <limits>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Ids = std::vector<std::string>;

SemanticVersion v(std::string_view text) {
  return SemanticVersion::of(text);
}

// An instance with this pin and a message.
void make_ready(Scene& scene, const std::string& instance, std::optional<SemanticVersion> pin) {
  create_pinned(scene, instance, pin);
  const OrchestrationItem item = scene.wake(instance);
  abandon(scene, item.token, Milliseconds{0}, true);
}

// Pins the current execution anew with a commit that does nothing else.
void pin_again(Scene& scene, const std::string& instance, std::optional<SemanticVersion> pin) {
  TurnCommit commit = scene.commit_of(scene.wake(instance));
  commit.started =
      StartedMetadata{.name = "Flow", .version = {}, .parent = {}, .pinned_version = pin, .carry_forward = 0};
  scene.ack(commit);
}

void an_empty_filter_admits_everything(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", v("1.2.3"));
  OrchestrationFetch options;
  options.filter = CapabilityFilter{};
  const OrchestrationItem item = scene.fetch(options);
  expect(item.metadata->pinned_version == v("1.2.3"), "the pin");
}

void a_range_that_contains_the_pin_admits_it(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", v("1.2.3"));
  expect_equal(scene.fetch(pinned_within("1.0.0", "1.9.9")).instance, "order", "the instance");
}

void a_range_without_the_pin_refuses_it(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", v("1.2.3"));
  scene.fetch_nothing(pinned_within("2.0.0", "2.9.9"));
  scene.fetch_nothing(pinned_within("0.0.0", "1.2.2"));
  scene.fetch_nothing(pinned_within("1.2.4", "99.0.0"));
}

void what_is_refused_does_not_stand_in_the_way(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "a", v("1.0.0"));
  create_pinned(scene, "b", v("2.0.0"));
  scene.enqueue(event_message("a", "x"));
  scene.enqueue(event_message("b", "x"));
  expect_equal(instances_of(fetch_instances(scene, 10, pinned_within("2.0.0", "2.9.9"))), Ids{"b"}, "of version 2");
  expect_equal(instances_of(fetch_instances(scene, 10, pinned_within("1.0.0", "1.9.9"))), Ids{"a"}, "of version 1");
}

void many_refused_instances_do_not_hide_one_that_fits(ProviderFactory& factory) {
  Scene scene(factory);
  for (int i = 0; i < 200; ++i) create_pinned(scene, "old" + std::to_string(i), v("1.0.0"));
  create_pinned(scene, "new", v("2.0.0"));
  for (int i = 0; i < 200; ++i) scene.enqueue(event_message("old" + std::to_string(i), "x"));
  scene.enqueue(event_message("new", "x"));
  expect_equal(scene.fetch(pinned_within("2.0.0", "2.0.0")).instance, "new", "the instance");
}

void what_is_refused_is_neither_locked_nor_counted(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", v("1.0.0"));
  for (int i = 0; i < 3; ++i) scene.fetch_nothing(pinned_within("2.0.0", "2.9.9"));
  const OrchestrationItem item = scene.fetch(pinned_within("1.0.0", "1.9.9"));
  expect_equal(item.attempt_count, 1U, "the attempts");
}

void an_execution_without_a_pin_fits_every_range(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", std::nullopt);
  const OrchestrationItem item = scene.fetch(pinned_within("7.0.0", "7.0.0"));
  expect(!item.metadata->pinned_version.has_value(), "a pin from nowhere");
}

void an_instance_before_its_first_commit_fits_every_range(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  scene.fetch(pinned_within("7.0.0", "7.0.0"));
}

void both_ends_belong_to_a_range(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* version : {"0.99.99", "1.0.0", "1.9.99", "1.9.100", "2.0.0"}) {
    create_pinned(scene, version, v(version));
  }
  for (const char* version : {"0.99.99", "1.0.0", "1.9.99", "1.9.100", "2.0.0"}) {
    scene.enqueue(event_message(version, "x"));
  }
  expect_equal(instances_of(fetch_instances(scene, 10, pinned_within("1.0.0", "1.9.99"))), Ids{"1.0.0", "1.9.99"},
               "the instances");
}

void versions_are_compared_part_by_part(ProviderFactory& factory) {
  Scene scene(factory);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  make_ready(scene, "minor", SemanticVersion{1, 1'000, 0});
  scene.fetch_nothing(pinned_within("2.0.0", "2.0.0"));
  scene.fetch(pinned_within("1.999.999999", "1.1000.0"));
  make_ready(scene, "most", SemanticVersion{kMost, kMost, kMost});
  scene.fetch_nothing(pinned_within("0.0.0", "4294967295.4294967295.4294967294"));
  OrchestrationFetch options;
  options.filter.engine_versions = {{SemanticVersion{kMost, kMost, kMost}, SemanticVersion{kMost, kMost, kMost}}};
  const OrchestrationItem item = scene.fetch(options);
  expect(item.metadata->pinned_version == SemanticVersion{kMost, kMost, kMost}, "the largest pin was not kept");
}

void any_of_several_ranges_admits(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* version : {"1.0.0", "2.0.0", "3.0.0"}) create_pinned(scene, version, v(version));
  for (const char* version : {"1.0.0", "2.0.0", "3.0.0"}) scene.enqueue(event_message(version, "x"));
  OrchestrationFetch options;
  options.filter.engine_versions = {{v("1.0.0"), v("1.5.0")}, {v("9.0.0"), v("9.0.0")}, {v("3.0.0"), v("3.5.0")}};
  expect_equal(instances_of(fetch_instances(scene, 10, options)), Ids{"1.0.0", "3.0.0"}, "the instances");
  scene.fetch_nothing(options);
}

void the_pin_comes_from_the_commit_not_from_events(ProviderFactory& factory) {
  Scene scene(factory);
  // The events say engine_version(), the metadata something else.
  make_ready(scene, "order", v("77.0.1"));
  scene.fetch_nothing(pinned_within("0.0.0", "77.0.0"));
  scene.fetch(pinned_within("77.0.1", "77.0.1"));
  expect(take(scene.admin().execution_info("order", 1)).pinned_version == v("77.0.1"), "the stored pin");
}

void a_pin_stays_while_commits_do_not_speak_of_it(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  scene.ack(scene.commit_of(scene.wake("order")));
  pin_again(scene, "order", std::nullopt);
  pin_again(scene, "order", v("1.0.0"));
  scene.enqueue(event_message("order", "x"));
  scene.fetch_nothing(pinned_within("2.0.0", "2.0.0"));
  expect(scene.fetch(pinned_within("1.0.0", "1.9.9")).metadata->pinned_version == v("1.0.0"), "the pin");
}

void a_pin_can_be_added_later(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", std::nullopt);
  pin_again(scene, "order", v("1.2.3"));
  scene.enqueue(event_message("order", "x"));
  scene.fetch_nothing(pinned_within("2.0.0", "2.0.0"));
  scene.fetch(pinned_within("1.2.3", "1.2.3"));
}

void a_pin_is_replaced_when_a_commit_says_so(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  pin_again(scene, "order", v("2.0.0"));
  scene.enqueue(event_message("order", "x"));
  scene.fetch_nothing(pinned_within("1.0.0", "1.0.0"));
  scene.fetch(pinned_within("2.0.0", "2.0.0"));
}

// Continues "order" as new, and commits the first turn of the next execution with this pin.
void continue_with_pin(Scene& scene, std::optional<SemanticVersion> pin) {
  TurnCommit last = scene.commit_of(scene.wake("order"));
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
  last.messages = {continue_message("order")};
  scene.ack(last);
  const OrchestrationItem next = scene.fetch();
  TurnCommit first = scene.first_commit_of(next);
  first.execution_id = next.execution_id + 1;
  first.started->pinned_version = pin;
  scene.ack(first);
}

void each_execution_has_its_own_pin(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  continue_with_pin(scene, v("2.0.0"));
  scene.enqueue(event_message("order", "x"));
  scene.fetch_nothing(pinned_within("1.0.0", "1.9.9"));
  scene.fetch(pinned_within("2.0.0", "2.9.9"));
  expect(take(scene.admin().execution_info("order", 1)).pinned_version == v("1.0.0"), "the pin of the first");
  expect(take(scene.admin().execution_info("order", 2)).pinned_version == v("2.0.0"), "the pin of the second");
}

void a_pin_is_not_inherited(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  continue_with_pin(scene, std::nullopt);
  scene.enqueue(event_message("order", "x"));
  expect(!scene.fetch(pinned_within("5.0.0", "5.0.0")).metadata->pinned_version.has_value(), "a pin was inherited");
}

void a_continuation_is_filtered_by_the_execution_that_ends(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  TurnCommit last = scene.commit_of(scene.wake("order"));
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
  last.messages = {continue_message("order")};
  scene.ack(last);
  scene.fetch_nothing(pinned_within("2.0.0", "2.0.0"));
  scene.fetch(pinned_within("1.0.0", "1.0.0"));
}

void a_child_has_its_own_pin(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "parent", v("1.0.0"));
  scene.enqueue_start("child");
  TurnCommit commit = scene.first_commit_of(scene.fetch());
  commit.started->parent = link_to("parent");
  commit.started->pinned_version = v("2.0.0");
  scene.ack(commit);
  scene.enqueue(event_message("child", "x"));
  scene.fetch_nothing(pinned_within("1.0.0", "1.0.0"));
  expect_equal(scene.fetch(pinned_within("2.0.0", "2.0.0")).instance, "child", "the instance");
}

void concurrent_filtered_fetches_lock_once(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "a", v("1.0.0"));
  create_pinned(scene, "b", v("2.0.0"));
  scene.enqueue(event_message("a", "x"));
  scene.enqueue(event_message("b", "x"));
  std::atomic<int> fetched = 0;
  in_parallel(8, [&](std::size_t) {
    const auto item = take(scene.store().fetch_orchestration_item(pinned_within("1.0.0", "1.0.0")));
    if (!item) return;
    expect_equal(item->instance, "a", "the instance");
    ++fetched;
  });
  expect_equal(fetched.load(), 1, "the fetches that got it");
}

// ---- Names ----

OrchestrationFetch named(std::vector<std::string> names) {
  OrchestrationFetch options;
  options.filter.orchestrations = std::move(names);
  return options;
}

void instances_are_filtered_by_name(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* name : {"A", "B", "C"}) scene.create(std::string("is") + name, name);
  for (const char* name : {"A", "B", "C"}) scene.enqueue(event_message(std::string("is") + name, "x"));
  scene.fetch_nothing(named({"D", "a", ""}));
  expect_equal(instances_of(fetch_instances(scene, 10, named({"C", "A"}))), Ids{"isA", "isC"}, "the instances");
  expect_equal(scene.fetch(named({"B"})).attempt_count, 1U, "the attempts of the one that was refused");
}

void before_the_first_commit_the_start_has_the_name(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order", "Requested");
  scene.fetch_nothing(named({"Resolved"}));
  const OrchestrationItem item = scene.fetch(named({"Requested"}));
  scene.ack(scene.first_commit_of(item, "Resolved"));
  scene.enqueue(start_message("order", "Requested"));
  scene.fetch_nothing(named({"Requested"}));
  scene.fetch(named({"Resolved"}));
}

void all_parts_of_a_filter_must_fit(ProviderFactory& factory) {
  Scene scene(factory);
  make_ready(scene, "order", v("1.0.0"));
  OrchestrationFetch options = pinned_within("1.0.0", "1.0.0");
  options.filter.orchestrations = {"Other"};
  scene.fetch_nothing(options);
  options = pinned_within("2.0.0", "2.0.0");
  options.filter.orchestrations = {"Flow"};
  scene.fetch_nothing(options);
  options = pinned_within("1.0.0", "1.0.0");
  options.filter.orchestrations = {"Flow"};
  options.filter.activities = {"Nothing of the kind"};
  scene.fetch(options);
}

void activities_are_filtered_by_name(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  scene.enqueue_activity(activity("order", 2, "A"));
  scene.enqueue_activity(activity("order", 3, "B"));
  scene.enqueue_activity(activity("order", 4, "A"));
  WorkFetch options;
  options.filter.activities = {"C"};
  scene.fetch_no_work(options);
  // The rest of the filter speaks of orchestrations.
  options.filter.activities = {"B", "C"};
  options.filter.orchestrations = {"Other"};
  options.filter.engine_versions = {{v("9.0.0"), v("9.0.0")}};
  const std::vector<WorkItem> work = fetch_activities(scene, 10, options);
  expect_equal(activity_ids_of(work), std::vector<EventId>{3}, "the activities");
  options.filter.activities.clear();
  const std::vector<WorkItem> rest = fetch_activities(scene, 10, options);
  expect_equal(activity_ids_of(rest), std::vector<EventId>{2, 4}, "the rest");
  expect_equal(rest.front().attempt_count, 1U, "the attempts of one that was refused");
}

void the_start_that_comes_first_names_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord later = start_message("a", "Later");
  later.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(later);
  scene.enqueue(start_message("a", "Sooner"));
  expect_equal(take(scene.store().read_status("a"))->name, std::string("Sooner"), "the name of what is queued");
  OrchestrationFetch options;
  options.filter.orchestrations = {"Later"};
  scene.fetch_nothing(options);
  options.filter.orchestrations = {"Sooner"};
  scene.ack(scene.commit_of(scene.fetch(options)));
  expect_equal(take(scene.store().read_status("a"))->name, std::string("Later"), "the name of what is left");
}

// Its messages need no code: a start that meets it is refused, and everything else is discarded.
void an_ended_instance_passes_every_filter(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  scene.end("order");
  scene.enqueue(start_message("order", "Other"));
  OrchestrationFetch options = pinned_within("2.0.0", "2.9.9");
  options.filter.orchestrations = {"Elsewhere"};
  expect_equal(scene.fetch(options).instance, "order", "the instance");
}

// Any node can refuse the start of a child whose id is taken, so that no parent waits for the code of the instance.
void a_running_instance_with_a_child_start_passes_every_filter(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  OrchestrationFetch options = pinned_within("2.0.0", "2.9.9");
  options.filter.orchestrations = {"Elsewhere"};
  scene.enqueue(event_message("order", "x"));
  scene.enqueue(start_message("order"));  // without a parent: nobody waits for a refusal
  scene.enqueue(child_start_message("new", "parent"));
  MessageRecord later = child_start_message("order", "later parent");
  later.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(later);
  scene.fetch_nothing(options);
  scene.enqueue(child_start_message("order", "parent"));
  const OrchestrationItem item = scene.fetch(options);
  expect_messages(item, {start_message("order"), child_start_message("order", "parent"), event_message("order", "x")});
  TurnCommit commit = scene.commit_of(item);
  commit.consumed.pop_back();
  scene.ack(commit);
  scene.fetch_nothing(options);
  scene.advance(Milliseconds{1'000});
  expect_equal(scene.fetch(options).messages.size(), std::size_t{2}, "the messages");
}

// Between two executions a start may wait behind a continuation, which needs the code.
void a_continuation_with_a_child_start_is_filtered(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", v("1.0.0"));
  TurnCommit last = scene.commit_of(scene.wake("order"));
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
  last.messages = {continue_message("order")};
  scene.ack(last);
  scene.enqueue(child_start_message("order", "parent"));
  scene.fetch_nothing(pinned_within("2.0.0", "2.0.0"));
  scene.fetch(pinned_within("1.0.0", "1.0.0"));
}

}  // namespace

ValidationTests capability_tests() {
  return {
      {"capability", "an_empty_filter_admits_everything", &an_empty_filter_admits_everything},
      {"capability", "a_range_that_contains_the_pin_admits_it", &a_range_that_contains_the_pin_admits_it},
      {"capability", "a_range_without_the_pin_refuses_it", &a_range_without_the_pin_refuses_it},
      {"capability", "what_is_refused_does_not_stand_in_the_way", &what_is_refused_does_not_stand_in_the_way},
      {"capability", "many_refused_instances_do_not_hide_one_that_fits",
       &many_refused_instances_do_not_hide_one_that_fits},
      {"capability", "what_is_refused_is_neither_locked_nor_counted", &what_is_refused_is_neither_locked_nor_counted},
      {"capability", "an_execution_without_a_pin_fits_every_range", &an_execution_without_a_pin_fits_every_range},
      {"capability", "an_instance_before_its_first_commit_fits_every_range",
       &an_instance_before_its_first_commit_fits_every_range},
      {"capability", "both_ends_belong_to_a_range", &both_ends_belong_to_a_range},
      {"capability", "versions_are_compared_part_by_part", &versions_are_compared_part_by_part},
      {"capability", "any_of_several_ranges_admits", &any_of_several_ranges_admits},
      {"capability", "the_pin_comes_from_the_commit_not_from_events", &the_pin_comes_from_the_commit_not_from_events},
      {"capability", "a_pin_stays_while_commits_do_not_speak_of_it", &a_pin_stays_while_commits_do_not_speak_of_it},
      {"capability", "a_pin_can_be_added_later", &a_pin_can_be_added_later},
      {"capability", "a_pin_is_replaced_when_a_commit_says_so", &a_pin_is_replaced_when_a_commit_says_so},
      {"capability", "each_execution_has_its_own_pin", &each_execution_has_its_own_pin},
      {"capability", "a_pin_is_not_inherited", &a_pin_is_not_inherited},
      {"capability", "a_continuation_is_filtered_by_the_execution_that_ends",
       &a_continuation_is_filtered_by_the_execution_that_ends},
      {"capability", "a_child_has_its_own_pin", &a_child_has_its_own_pin},
      {"capability", "concurrent_filtered_fetches_lock_once", &concurrent_filtered_fetches_lock_once},
      {"capability", "instances_are_filtered_by_name", &instances_are_filtered_by_name},
      {"capability", "before_the_first_commit_the_start_has_the_name", &before_the_first_commit_the_start_has_the_name},
      {"capability", "all_parts_of_a_filter_must_fit", &all_parts_of_a_filter_must_fit},
      {"capability", "activities_are_filtered_by_name", &activities_are_filtered_by_name},
      {"capability", "the_start_that_comes_first_names_the_instance", &the_start_that_comes_first_names_the_instance},
      {"capability", "an_ended_instance_passes_every_filter", &an_ended_instance_passes_every_filter},
      {"capability", "a_running_instance_with_a_child_start_passes_every_filter",
       &a_running_instance_with_a_child_start_passes_every_filter},
      {"capability", "a_continuation_with_a_child_start_is_filtered", &a_continuation_with_a_child_start_is_filtered},
  };
}

}  // namespace perdure::testing
