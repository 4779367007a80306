// How locks end: by time, by giving back, by commit; and how they are made longer.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void an_expired_lock_is_gone_at_its_very_end(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem in_time = scene.wake("order");
  scene.advance(kLockTimeout - Milliseconds{1});
  scene.ack(scene.commit_of(in_time));
  const OrchestrationItem late = scene.wake("order");
  scene.advance(kLockTimeout);
  expect_error(scene.store().ack_orchestration_item(scene.commit_of(late)), Kind::kLockLost);
  const OrchestrationItem again = scene.fetch();
  expect(again.messages == late.messages, "the messages are not the same");
  expect_error(scene.store().ack_orchestration_item(scene.commit_of(late)), Kind::kLockLost);
  scene.ack(scene.commit_of(again));
}

void abandoning_releases_the_lock_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  abandon(scene, item.token);
  const OrchestrationItem again = scene.fetch();
  expect(again.messages == item.messages, "the messages are not the same");
  expect(again.token != item.token, "the token was given out twice");
}

void an_expired_token_can_still_abandon(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  scene.advance(kLockTimeout * 2);
  abandon(scene, item.token, Milliseconds{100});
  scene.fetch_nothing();
  expect_error(scene.store().abandon_orchestration_item({.token = item.token}), Kind::kLockLost);
  scene.fetch_nothing();
  scene.advance(Milliseconds{100});
  scene.fetch();
}

void a_commit_releases_the_lock_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  scene.enqueue(event_message("order", "next"));
  scene.ack(scene.commit_of(item));
  expect_messages(scene.fetch(), {event_message("order", "next")});
}

void concurrent_fetches_respect_a_lock_until_it_expires(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.wake("order");
  for (int step = 0; step < 5; ++step) {
    in_parallel(5, [&](std::size_t) { scene.fetch_nothing(); });
    scene.advance(kLockTimeout / 5);
  }
  scene.fetch();
}

void an_instance_lock_can_be_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  scene.advance(kLockTimeout - Milliseconds{1});
  const Timestamp until = take(scene.store().renew_orchestration_lock(item.token, Milliseconds{10'000}));
  expect_equal(until, scene.now() + Milliseconds{10'000}, "until when the lock holds");
  scene.advance(Milliseconds{9'999});
  scene.fetch_nothing();
  scene.ack(scene.commit_of(item));
}

void renewing_sets_the_end_of_a_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const OrchestrationItem item = scene.wake("order");
  const WorkItem work = scene.fetch_work();
  take(scene.store().renew_orchestration_lock(item.token, Milliseconds{10}));
  take(scene.store().renew_work_lock(work.token, Milliseconds{10}));
  scene.advance(Milliseconds{10});
  scene.fetch();
  scene.fetch_work();
}

void an_expired_instance_lock_cannot_be_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  scene.advance(kLockTimeout);
  expect_error(scene.store().renew_orchestration_lock(item.token, kLockTimeout), Kind::kLockLost);
  scene.fetch();
}

void an_activity_lock_can_be_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  expect_equal(work.locked_until, scene.now() + kWorkLock, "locked_until");
  scene.advance(kWorkLock * 6 / 10);
  expect_equal(take(scene.store().renew_work_lock(work.token, kWorkLock)), scene.now() + kWorkLock,
               "until when the lock holds");
  scene.advance(kWorkLock * 6 / 10);
  scene.fetch_no_work();
  scene.advance(kWorkLock * 4 / 10 - Milliseconds{1});
  scene.fetch_no_work();
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  expect_messages(scene.fetch(), {completion(work.record)});
}

void an_activity_lock_that_ended_cannot_be_renewed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem expired = scene.fetch_work();
  scene.advance(kWorkLock);
  expect_error(scene.store().renew_work_lock(expired.token, kWorkLock), Kind::kLockLost);
  expect_error(scene.store().renew_work_lock({"no such token"}, kWorkLock), Kind::kLockLost);
  const WorkItem work = scene.fetch_work();
  expect_error(scene.store().renew_work_lock(expired.token, kWorkLock), Kind::kLockLost);
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  expect_error(scene.store().renew_work_lock(work.token, kWorkLock), Kind::kLockLost);
}

void abandoning_an_activity_releases_its_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  scene.fetch_no_work();
  abandon_work(scene, work.token);
  const WorkItem again = scene.fetch_work();
  expect_record(again.record, work.record);
  expect(again.token != work.token, "the token was given out twice");
  expect_error(scene.store().ack_work_item({.token = work.token, .completion = {}}), Kind::kLockLost);
}

void an_abandoned_activity_waits_for_its_delay(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  abandon_work(scene, work.token, Milliseconds{500});
  scene.advance(Milliseconds{499});
  scene.fetch_no_work();
  scene.advance(Milliseconds{1});
  expect_record(scene.fetch_work().record, work.record);
}

void abandoning_an_activity_with_a_dead_token_has_no_effect(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem expired = scene.fetch_work();
  scene.advance(kWorkLock);
  const WorkItem held = scene.fetch_work();
  for (const LockToken& token : {LockToken{"no such token"}, expired.token}) {
    abandon_work(scene, token);
    scene.fetch_no_work();
  }
  take(scene.store().renew_work_lock(held.token, kWorkLock));
  scene.advance(kWorkLock);
  abandon_work(scene, held.token, Milliseconds{100});
  scene.fetch_no_work();
  scene.advance(Milliseconds{100});
  const WorkItem last = scene.fetch_work();
  expect_equal(last.attempt_count, 3U, "the attempts");
  take(scene.store().ack_work_item({.token = last.token, .completion = {}}));
  abandon_work(scene, last.token);
  scene.fetch_no_work();
}

void an_activity_cannot_be_completed_after_its_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  scene.advance(kWorkLock);
  expect_error(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}),
               Kind::kLockLost);
  scene.fetch_nothing();
  expect_record(scene.fetch_work().record, work.record);
}

}  // namespace

ValidationTests lock_expiration_tests() {
  return {
      {"lock_expiration", "an_expired_lock_is_gone_at_its_very_end", &an_expired_lock_is_gone_at_its_very_end},
      {"lock_expiration", "abandoning_releases_the_lock_at_once", &abandoning_releases_the_lock_at_once},
      {"lock_expiration", "an_expired_token_can_still_abandon", &an_expired_token_can_still_abandon},
      {"lock_expiration", "a_commit_releases_the_lock_at_once", &a_commit_releases_the_lock_at_once},
      {"lock_expiration", "concurrent_fetches_respect_a_lock_until_it_expires",
       &concurrent_fetches_respect_a_lock_until_it_expires},
      {"lock_expiration", "an_instance_lock_can_be_renewed", &an_instance_lock_can_be_renewed},
      {"lock_expiration", "renewing_sets_the_end_of_a_lock", &renewing_sets_the_end_of_a_lock},
      {"lock_expiration", "an_expired_instance_lock_cannot_be_renewed", &an_expired_instance_lock_cannot_be_renewed},
      {"lock_expiration", "an_activity_lock_can_be_renewed", &an_activity_lock_can_be_renewed},
      {"lock_expiration", "an_activity_lock_that_ended_cannot_be_renewed",
       &an_activity_lock_that_ended_cannot_be_renewed},
      {"lock_expiration", "abandoning_an_activity_releases_its_lock", &abandoning_an_activity_releases_its_lock},
      {"lock_expiration", "an_abandoned_activity_waits_for_its_delay", &an_abandoned_activity_waits_for_its_delay},
      {"lock_expiration", "abandoning_an_activity_with_a_dead_token_has_no_effect",
       &abandoning_an_activity_with_a_dead_token_has_no_effect},
      {"lock_expiration", "an_activity_cannot_be_completed_after_its_lock",
       &an_activity_cannot_be_completed_after_its_lock},
  };
}

}  // namespace perdure::testing
