// Sessions: renewal, what counts as use, cleanup, and activities that are given back.
#include <vector>

#include "testing/validation/scene.h"
#include "testing/validation/session_moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

std::size_t cleanup(Scene& scene, Where where = Where::current()) {
  return take(scene.store().cleanup_sessions(), where);
}

void renewal_counts_the_sessions_of_its_owners(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{1}, "sessions of A");
  enqueue_in_session(scene, "t", 3, 3);
  scene.fetch_work(as_worker("A"));
  enqueue_in_session(scene, "u", 4, 4);
  scene.fetch_work(as_worker("B"));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{2}, "sessions of A");
  expect_equal(renew_sessions(scene, {"A", "B", "C"}, kLongLease, kLongLease), std::size_t{3},
               "sessions of A, B and C");
}

void renewal_leaves_the_sessions_of_others_alone(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A", kShortLease));
  expect_equal(renew_sessions(scene, {"B"}, kLongLease, kLongLease), std::size_t{0}, "sessions of B");
  scene.advance(kShortLease);
  scene.fetch_work(as_worker("B"));
}

void renewal_without_sessions_renews_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{0}, "sessions of an unknown owner");
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {}, kLongLease, kLongLease), std::size_t{0}, "sessions of nobody");
}

// Released before its lock expires: other nodes may claim it, and its owner may claim another.
void renewal_releases_idle_sessions(ProviderFactory& factory) {
  Scene scene(factory);
  WorkFetch one = as_worker("A");
  one.session->max_sessions = 1;
  enqueue_in_session(scene, "s", 2, 3);
  scene.ack_work(scene.fetch_work(one));
  scene.ack_work(scene.fetch_work(one));
  enqueue_in_session(scene, "t", 4, 4);
  scene.advance(Milliseconds{500});
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{501}), std::size_t{1},
               "sessions used within 501 ms");
  scene.fetch_no_work(one);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{500}), std::size_t{0},
               "sessions used within 500 ms");
  expect_equal(scene.fetch_work(one).record.activity_id, EventId{4}, "what its owner gets");
  enqueue_in_session(scene, "s", 5, 5);
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{5}, "what another gets");
}

void renewal_tells_idle_sessions_from_others(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "idle", 2, 2);
  scene.fetch_work(as_worker("A"));
  enqueue_in_session(scene, "idle too", 3, 3);
  scene.fetch_work(as_worker("B"));
  scene.advance(Milliseconds{500});
  enqueue_in_session(scene, "used", 4, 4);
  scene.fetch_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{500}), std::size_t{1},
               "sessions used within 500 ms");
  enqueue_in_session(scene, "idle", 5, 5);
  enqueue_in_session(scene, "idle too", 6, 6);
  enqueue_in_session(scene, "used", 7, 7);
  expect_equal(fetched_ids(scene, as_worker("C")), std::vector<EventId>{5}, "what is free");
}

void a_wait_ends_when_an_idle_session_is_released(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A"));
  Waiting waiting(scene, for_activities(as_worker("B")));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{0}), std::size_t{0},
               "sessions used within no time");
  expect_true(waiting);
}

void a_renewal_does_not_count_as_use(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(as_worker("A"));
  scene.advance(Milliseconds{500});
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{501}), std::size_t{1},
               "sessions used within 501 ms");
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{500}), std::size_t{0},
               "sessions used within 500 ms");
}

void an_expired_session_is_not_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A", kShortLease));
  scene.advance(kShortLease);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{0},
               "expired sessions that were renewed");
  scene.fetch_work(as_worker("B"));
}

void renewal_holds_a_session_beyond_its_first_lock(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A", kShortLease));
  scene.advance(Milliseconds{900});
  expect_equal(renew_sessions(scene, {"A"}, kShortLease, kLongLease), std::size_t{1}, "sessions of A");
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(as_worker("B"));
  scene.advance(Milliseconds{1});
  scene.fetch_work(as_worker("B"));
}

void a_fetch_counts_as_use(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A"));
  scene.advance(kShortLease);
  scene.fetch_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions used within 200 ms");
}

void an_ack_counts_as_use(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  const WorkItem item = scene.fetch_work(as_worker("A"));
  const WorkItem dropped = scene.fetch_work(as_worker("A"));
  scene.advance(kShortLease);
  scene.ack_work(item);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions used within 200 ms");
  scene.advance(kShortLease);
  take(scene.store().ack_work_item({.token = dropped.token, .completion = {}}));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions used within 200 ms");
  scene.advance(kShortLease);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{0},
               "sessions used within 200 ms");
}

void renewing_an_activity_counts_as_use(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  const WorkItem item = scene.fetch_work(as_worker("A"));
  scene.advance(kShortLease);
  take(scene.store().renew_work_lock(item.token, kLongLease));
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions used within 200 ms");
  scene.advance(kShortLease);
  const Heartbeat beat{.token = item.token, .details = {}, .extend_for = {}};
  take(scene.store().heartbeat({&beat, 1}).front());
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions used within 200 ms");
  scene.advance(kShortLease);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{0},
               "sessions used within 200 ms");
}

// The session serves the instance, whoever holds it.
void use_counts_for_whoever_holds_the_session_now(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  const WorkItem old = scene.fetch_work(as_worker("A", kShortLease));
  scene.advance(kShortLease);
  scene.fetch_work(as_worker("B"));
  scene.advance(kShortLease);
  scene.ack_work(old);
  expect_equal(renew_sessions(scene, {"B"}, kLongLease, Milliseconds{200}), std::size_t{1},
               "sessions of B after the ack");
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, Milliseconds{200}), std::size_t{0}, "sessions of A");
  scene.advance(kShortLease);
  expect_equal(renew_sessions(scene, {"B"}, kLongLease, Milliseconds{200}), std::size_t{0}, "idle sessions of B");
}

void use_does_not_revive_an_expired_session(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  const WorkItem item = scene.fetch_work(as_worker("A", kShortLease));
  scene.advance(kShortLease);
  take(scene.store().renew_work_lock(item.token, kLongLease));
  scene.ack_work(item);
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{0}, "sessions of A");
  scene.fetch_work(as_worker("B"));
}

void cleanup_forgets_sessions_that_nobody_needs(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  enqueue_in_session(scene, "t", 3, 3);
  scene.ack_work(scene.fetch_work(as_worker("A", kShortLease)));
  scene.ack_work(scene.fetch_work(as_worker("A", kShortLease)));
  scene.advance(kShortLease);
  expect_equal(cleanup(scene), std::size_t{2}, "sessions that were forgotten");
  expect_equal(cleanup(scene), std::size_t{0}, "sessions that were forgotten twice");
}

void cleanup_keeps_sessions_with_activities(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "queued", 2, 3);
  enqueue_in_session(scene, "locked", 4, 4);
  WorkFetch all = as_worker("A", kShortLease);
  all.limit = 3;
  const WorkBatch batch = take(scene.store().fetch_work_items(all));
  expect_equal(batch.items.size(), std::size_t{3}, "activities");
  scene.ack_work(batch.items[0]);
  take(scene.store().abandon_work_item({.token = batch.items[1].token}));
  scene.advance(kShortLease);
  expect_equal(cleanup(scene), std::size_t{0}, "sessions that were forgotten");
  scene.ack_work(batch.items[2]);
  expect_equal(cleanup(scene), std::size_t{1}, "sessions that were forgotten");
}

void cleanup_keeps_sessions_that_are_held(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.ack_work(scene.fetch_work(as_worker("A", kShortLease)));
  scene.advance(kShortLease - Milliseconds{1});
  expect_equal(cleanup(scene), std::size_t{0}, "sessions that were forgotten");
  enqueue_in_session(scene, "s", 3, 3);
  scene.fetch_no_work(as_worker("B"));
  scene.fetch_work(as_worker("A"));
}

void a_forgotten_session_can_come_back(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.ack_work(scene.fetch_work(as_worker("A", kShortLease)));
  scene.advance(kShortLease);
  expect_equal(cleanup(scene), std::size_t{1}, "sessions that were forgotten");
  enqueue_in_session(scene, "s", 3, 4);
  scene.fetch_work(as_worker("B"));
  scene.fetch_no_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {"B"}, kLongLease, kLongLease), std::size_t{1}, "sessions of B");
}

void an_activity_that_was_given_back_stays_in_its_session(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  const WorkItem item = scene.fetch_work(as_worker("A"));
  take(scene.store().abandon_work_item({.token = item.token}));
  scene.fetch_no_work(as_worker("B"));
  const WorkItem again = scene.fetch_work(as_worker("A"));
  expect_equal(again.record.session, std::optional<std::string>("s"), "the session");
  expect_equal(again.attempt_count, 2U, "the attempt");
}

void an_activity_of_a_session_can_be_given_back_uncounted(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  const WorkItem item = scene.fetch_work(as_worker("A"));
  take(scene.store().abandon_work_item({.token = item.token, .delay = kShortLease, .ignore_attempt = true}));
  scene.fetch_no_work(as_worker("A"));
  scene.advance(kShortLease);
  expect_equal(scene.fetch_work(as_worker("A")).attempt_count, 1U, "the attempt");
}

void an_owner_who_is_named_twice_counts_once(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(as_worker("A"));
  expect_equal(renew_sessions(scene, {"A", "A"}, kLongLease, kLongLease), std::size_t{1}, "sessions that were renewed");
}

}  // namespace

ValidationTests session_upkeep_tests() {
  return {
      {"session_upkeep", "renewal_counts_the_sessions_of_its_owners", &renewal_counts_the_sessions_of_its_owners},
      {"session_upkeep", "renewal_leaves_the_sessions_of_others_alone", &renewal_leaves_the_sessions_of_others_alone},
      {"session_upkeep", "renewal_without_sessions_renews_nothing", &renewal_without_sessions_renews_nothing},
      {"session_upkeep", "renewal_releases_idle_sessions", &renewal_releases_idle_sessions},
      {"session_upkeep", "renewal_tells_idle_sessions_from_others", &renewal_tells_idle_sessions_from_others},
      {"session_upkeep", "a_wait_ends_when_an_idle_session_is_released", &a_wait_ends_when_an_idle_session_is_released},
      {"session_upkeep", "a_renewal_does_not_count_as_use", &a_renewal_does_not_count_as_use},
      {"session_upkeep", "an_expired_session_is_not_renewed", &an_expired_session_is_not_renewed},
      {"session_upkeep", "renewal_holds_a_session_beyond_its_first_lock",
       &renewal_holds_a_session_beyond_its_first_lock},
      {"session_upkeep", "a_fetch_counts_as_use", &a_fetch_counts_as_use},
      {"session_upkeep", "an_ack_counts_as_use", &an_ack_counts_as_use},
      {"session_upkeep", "renewing_an_activity_counts_as_use", &renewing_an_activity_counts_as_use},
      {"session_upkeep", "use_counts_for_whoever_holds_the_session_now", &use_counts_for_whoever_holds_the_session_now},
      {"session_upkeep", "use_does_not_revive_an_expired_session", &use_does_not_revive_an_expired_session},
      {"session_upkeep", "cleanup_forgets_sessions_that_nobody_needs", &cleanup_forgets_sessions_that_nobody_needs},
      {"session_upkeep", "cleanup_keeps_sessions_with_activities", &cleanup_keeps_sessions_with_activities},
      {"session_upkeep", "cleanup_keeps_sessions_that_are_held", &cleanup_keeps_sessions_that_are_held},
      {"session_upkeep", "a_forgotten_session_can_come_back", &a_forgotten_session_can_come_back},
      {"session_upkeep", "an_activity_that_was_given_back_stays_in_its_session",
       &an_activity_that_was_given_back_stays_in_its_session},
      {"session_upkeep", "an_activity_of_a_session_can_be_given_back_uncounted",
       &an_activity_of_a_session_can_be_given_back_uncounted},
      {"session_upkeep", "an_owner_who_is_named_twice_counts_once", &an_owner_who_is_named_twice_counts_once},
  };
}

}  // namespace perdure::testing
