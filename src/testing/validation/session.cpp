// Sessions: who may fetch what, and who takes over when a lock is gone.
#include <atomic>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/session_moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

WorkFetch worker(const std::string& owner, Milliseconds item_lock, Milliseconds session_lock) {
  WorkFetch options = as_worker(owner, session_lock);
  options.lock_timeout = item_lock;
  return options;
}

std::size_t held_by(Scene& scene, const std::string& owner, Where where = Where::current()) {
  return renew_sessions(scene, {owner}, kLongLease, kLongLease, where);
}

void activities_without_a_session_go_to_any_worker(ProviderFactory& factory) {
  Scene scene(factory);
  for (EventId id = 2; id <= 4; ++id) scene.enqueue_activity(activity("a", id));
  expect_equal(scene.fetch_work(as_worker("A")).record.activity_id, EventId{2}, "what A gets");
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{3}, "what B gets");
  expect_equal(scene.fetch_work().record.activity_id, EventId{4}, "what a worker without sessions gets");
  expect_equal(held_by(scene, "A"), std::size_t{0}, "sessions that A holds");
}

void a_free_session_is_claimed_by_the_fetch(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  const WorkItem item = scene.fetch_work(as_worker("A"));
  expect_equal(item.record.session, std::optional<std::string>("s"), "the session of the activity");
  expect_equal(item.attempt_count, 1U, "the attempt");
  expect_equal(held_by(scene, "A"), std::size_t{1}, "sessions that A holds");
  expect_equal(held_by(scene, "B"), std::size_t{0}, "sessions that B holds");
}

void a_session_stays_with_its_worker(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A"));
  expect_equal(scene.fetch_work(as_worker("A")).record.activity_id, EventId{3}, "what A gets");
  expect_equal(held_by(scene, "A"), std::size_t{1}, "sessions that A holds");
}

void a_session_is_closed_to_other_workers(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(as_worker("A"));
  scene.fetch_no_work(as_worker("B"));
  expect_equal(held_by(scene, "B"), std::size_t{0}, "sessions that B holds");
  // What was refused was neither locked nor counted.
  const WorkItem item = scene.fetch_work(as_worker("A"));
  expect_equal(item.record.activity_id, EventId{3}, "what A gets");
  expect_equal(item.attempt_count, 1U, "the attempt");
}

void a_session_is_one_for_all_instances(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(activity("a", 2), "s"));
  scene.enqueue_activity(in_session(activity("b", 2), "s"));
  expect_equal(scene.fetch_work(as_worker("A")).record.instance, std::string("a"), "the instance");
  scene.fetch_no_work(as_worker("B"));
  expect_equal(scene.fetch_work(as_worker("A")).record.instance, std::string("b"), "the instance");
}

void different_sessions_go_to_different_workers(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  enqueue_in_session(scene, "t", 3, 4);
  enqueue_in_session(scene, "s", 5, 5);
  scene.fetch_work(as_worker("A"));
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{3}, "what B gets");
  expect_equal(fetched_ids(scene, as_worker("A")), std::vector<EventId>{5}, "what A gets");
  expect_equal(fetched_ids(scene, as_worker("B")), std::vector<EventId>{4}, "what B gets");
}

void without_an_owner_session_items_are_skipped(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.enqueue_activity(activity("a", 3));
  expect_equal(fetched_ids(scene, {}), std::vector<EventId>{3}, "what a worker without sessions gets");
  expect_equal(scene.fetch_work(as_worker("A")).attempt_count, 1U, "the attempt of what was skipped");
}

void with_an_owner_everything_is_returned_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  enqueue_in_session(scene, "s", 3, 3);
  scene.enqueue_activity(activity("a", 4));
  enqueue_in_session(scene, "t", 5, 5);
  enqueue_in_session(scene, "s", 6, 6);
  expect_equal(fetched_ids(scene, as_worker("A")), std::vector<EventId>{2, 3, 4, 5, 6}, "what A gets");
  expect_equal(held_by(scene, "A"), std::size_t{2}, "sessions that A holds");
}

void items_of_a_session_come_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 4);
  for (EventId id = 2; id <= 4; ++id) {
    const WorkItem item = scene.fetch_work(as_worker("A"));
    expect_equal(item.record.activity_id, id, "the activity");
    scene.ack_work(item);
  }
  scene.fetch_no_work(as_worker("A"));
}

void callers_that_share_an_owner_share_its_sessions(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  const WorkItem first = scene.fetch_work(as_worker("node"));
  const WorkItem second = scene.fetch_work(as_worker("node"));
  expect(!(first.token == second.token), "two activities have the same token");
  scene.ack_work(second);
  scene.ack_work(first);
}

void a_session_is_free_when_its_lock_expires(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(as_worker("B"));
  scene.advance(Milliseconds{1});
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{3}, "what B gets");
}

void a_session_that_was_taken_over_is_lost_to_its_first_worker(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 4);
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(kShortLease);
  scene.fetch_work(as_worker("B"));
  scene.fetch_no_work(as_worker("A"));
  expect_equal(held_by(scene, "A"), std::size_t{0}, "sessions that A holds");
  expect_equal(held_by(scene, "B"), std::size_t{1}, "sessions that B holds");
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{4}, "what B gets");
}

void the_first_worker_may_claim_its_expired_session_again(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 4);
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(kShortLease + kShortLease);
  expect_equal(scene.fetch_work(worker("A", kLongLease, kShortLease)).record.activity_id, EventId{3}, "what A gets");
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(as_worker("B"));
}

void each_fetch_extends_the_session(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 4);
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(Milliseconds{600});
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(kShortLease - Milliseconds{1});
  scene.fetch_no_work(as_worker("B"));
  scene.advance(Milliseconds{1});
  scene.fetch_work(as_worker("B"));
}

void of_many_workers_one_claims_a_session(ProviderFactory& factory) {
  Scene scene(factory);
  constexpr std::size_t kWorkers = 8;
  enqueue_in_session(scene, "s", 2, 2 + kWorkers);
  std::atomic<int> fetched = 0;
  in_parallel(kWorkers, [&](std::size_t i) {
    if (take(scene.store().fetch_work_item(as_worker("worker " + std::to_string(i))))) ++fetched;
  });
  expect_equal(fetched.load(), 1, "workers that got an activity of the session");
}

void the_new_owner_gets_what_the_old_one_left(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  scene.fetch_work(worker("A", kShortLease + kShortLease, kShortLease));
  scene.advance(kShortLease);
  expect_equal(scene.fetch_work(as_worker("B")).record.activity_id, EventId{3}, "what B gets first");
  scene.fetch_no_work(as_worker("B"));
  scene.advance(kShortLease);
  scene.fetch_no_work(as_worker("A"));
  const WorkItem again = scene.fetch_work(as_worker("B"));
  expect_equal(again.record.activity_id, EventId{2}, "what B gets when the lock of A is gone");
  expect_equal(again.attempt_count, 2U, "its attempt");
}

void an_expired_item_of_a_held_session_goes_to_its_holder(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(worker("A", kShortLease, kLongLease));
  scene.advance(kShortLease);
  scene.fetch_no_work(as_worker("B"));
  scene.fetch_no_work();
  const WorkItem again = scene.fetch_work(as_worker("A"));
  expect_equal(again.attempt_count, 2U, "the attempt");
}

void when_both_locks_are_gone_another_worker_takes_both(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 3);
  const WorkItem lost = scene.fetch_work(worker("A", kShortLease, kShortLease));
  scene.advance(kShortLease);
  const std::vector<EventId> ids = fetched_ids(scene, as_worker("B"));
  // The other one has been waiting since it was queued, this one only since its lock was gone.
  expect_equal(ids, std::vector<EventId>{3, 2}, "what B gets");
  expect_error(scene.store().ack_work_item({.token = lost.token, .completion = completion(lost.record)}),
               ProviderErrorKind::kLockLost);
  scene.fetch_no_work(as_worker("A"));
}

void an_activity_outlives_its_session(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {in_session(activity("a", 2), "s"), in_session(activity("a", 3), "s")});
  const WorkItem mine = scene.fetch_work(worker("A", kLongLease, kShortLease));
  scene.advance(kShortLease);
  scene.fetch_work(as_worker("B"));
  take(scene.store().renew_work_lock(mine.token, kLongLease));
  scene.ack_work(mine);
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.messages.size(), std::size_t{1}, "messages");
  expect(item.messages.front().record.kind == MessageKind::kActivityCompleted, "the completion is not there");
}

void a_fetch_claims_no_more_sessions_than_allowed(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  enqueue_in_session(scene, "t", 3, 3);
  enqueue_in_session(scene, "s", 4, 4);
  enqueue_in_session(scene, "u", 5, 5);
  scene.enqueue_activity(activity("a", 6));
  WorkFetch one = as_worker("A");
  one.session->max_sessions = 1;
  expect_equal(fetched_ids(scene, one), std::vector<EventId>{2, 4, 6}, "what an owner who may hold one session gets");
  expect_equal(held_by(scene, "A"), std::size_t{1}, "sessions that A holds");
  // The bound is of the owner, not of the fetch.
  expect_equal(fetched_ids(scene, one), std::vector<EventId>{}, "what the next such fetch gets");
  one.session->max_sessions = 2;
  expect_equal(fetched_ids(scene, one), std::vector<EventId>{3}, "what it gets with room for one more");
  expect_equal(fetched_ids(scene, as_worker("B")), std::vector<EventId>{5}, "what is left for B");
}

void at_capacity_a_worker_still_serves_what_it_holds(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  scene.fetch_work(worker("A", kLongLease, kShortLease));
  enqueue_in_session(scene, "t", 3, 3);
  enqueue_in_session(scene, "s", 4, 5);
  scene.enqueue_activity(activity("a", 6));
  WorkFetch full = worker("A", kLongLease, kShortLease);
  full.session->max_sessions = 1;
  expect_equal(scene.fetch_work(full).record.activity_id, EventId{4}, "what A gets at capacity");
  expect_equal(fetched_ids(scene, full), std::vector<EventId>{5, 6}, "what A gets then");
  // What lapsed is held by nobody: it counts no longer, and would be a new one.
  enqueue_in_session(scene, "s", 7, 7);
  scene.advance(kShortLease);
  expect_equal(fetched_ids(scene, full), std::vector<EventId>{3}, "what A gets when its session has lapsed");
  expect_equal(fetched_ids(scene, as_worker("B")), std::vector<EventId>{7}, "what B gets");
}

void a_suspect_that_is_refused_claims_no_session(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_in_session(scene, "s", 2, 2);
  abandon_work(scene, scene.fetch_work(worker("A", kShortLease, kShortLease)).token);
  enqueue_in_session(scene, "t", 3, 3);
  scene.advance(kShortLease);
  WorkFetch options = as_worker("B");
  options.session->max_sessions = 1;
  options.suspects = {.from_attempts = 1, .admit = false};
  expect_equal(fetched_ids(scene, options), std::vector<EventId>{3}, "what is no suspect");
}

}  // namespace

ValidationTests session_tests() {
  return {
      {"session", "activities_without_a_session_go_to_any_worker", &activities_without_a_session_go_to_any_worker},
      {"session", "a_free_session_is_claimed_by_the_fetch", &a_free_session_is_claimed_by_the_fetch},
      {"session", "a_session_stays_with_its_worker", &a_session_stays_with_its_worker},
      {"session", "a_session_is_closed_to_other_workers", &a_session_is_closed_to_other_workers},
      {"session", "a_session_is_one_for_all_instances", &a_session_is_one_for_all_instances},
      {"session", "different_sessions_go_to_different_workers", &different_sessions_go_to_different_workers},
      {"session", "without_an_owner_session_items_are_skipped", &without_an_owner_session_items_are_skipped},
      {"session", "with_an_owner_everything_is_returned_in_order", &with_an_owner_everything_is_returned_in_order},
      {"session", "items_of_a_session_come_in_order", &items_of_a_session_come_in_order},
      {"session", "callers_that_share_an_owner_share_its_sessions", &callers_that_share_an_owner_share_its_sessions},
      {"session", "a_session_is_free_when_its_lock_expires", &a_session_is_free_when_its_lock_expires},
      {"session", "a_session_that_was_taken_over_is_lost_to_its_first_worker",
       &a_session_that_was_taken_over_is_lost_to_its_first_worker},
      {"session", "the_first_worker_may_claim_its_expired_session_again",
       &the_first_worker_may_claim_its_expired_session_again},
      {"session", "each_fetch_extends_the_session", &each_fetch_extends_the_session},
      {"session", "of_many_workers_one_claims_a_session", &of_many_workers_one_claims_a_session},
      {"session", "the_new_owner_gets_what_the_old_one_left", &the_new_owner_gets_what_the_old_one_left},
      {"session", "an_expired_item_of_a_held_session_goes_to_its_holder",
       &an_expired_item_of_a_held_session_goes_to_its_holder},
      {"session", "when_both_locks_are_gone_another_worker_takes_both",
       &when_both_locks_are_gone_another_worker_takes_both},
      {"session", "an_activity_outlives_its_session", &an_activity_outlives_its_session},
      {"session", "a_fetch_claims_no_more_sessions_than_allowed", &a_fetch_claims_no_more_sessions_than_allowed},
      {"session", "at_capacity_a_worker_still_serves_what_it_holds", &at_capacity_a_worker_still_serves_what_it_holds},
      {"session", "a_suspect_that_is_refused_claims_no_session", &a_suspect_that_is_refused_claims_no_session},
  };
}

}  // namespace perdure::testing
