// Long polls: what ends a wait, and what must not.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

// ---- Work ----

void a_wait_for_what_is_there_ends_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  scene.enqueue_activity(activity("order", 2));
  const Timestamp deadline = scene.now() + kNoDeadline;
  for (const WorkWait& wait : {for_instances(), for_activities(), for_both()}) {
    expect(take(scene.store().wait_for_work(wait, deadline)), "the work was not seen");
  }
  // Waiting locks and counts nothing.
  expect_equal(scene.fetch().attempt_count, 1U, "the attempts of the instance");
  expect_equal(scene.fetch_work().attempt_count, 1U, "the attempts of the activity");
}

void a_wait_ends_when_an_instance_gets_work(ProviderFactory& factory) {
  Scene scene(factory);
  for (int round = 0; round < 20; ++round) {
    Waiting waiting(scene, for_both());
    scene.enqueue_start("order" + std::to_string(round));
    expect_true(waiting);
    scene.fetch();
  }
}

void a_wait_ends_when_an_activity_arrives(ProviderFactory& factory) {
  Scene scene(factory);
  for (int round = 0; round < 20; ++round) {
    Waiting waiting(scene, for_activities());
    scene.enqueue_activity(activity("order", EventId{2} + static_cast<EventId>(round)));
    expect_true(waiting);
    scene.fetch_work();
  }
}

void a_wait_ends_when_a_commit_queues_something(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  const OrchestrationItem item = scene.wake("a");
  Waiting instances(scene, for_instances());
  Waiting activities(scene, for_activities());
  TurnCommit commit = scene.commit_of(item);
  commit.activities = {activity("a", 2)};
  commit.messages = {event_message("b", "x")};
  scene.ack(commit);
  expect_true(instances);
  expect_true(activities);
  scene.ack(scene.commit_of(scene.fetch()));
  Waiting completed(scene, for_instances());
  const WorkItem work = scene.fetch_work();
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  expect_true(completed);
}

void a_wait_ends_when_something_is_given_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const OrchestrationItem item = scene.wake("order");
  const WorkItem work = scene.fetch_work();
  Waiting instances(scene, for_instances());
  Waiting activities(scene, for_activities());
  abandon(scene, item.token);
  abandon_work(scene, work.token);
  expect_true(instances);
  expect_true(activities);
}

void a_wait_ends_when_a_commit_leaves_messages(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  scene.enqueue(event_message("order", "meanwhile"));
  Waiting waiting(scene, for_instances());
  scene.ack(scene.commit_of(item));
  expect_true(waiting);
}

// Those who wait have seen the end of the lock.
void a_wait_ends_when_what_a_commit_leaves_is_due(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(timer_message("order", 3, scene.now() + kLockTimeout / 2));
  const OrchestrationItem item = scene.wake("order");
  Waiting waiting(scene, for_instances());
  scene.ack(scene.commit_of(item));
  scene.advance(kLockTimeout / 2);
  expect_true(waiting);
}

void a_wait_ends_when_time_makes_work_ready(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  scene.enqueue(timer_message("order", 3, scene.now() + Milliseconds{500}));
  {
    Waiting waiting(scene, for_instances());
    scene.advance(Milliseconds{500});
    expect_true(waiting);
  }
  // The end of a lock, of an instance and of an activity.
  scene.fetch();
  scene.fetch_work();
  {
    Waiting instances(scene, for_instances());
    Waiting activities(scene, for_activities());
    scene.advance(kLockTimeout);
    expect_true(instances);
    scene.advance(Milliseconds{30'000} - kLockTimeout);
    expect_true(activities);
  }
  // The end of a backoff.
  abandon(scene, scene.fetch().token, Milliseconds{300});
  abandon_work(scene, scene.fetch_work().token, Milliseconds{300});
  Waiting instances(scene, for_instances());
  Waiting activities(scene, for_activities());
  scene.advance(Milliseconds{300});
  expect_true(instances);
  expect_true(activities);
}

// Whoever waits was told of a later end.
void a_wait_ends_when_a_lock_gets_shorter(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  const OrchestrationItem item = scene.wake("order");
  const WorkItem renewed = scene.fetch_work();
  const WorkItem beating = scene.fetch_work();
  {
    Waiting instances(scene, for_instances());
    Waiting activities(scene, for_activities());
    take(scene.store().renew_orchestration_lock(item.token, Milliseconds{0}));
    take(scene.store().renew_work_lock(renewed.token, Milliseconds{0}));
    expect_true(instances);
    expect_true(activities);
  }
  expect_equal(scene.fetch_work().attempt_count, 2U, "the attempt");
  Waiting waiting(scene, for_activities());
  const Heartbeat beat{.token = beating.token, .details = {}, .extend_for = Milliseconds{100}};
  take(scene.store().heartbeat({&beat, 1}).front());
  scene.advance(Milliseconds{100});
  expect_true(waiting);
}

// The commit that schedules the activity locks it, so no waiter has seen the end of that lock.
void a_wait_ends_when_a_claim_expires(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  for (int round = 0; round < 20; ++round) {
    scene.enqueue_start("order" + std::to_string(round));
    const OrchestrationItem item = scene.fetch();
    TurnCommit commit = scene.first_commit_of(item);
    commit.activities = {activity(item.instance, 2)};
    commit.claim = WorkFetch{};
    Waiting waiting(scene, for_activities());
    expect_equal(scene.ack(commit).claimed.size(), std::size_t{1}, "claimed activities");
    scene.advance(commit.claim->lock_timeout);
    expect_true(waiting);
    take(scene.store().ack_work_item({.token = scene.fetch_work().token, .completion = {}}));
  }
}

void a_wait_ends_when_a_retained_lock_is_fetched_for_less(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("order");
  OrchestrationFetch shorter;
  shorter.owner = "node";
  shorter.lock_timeout = kLockTimeout / 2;
  for (int round = 0; round < 20; ++round) {
    TurnCommit commit = scene.commit_of(scene.wake("order"));
    commit.owner = shorter.owner;
    commit.keep_lock = 10 * kLockTimeout;
    scene.ack(commit);
    scene.enqueue(event_message("order", "x"));
    Waiting waiting(scene, for_instances());
    static_cast<void>(scene.fetch(shorter));
    scene.advance(shorter.lock_timeout);
    expect_true(waiting);
    scene.ack(scene.commit_of(scene.fetch()));
  }
}

void a_wait_ends_at_its_deadline(ProviderFactory& factory) {
  Scene scene(factory);
  Waiting instances(scene, for_instances(), Milliseconds{500});
  Waiting activities(scene, for_activities(), Milliseconds{500});
  scene.advance(Milliseconds{500});
  expect_false(instances);
  expect_false(activities);
  expect(!take(scene.store().wait_for_work(for_both(), scene.now())), "work from nowhere at the deadline");
  expect(!take(scene.store().wait_for_work(for_both(), scene.now() - kNoDeadline)),
         "work from nowhere after the deadline");
}

void a_wait_does_not_end_before_its_deadline(ProviderFactory& factory) {
  Scene scene(factory);
  Waiting waiting(scene, for_both(), Milliseconds{500});
  scene.advance(Milliseconds{499});
  // If it had ended by now, it would not see this.
  scene.enqueue_start("order");
  expect_true(waiting);
}

void a_wait_can_be_ended_from_outside(ProviderFactory& factory) {
  Scene scene(factory);
  Waiting work(scene, for_both());
  work.wake();
  expect_false(work);
  Waiting change(scene, "order", {.ended = true, .custom_status_after = {}, .key_value = {}});
  change.wake();
  expect_false(change);
  // Later waits are not concerned.
  scene.store().wake_waiters();
  Waiting later(scene, for_both());
  scene.enqueue_start("order");
  expect_true(later);
}

void a_wait_for_nothing_ends_at_its_deadline(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  scene.enqueue_activity(activity("order", 2));
  expect_nothing_to_do(scene, WorkWait{});
  expect_nothing_to_do(scene, for_activities({.limit = 1,
                                              .lock_timeout = kNoDeadline,
                                              .tags = TagFilter::none(),
                                              .session = {},
                                              .filter = {},
                                              .suspects = {}}));
}

void work_that_cannot_be_fetched_does_not_end_a_wait(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("locked");
  scene.wake("locked");
  scene.enqueue(event_message("locked", "x"));
  scene.enqueue(event_message("orphan", "x"));
  scene.enqueue(queue_message("orphan"));
  scene.enqueue(timer_message("locked", 2, scene.now() + kNoDeadline));
  expect_nothing_to_do(scene, for_instances());
  scene.enqueue_activity(activity("locked", 2));
  scene.fetch_work();
  expect_nothing_to_do(scene, for_activities());
}

void work_that_the_filter_refuses_does_not_end_a_wait(ProviderFactory& factory) {
  Scene scene(factory);
  create_pinned(scene, "order", SemanticVersion{1, 0, 0});
  OrchestrationFetch other_name;
  other_name.filter.orchestrations = {"Other"};
  WorkFetch tagged;
  tagged.tags = TagFilter::tags({"gpu"});
  WorkFetch other_activity;
  other_activity.filter.activities = {"Other"};
  MessageRecord in_session = activity("order", 3);
  in_session.session = "s";
  WorkFetch sessionless = any_tag();
  sessionless.filter.activities = {"Sessions only"};
  in_session.name = "Sessions only";

  Waiting versions(scene, for_instances(pinned_within("2.0.0", "2.0.0")), Milliseconds{100});
  Waiting names(scene, for_instances(other_name), Milliseconds{100});
  Waiting tags(scene, for_activities(tagged), Milliseconds{100});
  Waiting activities(scene, for_activities(other_activity), Milliseconds{100});
  Waiting sessions(scene, for_activities(sessionless), Milliseconds{100});
  Waiting fits(scene, for_instances(pinned_within("1.0.0", "1.0.0")), Milliseconds{100});
  scene.enqueue(event_message("order", "x"));
  scene.enqueue_activity(activity("order", 2));
  scene.enqueue_activity(in_session);
  expect_true(fits);
  scene.advance(Milliseconds{100});
  for (Waiting* refused : {&versions, &names, &tags, &activities, &sessions}) expect_false(*refused);
}

void suspects_that_are_not_admitted_do_not_end_a_wait(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  abandon(scene, scene.wake("order").token);
  abandon_work(scene, scene.fetch_work().token);
  const SuspectRule rule{.from_attempts = 1, .admit = false};
  OrchestrationFetch instances;
  instances.suspects = rule;
  WorkFetch activities;
  activities.suspects = rule;
  expect_nothing_to_do(scene, for_instances(instances));
  expect_nothing_to_do(scene, for_activities(activities));
  expect(take(scene.store().wait_for_work(for_instances(), scene.now() + kNoDeadline)), "the instance is not there");
}

// With one attempt less it is no longer a suspect.
void a_wait_ends_when_an_attempt_of_a_suspect_is_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem lost = scene.fetch_work();
  scene.advance(kWorkLock);
  abandon_work(scene, scene.fetch_work().token);
  WorkFetch ordinary;
  ordinary.suspects = {.from_attempts = 2, .admit = false};
  expect_nothing_to_do(scene, for_activities(ordinary));
  Waiting waiting(scene, for_activities(ordinary));
  abandon_work(scene, lost.token, Milliseconds{0}, true);
  expect_true(waiting);
  expect_equal(scene.fetch_work().attempt_count, 2U, "the attempt");
}

void no_arrival_is_missed(ProviderFactory& factory) {
  Scene scene(factory);
  constexpr int kRounds = 200;
  in_parallel(2, [&](std::size_t i) {
    for (int round = 0; round < kRounds; ++round) {
      if (i == 0) {
        take(scene.store().enqueue_activity(activity("order", EventId{2} + static_cast<EventId>(round))));
        continue;
      }
      expect(take(scene.store().wait_for_work(for_activities(), scene.now() + kNoDeadline)), "no activity");
      const WorkItem work = scene.fetch_work();
      take(scene.store().ack_work_item({.token = work.token, .completion = {}}));
    }
  });
  scene.fetch_no_work();
}

// ---- Changes of an instance ----

InstanceChange ended() {
  return {.ended = true, .custom_status_after = {}, .key_value = {}};
}

void a_wait_for_the_end_ends_with_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  Waiting waiting(scene, "order", ended());
  scene.end("order", ExecutionStatus::kFailed);
  expect_true(waiting);
  expect(take(scene.store().wait_for_change("order", ended(), scene.now() + kNoDeadline)), "the end was not seen");
}

void a_wait_for_an_unknown_instance_waits_for_it(ProviderFactory& factory) {
  Scene scene(factory);
  Waiting waiting(scene, "order", ended());
  Waiting never(scene, "nobody", ended(), Milliseconds{100});
  scene.create("order");
  scene.end("order");
  expect_true(waiting);
  scene.advance(Milliseconds{100});
  expect_false(never);
}

void a_continuation_is_not_the_end(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  Waiting too_short(scene, "order", ended(), Milliseconds{100});
  Waiting waiting(scene, "order", ended());
  TurnCommit last = scene.commit_of(scene.wake("order"));
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
  last.messages = {continue_message("order")};
  scene.ack(last);
  scene.advance(Milliseconds{100});
  expect_false(too_short);
  TurnCommit first = scene.first_commit_of(scene.fetch());
  first.execution_id = 2;
  first.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = {}};
  scene.ack(first);
  expect_true(waiting);
}

void a_wait_for_a_custom_status_ends_with_a_newer_one(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  Waiting first(scene, "order", {.ended = false, .custom_status_after = 0, .key_value = {}});
  Waiting second(scene, "order", {.ended = false, .custom_status_after = 1, .key_value = {}});
  Waiting third(scene, "order", {.ended = true, .custom_status_after = 2, .key_value = "k"}, Milliseconds{100});
  for (int i = 0; i < 2; ++i) {
    TurnCommit commit = scene.commit_of(scene.wake("order"));
    commit.custom_status = CustomStatusChange{.value = "s"};
    scene.ack(commit);
    if (i == 0) expect_true(first);
  }
  expect_true(second);
  scene.advance(Milliseconds{100});
  expect_false(third);
}

void a_wait_for_a_value_ends_when_it_is_set(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const InstanceChange change{.ended = false, .custom_status_after = {}, .key_value = "k"};
  Waiting waiting(scene, "order", change);
  Waiting other(scene, "order", {.ended = false, .custom_status_after = {}, .key_value = "other"}, Milliseconds{100});
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.key_values = {SetKeyValue{.key = "k", .value = "", .updated_at = {}}};
  scene.ack(commit);
  expect_true(waiting);
  TurnCommit clear = scene.commit_of(scene.wake("order"));
  clear.key_values = {ClearKeyValue{.key = "k"}};
  scene.ack(clear);
  Waiting again(scene, "order", change, Milliseconds{100});
  scene.advance(Milliseconds{100});
  expect_false(other);
  expect_false(again);
}

}  // namespace

ValidationTests wait_tests() {
  return {
      {"wait", "a_wait_for_what_is_there_ends_at_once", &a_wait_for_what_is_there_ends_at_once},
      {"wait", "a_wait_ends_when_an_instance_gets_work", &a_wait_ends_when_an_instance_gets_work},
      {"wait", "a_wait_ends_when_an_activity_arrives", &a_wait_ends_when_an_activity_arrives},
      {"wait", "a_wait_ends_when_a_commit_queues_something", &a_wait_ends_when_a_commit_queues_something},
      {"wait", "a_wait_ends_when_something_is_given_back", &a_wait_ends_when_something_is_given_back},
      {"wait", "a_wait_ends_when_a_commit_leaves_messages", &a_wait_ends_when_a_commit_leaves_messages},
      {"wait", "a_wait_ends_when_what_a_commit_leaves_is_due", &a_wait_ends_when_what_a_commit_leaves_is_due},
      {"wait", "a_wait_ends_when_time_makes_work_ready", &a_wait_ends_when_time_makes_work_ready},
      {"wait", "a_wait_ends_when_a_lock_gets_shorter", &a_wait_ends_when_a_lock_gets_shorter},
      {"wait", "a_wait_ends_when_a_claim_expires", &a_wait_ends_when_a_claim_expires},
      {"wait", "a_wait_ends_when_a_retained_lock_is_fetched_for_less",
       &a_wait_ends_when_a_retained_lock_is_fetched_for_less},
      {"wait", "a_wait_ends_at_its_deadline", &a_wait_ends_at_its_deadline},
      {"wait", "a_wait_does_not_end_before_its_deadline", &a_wait_does_not_end_before_its_deadline},
      {"wait", "a_wait_can_be_ended_from_outside", &a_wait_can_be_ended_from_outside},
      {"wait", "a_wait_for_nothing_ends_at_its_deadline", &a_wait_for_nothing_ends_at_its_deadline},
      {"wait", "work_that_cannot_be_fetched_does_not_end_a_wait", &work_that_cannot_be_fetched_does_not_end_a_wait},
      {"wait", "work_that_the_filter_refuses_does_not_end_a_wait", &work_that_the_filter_refuses_does_not_end_a_wait},
      {"wait", "suspects_that_are_not_admitted_do_not_end_a_wait", &suspects_that_are_not_admitted_do_not_end_a_wait},
      {"wait", "a_wait_ends_when_an_attempt_of_a_suspect_is_taken_back",
       &a_wait_ends_when_an_attempt_of_a_suspect_is_taken_back},
      {"wait", "no_arrival_is_missed", &no_arrival_is_missed},
      {"wait", "a_wait_for_the_end_ends_with_the_instance", &a_wait_for_the_end_ends_with_the_instance},
      {"wait", "a_wait_for_an_unknown_instance_waits_for_it", &a_wait_for_an_unknown_instance_waits_for_it},
      {"wait", "a_continuation_is_not_the_end", &a_continuation_is_not_the_end},
      {"wait", "a_wait_for_a_custom_status_ends_with_a_newer_one", &a_wait_for_a_custom_status_ends_with_a_newer_one},
      {"wait", "a_wait_for_a_value_ends_when_it_is_set", &a_wait_for_a_value_ends_when_it_is_set},
  };
}

}  // namespace perdure::testing
