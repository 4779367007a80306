// Sessions: how many an owner may hold, and when that changes.
#include <atomic>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/session_moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

using EventIds = std::vector<EventId>;

// A worker whose owner may hold that many sessions. Activities stay locked for longer than any test.
WorkFetch holding_up_to(std::size_t max_sessions, const std::string& owner, Milliseconds session_lock = kLongLease) {
  WorkFetch options = as_worker(owner, session_lock);
  options.lock_timeout = kNoDeadline;
  options.session->max_sessions = max_sessions;
  return options;
}

// One session more for this owner, with nothing in flight.
void hold(Scene& scene, const std::string& owner, const std::string& session, EventId id,
          Milliseconds session_lock = kLongLease, Where where = Where::current()) {
  enqueue_in_session(scene, session, id, id);
  const WorkItem item = scene.fetch_work(as_worker(owner, session_lock), where);
  expect_equal(item.record.activity_id, id, "the activity that was fetched", where);
  take(scene.store().ack_work_item({.token = item.token, .completion = {}}), where);
}

std::size_t give_up(Scene& scene, const std::vector<std::string>& owners,
                    Milliseconds idle_timeout = Milliseconds::max(), Where where = Where::current()) {
  return renew_sessions(scene, owners, Milliseconds{0}, idle_timeout, where);
}

void capacity_counts_what_is_held_not_what_is_in_flight(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  hold(scene, "A", "t", 3);
  enqueue_in_session(scene, "u", 4, 4);
  scene.fetch_no_work(holding_up_to(2, "A"));
  // What was refused was neither locked nor counted.
  expect_equal(scene.fetch_work(holding_up_to(3, "A")).attempt_count, 1U, "the attempt");
}

void held_and_new_sessions_count_together(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  enqueue_in_session(scene, "t", 3, 3);
  enqueue_in_session(scene, "u", 4, 4);
  enqueue_in_session(scene, "t", 5, 5);
  enqueue_in_session(scene, "s", 6, 6);
  expect_equal(fetched_ids(scene, holding_up_to(2, "A")), EventIds{3, 5, 6}, "what A gets with room for one more");
}

void an_owner_with_more_than_it_may_hold_keeps_it(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  hold(scene, "A", "t", 3);
  enqueue_in_session(scene, "u", 4, 4);
  enqueue_in_session(scene, "t", 5, 5);
  enqueue_in_session(scene, "s", 6, 6);
  expect_equal(fetched_ids(scene, holding_up_to(1, "A")), EventIds{5, 6}, "what A gets beyond its capacity");
}

void without_capacity_no_session_is_claimed(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.enqueue_activity(activity("a", 3));
  expect_equal(fetched_ids(scene, holding_up_to(0, "A")), EventIds{3}, "what A gets");
  expect_equal(renew_sessions(scene, {"A"}, kLongLease, kLongLease), std::size_t{0}, "sessions of A");
}

void each_owner_has_its_own_capacity(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  enqueue_in_session(scene, "t", 3, 3);
  enqueue_in_session(scene, "u", 4, 4);
  scene.fetch_no_work(holding_up_to(1, "A"));
  expect_equal(fetched_ids(scene, holding_up_to(1, "B")), EventIds{3}, "what B gets");
  scene.fetch_no_work(holding_up_to(1, "B"));
  expect_equal(fetched_ids(scene, holding_up_to(2, "A")), EventIds{4}, "what A gets");
}

void the_end_of_a_lock_frees_capacity(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2, kShortLease);
  enqueue_in_session(scene, "t", 3, 3);
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(holding_up_to(1, "A"));
  scene.advance(Milliseconds{1});
  expect_equal(fetched_ids(scene, holding_up_to(1, "A")), EventIds{3}, "what A gets when its lock has ended");
}

void a_session_that_was_taken_over_counts_for_its_new_owner(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2, kShortLease);
  scene.advance(kShortLease);
  hold(scene, "B", "s", 3);
  enqueue_in_session(scene, "t", 4, 4);
  enqueue_in_session(scene, "u", 5, 5);
  scene.fetch_no_work(holding_up_to(1, "B"));
  expect_equal(fetched_ids(scene, holding_up_to(1, "A")), EventIds{4}, "what A gets");
}

void renewal_keeps_capacity_in_use(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2, kShortLease);
  enqueue_in_session(scene, "t", 3, 3);
  scene.advance(kShortLease - Milliseconds{1});
  expect_equal(renew_sessions(scene, {"A"}, kShortLease, kLongLease), std::size_t{1}, "sessions that were renewed");
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(holding_up_to(1, "A"));
  scene.advance(Milliseconds{1});
  scene.fetch_work(holding_up_to(1, "A"));
}

void callers_of_one_owner_share_its_capacity(ProviderFactory& factory) {
  Scene scene(factory);
  constexpr std::size_t kWorkers = 8;
  constexpr std::size_t kSessions = 3;
  for (EventId id = 2; id < 2 + kWorkers; ++id) enqueue_in_session(scene, "session " + std::to_string(id), id, id);
  std::atomic<std::size_t> fetched = 0;
  in_parallel(kWorkers, [&](std::size_t) {
    if (take(scene.store().fetch_work_item(holding_up_to(kSessions, "A")))) ++fetched;
  });
  expect_equal(fetched.load(), kSessions, "workers that got an activity");
}

// ---- Giving up ----

void a_session_can_be_given_up(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  enqueue_in_session(scene, "s", 3, 3);
  scene.fetch_no_work(as_worker("B"));
  expect_equal(give_up(scene, {"A"}), std::size_t{1}, "sessions that were given up");
  expect_equal(give_up(scene, {"A"}), std::size_t{0}, "sessions that were given up twice");
  enqueue_in_session(scene, "t", 4, 4);
  expect_equal(scene.fetch_work(holding_up_to(1, "B")).record.activity_id, EventId{3}, "what B gets");
  expect_equal(fetched_ids(scene, holding_up_to(1, "A")), EventIds{4}, "what A gets, whose capacity is free");
}

void an_activity_outlives_the_giving_up_of_its_session(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {in_session(activity("a", 2), "s")});
  const WorkItem item = scene.fetch_work(as_worker("A"));
  expect_equal(give_up(scene, {"A"}), std::size_t{1}, "sessions that were given up");
  take(scene.store().renew_work_lock(item.token, kLongLease));
  scene.ack_work(item);
  expect_messages(scene.fetch(), {completion(item.record)});
}

void giving_up_concerns_the_named_owners_only(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  hold(scene, "B", "t", 3);
  hold(scene, "C", "u", 4);
  expect_equal(give_up(scene, {"A", "C", "A", "nobody"}), std::size_t{2}, "sessions that were given up");
  for (EventId id = 5; id <= 7; ++id) enqueue_in_session(scene, std::string(1, "stu"[id - 5]), id, id);
  expect_equal(fetched_ids(scene, as_worker("D")), EventIds{5, 7}, "what D gets");
}

// They are released as after every renewal, but were no longer in use.
void idle_sessions_are_released_and_not_counted(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  scene.advance(kShortLease);
  hold(scene, "A", "t", 3);
  expect_equal(give_up(scene, {"A"}, kShortLease), std::size_t{1}, "sessions used within a second");
  enqueue_in_session(scene, "s", 4, 4);
  enqueue_in_session(scene, "t", 5, 5);
  expect_equal(fetched_ids(scene, as_worker("B")), EventIds{4, 5}, "what B gets");
}

void a_session_that_was_given_up_can_be_forgotten(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  expect_equal(take(scene.store().cleanup_sessions()), std::size_t{0}, "held sessions that were forgotten");
  expect_equal(give_up(scene, {"A"}), std::size_t{1}, "sessions that were given up");
  expect_equal(take(scene.store().cleanup_sessions()), std::size_t{1}, "sessions that were forgotten");
}

// ---- Waiting ----

void work_beyond_capacity_does_not_end_a_wait(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  enqueue_in_session(scene, "t", 3, 3);
  expect_nothing_to_do(scene, for_activities(holding_up_to(1, "A")));
  expect_nothing_to_do(scene, for_activities(holding_up_to(0, "B")));
  const Timestamp deadline = scene.now() + kLongLease;
  for (const WorkFetch& fits : {holding_up_to(2, "A"), holding_up_to(1, "B")}) {
    expect(take(scene.store().wait_for_work(for_activities(fits), deadline)), "the work was not seen");
  }
}

void a_wait_at_capacity_ends_when_a_lock_ends(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "later", 2, kLongLease);
  hold(scene, "A", "s", 3, kShortLease);
  enqueue_in_session(scene, "t", 4, 4);
  Waiting too_short(scene, for_activities(holding_up_to(2, "A")), kShortLease - Milliseconds{1});
  Waiting waiting(scene, for_activities(holding_up_to(2, "A")));
  scene.advance(kShortLease - Milliseconds{1});
  expect_false(too_short);
  scene.advance(Milliseconds{1});
  expect_true(waiting);
  scene.fetch_work(holding_up_to(2, "A"));
}

void a_wait_at_capacity_ends_for_a_session_that_is_held(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  Waiting waiting(scene, for_activities(holding_up_to(1, "A")));
  enqueue_in_session(scene, "t", 3, 3);
  enqueue_in_session(scene, "s", 4, 4);
  expect_true(waiting);
}

void a_wait_ends_when_a_session_is_given_up(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(activity("a", 2, "Other"), "t"));
  WorkFetch other_work = holding_up_to(1, "A");
  other_work.filter.activities = {"Other"};
  WorkFetch same_session = holding_up_to(1, "B");
  same_session.filter.activities = {"Work"};
  Waiting for_nothing(scene, for_activities(holding_up_to(0, "C")), kShortLease);
  for (EventId id = 3; id <= 22; ++id) {
    enqueue_in_session(scene, "s", id, id);
    WorkFetch work = as_worker("A");
    work.filter.activities = {"Work"};
    abandon_work(scene, scene.fetch_work(work).token);
    Waiting for_the_session(scene, for_activities(same_session));
    Waiting for_capacity(scene, for_activities(other_work));
    expect_equal(give_up(scene, {"A"}), std::size_t{1}, "sessions that were given up");
    expect_true(for_the_session);
    expect_true(for_capacity);
    take(scene.store().ack_work_item({.token = scene.fetch_work(same_session).token, .completion = {}}));
    expect_equal(give_up(scene, {"B"}), std::size_t{1}, "sessions that were given up");
  }
  scene.advance(kShortLease);
  expect_false(for_nothing);
}

void a_wait_ends_when_a_session_lock_gets_shorter(ProviderFactory& factory) {
  Scene scene(factory);
  hold(scene, "A", "s", 2);
  enqueue_in_session(scene, "s", 3, 4);
  {
    Waiting waiting(scene, for_activities(as_worker("B")));
    expect_equal(renew_sessions(scene, {"A"}, kShortLease, kLongLease), std::size_t{1}, "sessions that were renewed");
    scene.advance(kShortLease);
    expect_true(waiting);
  }
  scene.fetch_work(holding_up_to(1, "A", kLongLease));
  Waiting waiting(scene, for_activities(as_worker("B")));
  enqueue_in_session(scene, "s", 5, 5);
  scene.fetch_work(holding_up_to(1, "A", kShortLease));
  scene.advance(kShortLease);
  expect_true(waiting);
}

// One that may claim none serves what another worker of its owner has claimed.
void a_wait_ends_when_the_owner_claims_a_session(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  Waiting waiting(scene, for_activities(holding_up_to(0, "A")));
  scene.fetch_work(holding_up_to(1, "A"));
  expect_true(waiting);
}

}  // namespace

ValidationTests session_capacity_tests() {
  return {
      {"session_capacity", "capacity_counts_what_is_held_not_what_is_in_flight",
       &capacity_counts_what_is_held_not_what_is_in_flight},
      {"session_capacity", "held_and_new_sessions_count_together", &held_and_new_sessions_count_together},
      {"session_capacity", "an_owner_with_more_than_it_may_hold_keeps_it",
       &an_owner_with_more_than_it_may_hold_keeps_it},
      {"session_capacity", "without_capacity_no_session_is_claimed", &without_capacity_no_session_is_claimed},
      {"session_capacity", "each_owner_has_its_own_capacity", &each_owner_has_its_own_capacity},
      {"session_capacity", "the_end_of_a_lock_frees_capacity", &the_end_of_a_lock_frees_capacity},
      {"session_capacity", "a_session_that_was_taken_over_counts_for_its_new_owner",
       &a_session_that_was_taken_over_counts_for_its_new_owner},
      {"session_capacity", "renewal_keeps_capacity_in_use", &renewal_keeps_capacity_in_use},
      {"session_capacity", "callers_of_one_owner_share_its_capacity", &callers_of_one_owner_share_its_capacity},
      {"session_capacity", "a_session_can_be_given_up", &a_session_can_be_given_up},
      {"session_capacity", "an_activity_outlives_the_giving_up_of_its_session",
       &an_activity_outlives_the_giving_up_of_its_session},
      {"session_capacity", "giving_up_concerns_the_named_owners_only", &giving_up_concerns_the_named_owners_only},
      {"session_capacity", "idle_sessions_are_released_and_not_counted", &idle_sessions_are_released_and_not_counted},
      {"session_capacity", "a_session_that_was_given_up_can_be_forgotten",
       &a_session_that_was_given_up_can_be_forgotten},
      {"session_capacity", "work_beyond_capacity_does_not_end_a_wait", &work_beyond_capacity_does_not_end_a_wait},
      {"session_capacity", "a_wait_at_capacity_ends_when_a_lock_ends", &a_wait_at_capacity_ends_when_a_lock_ends},
      {"session_capacity", "a_wait_at_capacity_ends_for_a_session_that_is_held",
       &a_wait_at_capacity_ends_for_a_session_that_is_held},
      {"session_capacity", "a_wait_ends_when_a_session_is_given_up", &a_wait_ends_when_a_session_is_given_up},
      {"session_capacity", "a_wait_ends_when_a_session_lock_gets_shorter",
       &a_wait_ends_when_a_session_lock_gets_shorter},
      {"session_capacity", "a_wait_ends_when_the_owner_claims_a_session", &a_wait_ends_when_the_owner_claims_a_session},
  };
}

}  // namespace perdure::testing
