// What a store counts: statistics of an instance, metrics of all, depths of the queues. And mending a history.
#include <vector>

#include "testing/validation/key_value_moves.h"
#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

InstanceStats stats(Scene& scene, const std::string& instance, Where where = Where::current()) {
  const std::optional<InstanceStats> found = take(scene.store().read_stats(instance), where);
  expect(found.has_value(), "there are no statistics of " + instance, where);
  return *found;
}

void expect_values(Scene& scene, std::uint64_t count, std::uint64_t bytes, Where where = Where::current()) {
  const InstanceStats found = stats(scene, "a", where);
  expect_equal(found.key_values, count, "keys", where);
  expect_equal(found.key_value_bytes, bytes, "bytes of values", where);
}

void unknown_instances_have_no_statistics(ProviderFactory& factory) {
  Scene scene(factory);
  expect(!take(scene.store().read_stats("a")).has_value(), "an unknown instance has statistics");
  scene.enqueue_start("a");
  expect(!take(scene.store().read_stats("a")).has_value(), "an instance that has not begun has statistics");
}

void statistics_count_the_current_history(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.turn("a", [](TurnCommit& commit) { commit.events = events(2, 4); });
  std::uint64_t bytes = started_event().body.size();
  for (const EventRecord& record : events(2, 4)) bytes += record.body.size();
  expect_equal(stats(scene, "a").history_events, std::uint64_t{4}, "events");
  expect_equal(stats(scene, "a").history_bytes, bytes, "bytes");
  scene.continue_as_new("a");
  expect_equal(stats(scene, "a").history_events, std::uint64_t{1}, "events of the second execution");
  expect_equal(stats(scene, "a").history_bytes, started_event().body.size(), "bytes of the second execution");
}

void statistics_tell_what_was_carried_forward(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  TurnCommit first = scene.first_commit_of(scene.fetch());
  first.started->carry_forward = 7;
  scene.ack(first);
  expect_equal(stats(scene, "a").carried_forward, std::uint64_t{7}, "carried forward");
  scene.turn("a", [](TurnCommit&) {});
  expect_equal(stats(scene, "a").carried_forward, std::uint64_t{7}, "carried forward, after another turn");
  scene.continue_as_new("a");
  expect_equal(stats(scene, "a").carried_forward, std::uint64_t{0}, "carried forward to the second execution");
}

void statistics_count_live_values(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  expect_values(scene, 0, 0);
  write(scene, "a", {set("k", "12345"), set("l", "123")});
  expect_values(scene, 2, 8);
  scene.continue_as_new("a");
  expect_values(scene, 2, 8);
  // Over what is stored: one replaced, one new.
  write(scene, "a", {set("k", "1"), set("new", "1234")});
  expect_values(scene, 3, 8);
  // What a clear hides is not alive.
  write(scene, "a", {clear("l"), clear("unknown")});
  expect_values(scene, 2, 5);
  write(scene, "a", {clear_all()});
  expect_values(scene, 0, 0);
  write(scene, "a", {set("k", "")});
  expect_values(scene, 1, 0);
  scene.end("a");
  expect_values(scene, 1, 0);
}

void metrics_count_by_the_current_execution(ProviderFactory& factory) {
  Scene scene(factory);
  expect(take(scene.admin().system_metrics()) == SystemMetrics{}, "an empty store has metrics");
  for (const std::string id : {"running", "completed", "failed", "cancelled", "terminated"}) scene.create(id);
  scene.end("completed", ExecutionStatus::kCompleted);
  scene.end("failed", ExecutionStatus::kFailed);
  scene.end("cancelled", ExecutionStatus::kCancelled);
  scene.end("terminated", ExecutionStatus::kTerminated);
  scene.continue_as_new("running");
  SystemMetrics expected;
  expected.instances = 5;
  expected.executions = 6;
  expected.events = 5 + 4 + 2;
  expected.running = 1;
  expected.completed = 1;
  expected.failed = 3;
  expected.cancelled = 1;
  expected.terminated = 1;
  expect(take(scene.admin().system_metrics()) == expected, "the metrics are others");
  // Between two executions an instance runs.
  scene.turn("running", [](TurnCommit& commit) {
    commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
    commit.messages.push_back(continue_message("running"));
  });
  expected.events += 1;
  expect(take(scene.admin().system_metrics()) == expected, "the metrics are others while it continues as new");
  take(scene.admin().delete_instance("failed", false));
  expected.instances -= 1;
  expected.executions -= 1;
  expected.events -= 2;
  expected.failed -= 1;
  expect(take(scene.admin().system_metrics()) == expected, "the metrics are others after a deletion");
}

void depths_tell_messages_that_can_and_that_wait(ProviderFactory& factory) {
  Scene scene(factory);
  expect(take(scene.admin().queue_depths()) == QueueDepths{}, "the queues of an empty store are not empty");
  scene.create("a");
  scene.enqueue(event_message("a", "one"));
  scene.enqueue(event_message("a", "two"));
  scene.enqueue(timer_message("a", 2, scene.now() + Milliseconds{1'000}));
  QueueDepths expected;
  expected.messages = 2;
  expected.delayed_messages = 1;
  expect(take(scene.admin().queue_depths()) == expected, "the depths are others");
  const OrchestrationItem item = scene.fetch();
  expect(take(scene.admin().queue_depths()) == expected, "what is locked is not counted");
  scene.ack(scene.commit_of(item));
  expected.messages = 0;
  expect(take(scene.admin().queue_depths()) == expected, "what was consumed is counted");
  scene.advance(Milliseconds{1'000});
  expected = {};
  expected.messages = 1;
  expect(take(scene.admin().queue_depths()) == expected, "the timer whose time has come still waits");
}

void depths_tell_activities_that_can_run_and_wait(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord later = activity("a", 4);
  later.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue_activity(activity("a", 2));
  scene.enqueue_activity(tagged(activity("a", 3), "gpu"));
  scene.enqueue_activity(later);
  QueueDepths expected;
  expected.activities = 2;
  expected.delayed_activities = 1;
  expect(take(scene.admin().queue_depths()) == expected, "the depths are others");
  const WorkItem item = scene.fetch_work();
  expected.activities = 1;
  expected.locked_activities = 1;
  expect(take(scene.admin().queue_depths()) == expected, "the depths are others with a locked activity");
  abandon_work(scene, item.token, Milliseconds{1'000});
  expected.locked_activities = 0;
  expected.delayed_activities = 2;
  expect(take(scene.admin().queue_depths()) == expected, "the depths are others with one that was given back");
  scene.advance(Milliseconds{1'000});
  expected = {};
  expected.activities = 3;
  expect(take(scene.admin().queue_depths()) == expected, "the depths are others when the time has come");
  scene.fetch_work();
  scene.advance(WorkFetch().lock_timeout);
  expect(take(scene.admin().queue_depths()) == expected, "an expired lock counts as one");
}

void a_history_can_be_appended_to(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  take(scene.admin().append_history("a", 1, events(2, 3)));
  expect_equal(take(scene.admin().read_history("a")).size(), std::size_t{3}, "events");
  expect_equal(take(scene.admin().execution_info("a", 1)).events, std::uint64_t{3}, "events that are counted");
  const OrchestrationItem item = scene.wake("a");
  expect_equal(item.last_event_id, EventId{3}, "the last event");
  expect_equal(item.history->events.size(), std::size_t{3}, "events that are fetched");
}

void an_append_that_does_not_fit_changes_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  expect_error(scene.admin().append_history("a", 1, events(1, 1)), ProviderErrorKind::kNotFound);
  scene.create("a");
  const Snapshot before = snapshot(scene, "a");
  expect_error(scene.admin().append_history("unknown", 1, events(1, 1)), ProviderErrorKind::kNotFound);
  expect_error(scene.admin().append_history("a", 2, events(1, 1)), ProviderErrorKind::kNotFound);
  expect_error(scene.admin().append_history("a", 1, events(1, 2)), ProviderErrorKind::kDuplicateEvent);
  expect_error(scene.admin().append_history("a", 1, events(3, 3)), ProviderErrorKind::kInvalidArgument);
  const std::vector<EventRecord> gap{event(2), event(4)};
  expect_error(scene.admin().append_history("a", 1, gap), ProviderErrorKind::kInvalidArgument);
  expect_unchanged(scene, before);
}

void a_past_history_can_be_appended_to(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.continue_as_new("a");
  const EventId last = history_of(scene, "a", 1).size();
  take(scene.admin().append_history("a", 1, events(last + 1, last + 2)));
  expect_equal(history_of(scene, "a", 1).size(), last + 2, "events of the first execution");
  expect_equal(scene.wake("a").last_event_id, EventId{1}, "the last event of the current one");
}

void an_append_is_no_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  const Timestamp committed = scene.now();
  scene.advance(Milliseconds{1'000});
  take(scene.admin().append_history("a", 1, events(2, 2)));
  expect_equal(take(scene.admin().instance_info("a")).updated_at, committed, "the time of the last commit");
}

}  // namespace

ValidationTests measurement_tests() {
  return {
      {"measurement", "unknown_instances_have_no_statistics", &unknown_instances_have_no_statistics},
      {"measurement", "statistics_count_the_current_history", &statistics_count_the_current_history},
      {"measurement", "statistics_tell_what_was_carried_forward", &statistics_tell_what_was_carried_forward},
      {"measurement", "statistics_count_live_values", &statistics_count_live_values},
      {"measurement", "metrics_count_by_the_current_execution", &metrics_count_by_the_current_execution},
      {"measurement", "depths_tell_messages_that_can_and_that_wait", &depths_tell_messages_that_can_and_that_wait},
      {"measurement", "depths_tell_activities_that_can_run_and_wait", &depths_tell_activities_that_can_run_and_wait},
      {"measurement", "a_history_can_be_appended_to", &a_history_can_be_appended_to},
      {"measurement", "an_append_that_does_not_fit_changes_nothing", &an_append_that_does_not_fit_changes_nothing},
      {"measurement", "a_past_history_can_be_appended_to", &a_past_history_can_be_appended_to},
      {"measurement", "an_append_is_no_commit", &an_append_is_no_commit},
  };
}

}  // namespace perdure::testing
