// Attempt counts, by which poison is found; and suspects, which are fetched alone.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

void the_first_fetch_of_an_instance_is_attempt_one(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  expect_equal(scene.fetch().attempt_count, 1U, "the attempts");
}

void each_fetch_of_an_instance_counts_until_a_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  OrchestrationItem item = scene.fetch();
  abandon(scene, item.token);
  item = scene.fetch();
  expect_equal(item.attempt_count, 2U, "the attempts after an abandon");
  scene.advance(kLockTimeout);
  item = scene.fetch();
  expect_equal(item.attempt_count, 3U, "the attempts after an expired lock");
  TurnCommit bad = scene.first_commit_of(item);
  bad.events.front().event_id = 7;
  expect_error(scene.store().ack_orchestration_item(bad), ProviderErrorKind::kInvalidArgument);
  abandon(scene, item.token);
  item = scene.fetch();
  expect_equal(item.attempt_count, 4U, "the attempts after a failed commit");
  scene.ack(scene.first_commit_of(item));
  expect_equal(scene.wake("order").attempt_count, 1U, "the attempts after a commit");
}

void the_first_fetch_of_an_activity_is_attempt_one(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  expect_equal(scene.fetch_work().attempt_count, 1U, "the attempts");
}

void each_fetch_of_an_activity_counts(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  scene.fetch_work();
  scene.advance(kWorkLock);
  const WorkItem second = scene.fetch_work();
  expect_equal(second.attempt_count, 2U, "the attempts after an expired lock");
  abandon_work(scene, second.token);
  expect_equal(scene.fetch_work().attempt_count, 3U, "the attempts after an abandon");
}

void attempts_are_counted_for_each_item(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.enqueue_activity(activity("a", 2));
  for (int i = 0; i < 2; ++i) {
    abandon(scene, scene.fetch().token);
    abandon_work(scene, scene.fetch_work().token);
  }
  scene.enqueue_start("b");
  scene.enqueue_activity(activity("a", 3));
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 2);
  expect_equal(instances_of(items), std::vector<std::string>{"a", "b"}, "the instances");
  expect_equal(items[0].attempt_count, 3U, "the attempts of a");
  expect_equal(items[1].attempt_count, 1U, "the attempts of b");
  const std::vector<WorkItem> work = fetch_activities(scene, 2);
  expect_equal(activity_ids_of(work), std::vector<EventId>{2, 3}, "the activities");
  expect_equal(work[0].attempt_count, 3U, "the attempts of the first");
  expect_equal(work[1].attempt_count, 1U, "the attempts of the second");
}

void a_new_message_does_not_hide_the_attempts_of_an_old_one(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(event_message("order", "old"));
  for (int i = 0; i < 2; ++i) abandon(scene, scene.fetch().token);
  scene.enqueue(event_message("order", "new"));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("order", "old"), event_message("order", "new")});
  expect_equal(item.attempt_count, 3U, "the attempts");
}

void a_fetch_of_an_activity_can_be_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  abandon_work(scene, scene.fetch_work().token);
  const WorkItem second = scene.fetch_work();
  expect_equal(second.attempt_count, 2U, "the attempts");
  abandon_work(scene, second.token, Milliseconds{0}, true);
  expect_equal(scene.fetch_work().attempt_count, 2U, "the attempts after one was taken back");
}

// A worker that a failing store has cost its lock tells so when it can, and another may have fetched the activity by
// then.
void a_fetch_that_was_taken_over_can_be_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  abandon_work(scene, scene.fetch_work().token);
  const WorkItem lost = scene.fetch_work();
  scene.advance(kWorkLock);
  const WorkItem held = scene.fetch_work();
  expect_equal(held.attempt_count, 3U, "the attempts");
  abandon_work(scene, lost.token, Milliseconds{100}, true);
  scene.fetch_no_work();
  expect_equal(take(scene.store().renew_work_lock(held.token, kWorkLock)), scene.now() + kWorkLock,
               "until when the lock of the other worker holds");
  abandon_work(scene, lost.token, Milliseconds{100}, true);  // no more than once
  abandon_work(scene, held.token);
  const WorkItem last = scene.fetch_work();
  expect_equal(last.attempt_count, 3U, "the attempts after one was taken back");
}

void only_the_last_fetch_that_was_taken_over_can_be_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  std::vector<WorkItem> items;
  for (int i = 0; i < 3; ++i) {
    items.push_back(scene.fetch_work());
    scene.advance(kWorkLock);
  }
  abandon_work(scene, items[0].token, Milliseconds{0}, true);
  abandon_work(scene, items[1].token);  // counted: nothing is taken back
  items.push_back(scene.fetch_work());
  expect_equal(items.back().attempt_count, 4U, "the attempts");
  abandon_work(scene, items[1].token, Milliseconds{0}, true);
  abandon_work(scene, items.back().token);
  items.push_back(scene.fetch_work());
  expect_equal(items.back().attempt_count, 5U, "the attempts after a fetch that was taken over long ago");
  // An abandon by the worker that has the lock leaves what was taken over before it.
  abandon_work(scene, items.back().token, Milliseconds{0}, true);
  abandon_work(scene, items[2].token, Milliseconds{0}, true);
  expect_equal(scene.fetch_work().attempt_count, 4U, "the attempts after two were taken back");
}

void a_fetch_of_an_instance_can_be_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem first = scene.wake("order");
  expect_equal(first.attempt_count, 1U, "the attempts");
  abandon(scene, first.token);
  const OrchestrationItem second = scene.fetch();
  expect_equal(second.attempt_count, 2U, "the attempts after an abandon");
  abandon(scene, second.token, Milliseconds{0}, true);
  expect_equal(scene.fetch().attempt_count, 2U, "the attempts after one was taken back");
}

void attempts_never_fall_below_zero(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  scene.enqueue(event_message("order", "news"));
  for (int i = 0; i < 3; ++i) {
    const OrchestrationItem item = scene.fetch();
    expect_equal(item.attempt_count, 1U, "the attempts of the instance");
    abandon(scene, item.token, Milliseconds{0}, true);
    const WorkItem work = scene.fetch_work();
    expect_equal(work.attempt_count, 1U, "the attempts of the activity");
    abandon_work(scene, work.token, Milliseconds{0}, true);
    abandon_work(scene, work.token, Milliseconds{0}, true);
  }
}

void attempts_survive_the_backoff(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(event_message("order", "news"));
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    const OrchestrationItem item = scene.fetch();
    expect_equal(item.attempt_count, attempt, "the attempts");
    abandon(scene, item.token, Milliseconds{100});
    scene.advance(Milliseconds{100});
  }
}

// ---- Suspects ----

// "bad" was fetched twice, "good1" and "good2" never; all three are ready, in the order of `ids`.
void make_suspect(Scene& scene, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) scene.create(id);
  scene.enqueue(event_message("bad", "x"));
  for (int i = 0; i < 2; ++i) abandon(scene, scene.fetch().token);
  for (const std::string& id : ids) {
    if (id != "bad") scene.enqueue(event_message(id, "x"));
  }
}

OrchestrationFetch suspicious(std::uint32_t from_attempts, bool admit = true) {
  OrchestrationFetch options;
  options.suspects = {.from_attempts = from_attempts, .admit = admit};
  return options;
}

using Ids = std::vector<std::string>;

void a_suspect_instance_is_fetched_alone(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect(scene, {"bad", "good1", "good2"});
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 10, suspicious(2));
  expect_equal(instances_of(items), Ids{"bad"}, "the suspect");
  expect_equal(items.front().attempt_count, 3U, "the attempts");
  expect_equal(instances_of(fetch_instances(scene, 10, suspicious(2))), Ids{"good1", "good2"}, "the others");
}

void a_suspect_instance_does_not_join_others(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect(scene, {"good1", "bad", "good2"});
  expect_equal(instances_of(fetch_instances(scene, 10, suspicious(2))), Ids{"good1", "good2"}, "those before it");
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 10, suspicious(2));
  expect_equal(instances_of(items), Ids{"bad"}, "the suspect");
  expect_equal(items.front().attempt_count, 3U, "a skipped suspect was counted");
}

void suspect_instances_are_left_alone_without_admit(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect(scene, {"bad", "good1", "good2"});
  expect_equal(instances_of(fetch_instances(scene, 10, suspicious(2, false))), Ids{"good1", "good2"}, "the others");
  scene.fetch_nothing(suspicious(2, false));
  expect_equal(scene.fetch(suspicious(2)).attempt_count, 3U, "the attempts of the suspect");
}

void below_the_threshold_an_instance_is_no_suspect(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect(scene, {"bad", "good1", "good2"});
  expect_equal(instances_of(fetch_instances(scene, 10, suspicious(3, false))), Ids{"bad", "good1", "good2"}, "all");
}

void the_filter_comes_before_the_look_for_suspects(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("bad", "Refused");
  scene.create("good", "Wanted");
  scene.enqueue(event_message("bad", "x"));
  abandon(scene, scene.fetch().token);
  scene.enqueue(event_message("good", "x"));
  OrchestrationFetch options = suspicious(1);
  options.filter.orchestrations = {"Wanted"};
  expect_equal(instances_of(fetch_instances(scene, 10, options)), Ids{"good"}, "the instances");
  options.filter.orchestrations.clear();
  expect_equal(instances_of(fetch_instances(scene, 10, options)), Ids{"bad"}, "the suspect");
}

WorkFetch suspicious_work(std::uint32_t from_attempts, bool admit = true) {
  WorkFetch options;
  options.suspects = {.from_attempts = from_attempts, .admit = admit};
  return options;
}

// Activity 2 was fetched twice, 3 and 4 never.
void make_suspect_activity(Scene& scene) {
  scene.enqueue_activity(activity("order", 2));
  for (int i = 0; i < 2; ++i) abandon_work(scene, scene.fetch_work().token);
  scene.enqueue_activity(activity("order", 3));
  scene.enqueue_activity(activity("order", 4));
}

using ActivityIds = std::vector<EventId>;

void a_suspect_activity_is_fetched_alone(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect_activity(scene);
  const std::vector<WorkItem> suspect = fetch_activities(scene, 10, suspicious_work(2));
  expect_equal(activity_ids_of(suspect), ActivityIds{2}, "the suspect");
  expect_equal(activity_ids_of(fetch_activities(scene, 10, suspicious_work(2))), ActivityIds{3, 4}, "the others");
  // Now it is ready later than another one, so it does not join it.
  scene.enqueue_activity(activity("order", 5));
  scene.advance(Milliseconds{1});
  abandon_work(scene, suspect.front().token);
  expect_equal(activity_ids_of(fetch_activities(scene, 10, suspicious_work(2))), ActivityIds{5}, "the one before it");
  const std::vector<WorkItem> again = fetch_activities(scene, 10, suspicious_work(2));
  expect_equal(activity_ids_of(again), ActivityIds{2}, "the suspect, later");
  expect_equal(again.front().attempt_count, 4U, "a skipped suspect was counted");
}

void suspect_activities_are_left_alone_without_admit(ProviderFactory& factory) {
  Scene scene(factory);
  make_suspect_activity(scene);
  expect_equal(activity_ids_of(fetch_activities(scene, 10, suspicious_work(2, false))), ActivityIds{3, 4},
               "the others");
  scene.fetch_no_work(suspicious_work(2, false));
  expect_equal(scene.fetch_work(suspicious_work(3, false)).attempt_count, 3U, "below the threshold");
}

}  // namespace

ValidationTests attempt_tests() {
  return {
      {"attempt", "the_first_fetch_of_an_instance_is_attempt_one", &the_first_fetch_of_an_instance_is_attempt_one},
      {"attempt", "each_fetch_of_an_instance_counts_until_a_commit", &each_fetch_of_an_instance_counts_until_a_commit},
      {"attempt", "the_first_fetch_of_an_activity_is_attempt_one", &the_first_fetch_of_an_activity_is_attempt_one},
      {"attempt", "each_fetch_of_an_activity_counts", &each_fetch_of_an_activity_counts},
      {"attempt", "attempts_are_counted_for_each_item", &attempts_are_counted_for_each_item},
      {"attempt", "a_new_message_does_not_hide_the_attempts_of_an_old_one",
       &a_new_message_does_not_hide_the_attempts_of_an_old_one},
      {"attempt", "a_fetch_of_an_activity_can_be_taken_back", &a_fetch_of_an_activity_can_be_taken_back},
      {"attempt", "a_fetch_that_was_taken_over_can_be_taken_back", &a_fetch_that_was_taken_over_can_be_taken_back},
      {"attempt", "only_the_last_fetch_that_was_taken_over_can_be_taken_back",
       &only_the_last_fetch_that_was_taken_over_can_be_taken_back},
      {"attempt", "a_fetch_of_an_instance_can_be_taken_back", &a_fetch_of_an_instance_can_be_taken_back},
      {"attempt", "attempts_never_fall_below_zero", &attempts_never_fall_below_zero},
      {"attempt", "attempts_survive_the_backoff", &attempts_survive_the_backoff},
      {"attempt", "a_suspect_instance_is_fetched_alone", &a_suspect_instance_is_fetched_alone},
      {"attempt", "a_suspect_instance_does_not_join_others", &a_suspect_instance_does_not_join_others},
      {"attempt", "suspect_instances_are_left_alone_without_admit", &suspect_instances_are_left_alone_without_admit},
      {"attempt", "below_the_threshold_an_instance_is_no_suspect", &below_the_threshold_an_instance_is_no_suspect},
      {"attempt", "the_filter_comes_before_the_look_for_suspects", &the_filter_comes_before_the_look_for_suspects},
      {"attempt", "a_suspect_activity_is_fetched_alone", &a_suspect_activity_is_fetched_alone},
      {"attempt", "suspect_activities_are_left_alone_without_admit", &suspect_activities_are_left_alone_without_admit},
  };
}

}  // namespace perdure::testing
