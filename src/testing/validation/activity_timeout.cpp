// Activities that nobody starts in time, and heartbeats.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

constexpr Milliseconds kTimeout{1'000};

MessageRecord timed(MessageRecord record) {
  record.timeouts.schedule_to_start = kTimeout;
  return record;
}

Heartbeat beat(const WorkItem& item, Payload details, std::optional<Milliseconds> extend_for = {}) {
  return {.token = item.token, .details = std::move(details), .extend_for = extend_for};
}

ProviderResult<Timestamp> send(Scene& scene, const Heartbeat& heartbeat) {
  return scene.store().heartbeat({&heartbeat, 1}).front();
}

// ---- Schedule-to-start ----

void an_expired_activity_goes_to_every_worker(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(activity("a", 2), "s"));
  scene.fetch_work(as_worker("A"));
  scene.enqueue_activity(in_session(tagged(timed(activity("a", 3)), "nobody"), "s"));
  WorkFetch other;
  other.filter.activities = {"Other"};
  scene.advance(kTimeout - Milliseconds{1});
  scene.fetch_no_work(other);
  scene.advance(Milliseconds{1});
  const WorkItem item = scene.fetch_work(other);
  expect_equal(item.record.activity_id, EventId{3}, "the activity");
  expect(item.expired, "it is not marked");
  expect_equal(item.attempt_count, 1U, "the attempt");
  expect_equal(item.scheduled_at, scene.now() - kTimeout, "the time when it was queued");
  scene.fetch_no_work(other);
}

void an_expired_activity_is_marked_for_its_own_worker_too(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(timed(activity("a", 2)));
  scene.enqueue_activity(timed(activity("a", 3)));
  expect(!scene.fetch_work().expired, "it is marked before its time");
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work();
  expect_equal(item.record.activity_id, EventId{3}, "the activity");
  expect(item.expired, "it is not marked");
}

// Otherwise one whose tag nobody serves would be lost with the first worker that came to fail it.
void an_expired_activity_stays_expired(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(timed(activity("a", 2)), "nobody"));
  scene.advance(kTimeout);
  const WorkItem first = scene.fetch_work();
  expect(first.expired, "it is not marked");
  scene.advance(first.locked_until - scene.now());
  const WorkItem second = scene.fetch_work();
  expect(second.expired, "it is not marked after its fetcher died");
  expect_equal(second.attempt_count, 2U, "the attempt");
  take(scene.store().abandon_work_item({.token = second.token}));
  expect(scene.fetch_work().expired, "it is not marked after it was given back");
}

void a_wait_ends_when_an_expired_activity_is_free_again(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(timed(activity("a", 2)), "nobody"));
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work();
  Waiting waiting(scene, for_activities());
  scene.advance(item.locked_until - scene.now());
  expect_true(waiting);
}

void an_expired_activity_can_be_failed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {tagged(timed(activity("a", 2)), "nobody")});
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work();
  take(scene.store().ack_work_item({.token = item.token, .completion = failure(item.record)}));
  const OrchestrationItem woken = scene.fetch();
  expect_messages(woken, {failure(item.record)});
  scene.fetch_no_work(any_tag());
}

void an_expired_activity_claims_no_session(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(timed(activity("a", 2)), "s"));
  scene.advance(kTimeout);
  expect(scene.fetch_work(as_worker("A")).expired, "it is not marked");
  const std::vector<std::string> owners{"A"};
  expect_equal(take(scene.store().renew_sessions(owners, kTimeout, kTimeout)), std::size_t{0}, "sessions of A");
  // Nor does it need the right to claim one.
  scene.enqueue_activity(in_session(timed(activity("a", 3)), "t"));
  scene.advance(kTimeout);
  WorkFetch full = as_worker("A");
  full.session->max_sessions = 0;
  expect_equal(scene.fetch_work(full).record.activity_id, EventId{3}, "the activity");
  // Nor does it use that right up.
  scene.enqueue_activity(in_session(timed(activity("a", 4)), "t"));
  scene.advance(kTimeout);
  scene.enqueue_activity(in_session(activity("a", 5), "u"));
  full.session->max_sessions = 1;
  expect_equal(activity_ids_of(fetch_activities(scene, 10, full)), std::vector<EventId>{4, 5}, "the activities");
}

void an_expired_activity_leaves_a_held_session_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(activity("a", 2), "s"));
  scene.fetch_work(as_worker("A", kTimeout + kTimeout));
  scene.enqueue_activity(in_session(timed(activity("a", 3)), "s"));
  scene.enqueue_activity(in_session(activity("a", 4), "s"));
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work(as_worker("B"));
  expect_equal(item.record.activity_id, EventId{3}, "what B gets");
  scene.fetch_no_work(as_worker("B"));
  expect_equal(scene.fetch_work(as_worker("A")).record.activity_id, EventId{4}, "what A gets");
}

void an_expired_activity_keeps_its_place(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  scene.advance(Milliseconds{1});
  scene.enqueue_activity(tagged(timed(activity("a", 3)), "nobody"));
  scene.advance(Milliseconds{1});
  scene.enqueue_activity(activity("a", 4));
  scene.advance(kTimeout);
  scene.enqueue_activity(activity("a", 5));
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), std::vector<EventId>{2, 3, 4, 5}, "the order");
}

void an_activity_that_was_started_does_not_expire(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(timed(activity("a", 2)), "gpu"));
  WorkFetch gpu;
  gpu.tags = TagFilter::tags({"gpu"});
  gpu.lock_timeout = kTimeout + kTimeout;
  scene.fetch_work(gpu);
  scene.advance(kTimeout);
  scene.fetch_no_work();
  scene.advance(kTimeout);
  scene.fetch_no_work();
  const WorkItem again = scene.fetch_work(gpu);
  expect(!again.expired, "it is marked although it was started");
  expect_equal(again.attempt_count, 2U, "the attempt");
  abandon_work(scene, again.token);
  scene.fetch_no_work();
  expect(!scene.fetch_work(gpu).expired, "it is marked although it was started");
}

// A worker that shut down before it began has not started anything.
void an_activity_that_was_given_back_uncounted_can_expire(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(timed(activity("a", 2)), "gpu"));
  WorkFetch gpu;
  gpu.tags = TagFilter::tags({"gpu"});
  abandon_work(scene, scene.fetch_work(gpu).token, Milliseconds{0}, true);
  scene.fetch_no_work();
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work();
  expect(item.expired, "it is not marked");
  expect_equal(item.attempt_count, 1U, "the attempt");
}

// The attempt is taken back, but the code has begun: a start that has happened is not late.
void an_activity_that_has_begun_does_not_expire_when_it_is_given_back_uncounted(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(timed(activity("a", 2)));
  take(scene.store().abandon_work_item(
      {.token = scene.fetch_work().token, .delay = Milliseconds{0}, .ignore_attempt = true, .has_begun = true}));
  scene.advance(kTimeout);
  const WorkItem item = scene.fetch_work();
  expect(!item.expired, "it is marked although it has begun");
  expect_equal(item.attempt_count, 1U, "the attempt");
}

// A node may shut down after it has run the code, and a node without the code may fetch the activity next.
void an_activity_that_has_begun_never_expires(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(timed(activity("a", 2)));
  take(scene.store().abandon_work_item(
      {.token = scene.fetch_work().token, .delay = Milliseconds{0}, .ignore_attempt = true, .has_begun = true}));
  for (int fetch = 0; fetch < 2; ++fetch) {
    const WorkItem item = scene.fetch_work();
    expect(!item.expired, "it is marked although it has begun");
    expect_equal(item.attempt_count, 1U, "the attempt");
    expect(!item.record.timeouts.schedule_to_start, "its start is still timed");
    abandon_work(scene, item.token, Milliseconds{0}, true);
    scene.advance(kTimeout);
  }
  expect(!scene.fetch_work().expired, "it is marked although it has begun");
}

// The node that ran the code may abandon the activity after another node has fetched it.
void an_activity_that_has_begun_under_a_lost_lock_never_expires(ProviderFactory& factory) {
  for (const bool first_is_first : {true, false}) {
    Scene scene(factory);
    scene.enqueue_activity(timed(activity("a", 2)));
    WorkFetch brief;
    brief.lock_timeout = Milliseconds{1};
    const WorkItem first = scene.fetch_work(brief);
    scene.advance(Milliseconds{1});
    const WorkItem second = scene.fetch_work();
    const auto abandon_first = [&] {
      take(scene.store().abandon_work_item(
          {.token = first.token, .delay = Milliseconds{0}, .ignore_attempt = true, .has_begun = true}));
    };
    if (first_is_first) abandon_first();
    abandon_work(scene, second.token, Milliseconds{0}, true);
    if (!first_is_first) abandon_first();
    for (int fetch = 0; fetch < 2; ++fetch) {
      const WorkItem item = scene.fetch_work();
      expect(!item.expired, "it is marked although it has begun");
      expect_equal(item.attempt_count, 1U, "the attempt");
      abandon_work(scene, item.token, Milliseconds{0}, true);
      scene.advance(kTimeout);
    }
  }
}

void without_a_timeout_an_activity_waits_for_ever(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(activity("a", 2), "gpu"));
  scene.advance(std::chrono::hours{24 * 365});
  scene.fetch_no_work();
  expect(!scene.fetch_work(any_tag()).expired, "it is marked");
}

// ---- Heartbeats ----

void details_come_with_the_next_fetch(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  const WorkItem first = scene.fetch_work();
  expect_equal(first.heartbeat_details, Payload(), "details of the first attempt");
  take(send(scene, beat(first, "1")));
  take(send(scene, beat(first, "2")));
  take(send(scene, beat(first, {})));
  scene.advance(WorkFetch().lock_timeout);
  const WorkItem second = scene.fetch_work();
  expect_equal(second.attempt_count, 2U, "the attempt");
  expect_equal(second.heartbeat_details, Payload("2"), "details after expiry");
  // They stay until they are replaced. Empty ones are details too.
  abandon_work(scene, second.token);
  const WorkItem third = scene.fetch_work();
  expect_equal(third.heartbeat_details, Payload("2"), "details after giving back");
  take(send(scene, beat(third, "")));
  abandon_work(scene, third.token, Milliseconds{0}, true);
  expect_equal(scene.fetch_work().heartbeat_details, Payload(""), "empty details");
}

void a_heartbeat_alone_does_not_extend_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  const WorkItem item = scene.fetch_work();
  scene.advance(Milliseconds{10'000});
  expect_equal(take(send(scene, beat(item, "1"))), item.locked_until, "until when the lock holds");
  scene.advance(item.locked_until - scene.now());
  expect_equal(scene.fetch_work().attempt_count, 2U, "the attempt");
}

void a_heartbeat_can_extend_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  const WorkItem item = scene.fetch_work();
  scene.advance(Milliseconds{20'000});
  expect_equal(take(send(scene, beat(item, {}, Milliseconds{15'000}))), scene.now() + Milliseconds{15'000},
               "until when the lock holds");
  scene.advance(Milliseconds{14'999});
  scene.fetch_no_work();
  scene.advance(Milliseconds{1});
  scene.fetch_work();
}

void a_heartbeat_of_a_lost_lock_changes_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3), activity("a", 4)});
  const std::vector<WorkItem> items = fetch_activities(scene, 3);
  scene.ack_work(items[1]);
  expect_error(send(scene, beat(items[1], "1")), ProviderErrorKind::kLockLost);
  const OrchestrationItem turn = scene.fetch();
  TurnCommit commit = scene.commit_of(turn);
  commit.cancelled_activities = {4};
  scene.ack(commit);
  expect_error(send(scene, beat(items[2], "1", kTimeout)), ProviderErrorKind::kLockLost);
  const Heartbeat unknown{.token = {"no such token"}, .details = "1", .extend_for = {}};
  expect_error(send(scene, unknown), ProviderErrorKind::kLockLost);

  scene.advance(items[0].locked_until - scene.now());
  expect_error(send(scene, beat(items[0], "late", kTimeout)), ProviderErrorKind::kLockLost);
  const WorkItem again = scene.fetch_work();
  expect_equal(again.heartbeat_details, Payload(), "details that came too late");
  expect_error(send(scene, beat(items[0], "overtaken", kTimeout)), ProviderErrorKind::kLockLost);
  abandon_work(scene, again.token);
  expect_equal(scene.fetch_work().heartbeat_details, Payload(), "details of a token that was overtaken");
}

void heartbeats_fail_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  scene.enqueue_activity(activity("a", 3));
  const std::vector<WorkItem> items = fetch_activities(scene, 2);
  scene.advance(Milliseconds{1'000});
  const std::vector<Heartbeat> beats{beat(items[0], "0", kTimeout),
                                     {.token = {"no such token"}, .details = "1", .extend_for = {}},
                                     beat(items[1], "2")};
  const std::vector<ProviderResult<Timestamp>> answers = scene.store().heartbeat(beats);
  expect_equal(answers.size(), std::size_t{3}, "answers");
  expect_equal(take(answers[0]), scene.now() + kTimeout, "until when the first lock holds");
  expect_error(answers[1], ProviderErrorKind::kLockLost);
  expect_equal(take(answers[2]), items[1].locked_until, "until when the last lock holds");
  expect(scene.store().heartbeat({}).empty(), "answers to no heartbeats");
}

void a_heartbeat_does_not_look_at_the_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2)});
  const WorkItem item = scene.fetch_work();
  scene.end("a");
  take(send(scene, beat(item, "1", Milliseconds{5'000})));
  abandon_work(scene, item.token);
  expect_equal(scene.fetch_work().heartbeat_details, Payload("1"), "details");
}

void suspects_do_not_hide_an_expired_activity(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(timed(tagged(activity("a", 2), "nobody")));
  scene.advance(kTimeout);
  WorkFetch brief;
  brief.lock_timeout = Milliseconds{1};
  expect(scene.fetch_work(brief).expired, "the first is not expired");
  scene.enqueue_activity(timed(tagged(activity("a", 3), "nobody")));
  scene.advance(kTimeout);
  WorkFetch options;
  options.suspects = {.from_attempts = 1, .admit = false};
  expect_equal(scene.fetch_work(options).record.activity_id, EventId{3}, "the one that is no suspect");
}

}  // namespace

ValidationTests activity_timeout_tests() {
  return {
      {"activity_timeout", "an_expired_activity_goes_to_every_worker", &an_expired_activity_goes_to_every_worker},
      {"activity_timeout", "an_expired_activity_is_marked_for_its_own_worker_too",
       &an_expired_activity_is_marked_for_its_own_worker_too},
      {"activity_timeout", "an_expired_activity_stays_expired", &an_expired_activity_stays_expired},
      {"activity_timeout", "a_wait_ends_when_an_expired_activity_is_free_again",
       &a_wait_ends_when_an_expired_activity_is_free_again},
      {"activity_timeout", "an_expired_activity_can_be_failed", &an_expired_activity_can_be_failed},
      {"activity_timeout", "an_expired_activity_claims_no_session", &an_expired_activity_claims_no_session},
      {"activity_timeout", "an_expired_activity_leaves_a_held_session_alone",
       &an_expired_activity_leaves_a_held_session_alone},
      {"activity_timeout", "an_expired_activity_keeps_its_place", &an_expired_activity_keeps_its_place},
      {"activity_timeout", "an_activity_that_was_started_does_not_expire",
       &an_activity_that_was_started_does_not_expire},
      {"activity_timeout", "an_activity_that_was_given_back_uncounted_can_expire",
       &an_activity_that_was_given_back_uncounted_can_expire},
      {"activity_timeout", "an_activity_that_has_begun_does_not_expire_when_it_is_given_back_uncounted",
       &an_activity_that_has_begun_does_not_expire_when_it_is_given_back_uncounted},
      {"activity_timeout", "an_activity_that_has_begun_never_expires", &an_activity_that_has_begun_never_expires},
      {"activity_timeout", "an_activity_that_has_begun_under_a_lost_lock_never_expires",
       &an_activity_that_has_begun_under_a_lost_lock_never_expires},
      {"activity_timeout", "without_a_timeout_an_activity_waits_for_ever",
       &without_a_timeout_an_activity_waits_for_ever},
      {"activity_timeout", "details_come_with_the_next_fetch", &details_come_with_the_next_fetch},
      {"activity_timeout", "a_heartbeat_alone_does_not_extend_the_lock", &a_heartbeat_alone_does_not_extend_the_lock},
      {"activity_timeout", "a_heartbeat_can_extend_the_lock", &a_heartbeat_can_extend_the_lock},
      {"activity_timeout", "a_heartbeat_of_a_lost_lock_changes_nothing", &a_heartbeat_of_a_lost_lock_changes_nothing},
      {"activity_timeout", "heartbeats_fail_alone", &heartbeats_fail_alone},
      {"activity_timeout", "a_heartbeat_does_not_look_at_the_instance", &a_heartbeat_does_not_look_at_the_instance},
      {"activity_timeout", "suspects_do_not_hide_an_expired_activity", &suspects_do_not_hide_an_expired_activity},
  };
}

}  // namespace perdure::testing
