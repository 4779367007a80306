// Not-before: an instance that was given back with a delay rests as a whole, and wakes early only to be ended.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

constexpr Milliseconds kDelay{1'000};

// Created, woken with an event and given back with the delay.
void back_off(Scene& scene, const std::string& instance) {
  abandon(scene, scene.wake(instance).token, kDelay);
}

void a_delayed_instance_rests_until_its_time(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  back_off(scene, "order");
  scene.fetch_nothing();
  scene.advance(kDelay - Milliseconds{1});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("order", "wake")});
  expect_equal(item.attempt_count, 2U, "the attempts");
}

void messages_that_arrive_meanwhile_come_together(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  back_off(scene, "order");
  scene.enqueue(event_message("order", "meanwhile"));
  scene.fetch_nothing();
  scene.enqueue_activity(activity("order", 2));
  const WorkItem work = scene.fetch_work();
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  scene.fetch_nothing();
  const MessageRecord timer = timer_message("order", 3, scene.now() + kDelay / 2);
  scene.enqueue(timer);
  scene.advance(kDelay - Milliseconds{1});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  expect_messages(scene.fetch(), {event_message("order", "wake"), event_message("order", "meanwhile"),
                                  completion(work.record), timer});
}

void a_start_in_backoff_comes_first(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  abandon(scene, scene.fetch().token, kDelay);
  scene.enqueue(event_message("order", "meanwhile"));
  scene.enqueue(queue_message("order"));
  scene.fetch_nothing();
  scene.advance(kDelay);
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "meanwhile"), queue_message("order")});
}

void cancel_and_terminate_end_the_backoff(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("cancelled");
  back_off(scene, "cancelled");
  scene.enqueue(cancel_message("cancelled"));
  expect_messages(scene.fetch(), {event_message("cancelled", "wake"), cancel_message("cancelled")});
  scene.create("terminated");
  back_off(scene, "terminated");
  scene.enqueue(terminate_message("terminated"));
  expect_messages(scene.fetch(), {event_message("terminated", "wake"), terminate_message("terminated")});
}

void a_cancel_before_the_first_commit_comes_with_the_start(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  abandon(scene, scene.fetch().token, kDelay);
  scene.fetch_nothing();
  scene.enqueue(cancel_message("order"));
  expect_messages(scene.fetch(), {start_message("order"), cancel_message("order")});
}

void a_cancel_that_a_commit_sends_ends_the_backoff(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create("child");
  back_off(scene, "child");
  TurnCommit commit = scene.commit_of(scene.wake("parent"));
  commit.messages = {cancel_message("child")};
  scene.ack(commit);
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.instance, "child", "the instance");
  expect_messages(item, {event_message("child", "wake"), cancel_message("child")});
}

void a_backoff_that_was_ended_does_not_come_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  back_off(scene, "order");
  scene.enqueue(cancel_message("order"));
  scene.ack(scene.commit_of(scene.fetch()));
  scene.enqueue(event_message("order", "next"));
  scene.fetch();
}

// The node that abandons the instance has not seen it.
void a_cancel_that_arrives_during_the_lock_is_not_delayed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("cancelled");
  const LockToken lock = scene.wake("cancelled").token;
  scene.enqueue(cancel_message("cancelled"));
  abandon(scene, lock, kDelay);
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("cancelled", "wake"), cancel_message("cancelled")});
  expect_equal(item.attempt_count, 2U, "the attempts");
  scene.ack(scene.commit_of(item));

  scene.enqueue_start("terminated");
  const LockToken start_lock = scene.fetch().token;
  scene.enqueue(event_message("terminated", "early"));
  scene.enqueue(terminate_message("terminated"));
  scene.enqueue(event_message("terminated", "late"));
  abandon(scene, start_lock, kDelay);
  expect_messages(scene.fetch(), {start_message("terminated"), event_message("terminated", "early"),
                                  terminate_message("terminated"), event_message("terminated", "late")});
}

// Otherwise an instance that cannot be ended yet would be fetched again and again without a pause.
void a_cancel_that_was_fetched_is_delayed_with_its_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  back_off(scene, "order");
  scene.enqueue(cancel_message("order"));
  abandon(scene, scene.fetch().token, kDelay);
  scene.fetch_nothing();
  scene.advance(kDelay);
  const LockToken lock = scene.fetch().token;
  scene.enqueue(terminate_message("order"));
  abandon(scene, lock, kDelay);
  abandon(scene, scene.fetch().token, kDelay);
  scene.fetch_nothing();
}

// The cancel arrived during a lock that has expired; the next fetch delivers it.
void a_cancel_during_an_expired_lock_is_delayed_with_its_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem first = scene.wake("order");
  scene.enqueue(cancel_message("order"));
  scene.advance(first.locked_until - scene.now());
  abandon(scene, scene.fetch().token, kDelay);
  scene.fetch_nothing();
  scene.advance(kDelay);
  scene.fetch();
}

// It does not concern the instance, so it may not cost it an attempt.
void a_cancel_of_another_parent_does_not_end_the_backoff(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("top");
  scene.create_child("child", "parent");
  back_off(scene, "top");
  back_off(scene, "child");
  MessageRecord earlier = parent_cancel_message("child", "parent");
  earlier.parent = link_to("parent", 2);  // of another incarnation of the parent
  for (const MessageRecord& cancel : {parent_cancel_message("top", "parent"), earlier}) scene.enqueue(cancel);
  scene.fetch_nothing();
  scene.enqueue(parent_cancel_message("child", "parent"));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("child", "wake"), earlier, parent_cancel_message("child", "parent")});
  expect_equal(item.attempt_count, 2U, "the attempts");
  scene.ack(scene.commit_of(item));
  scene.advance(kDelay);
  expect_messages(scene.fetch(), {event_message("top", "wake"), parent_cancel_message("top", "parent")});
}

void until_the_first_commit_the_first_start_has_the_parent(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("top");
  abandon(scene, scene.fetch().token, kDelay);
  scene.enqueue(child_start_message("child", "first"));
  abandon(scene, scene.fetch().token, kDelay);
  scene.enqueue(child_start_message("child", "second"));
  scene.enqueue(parent_cancel_message("child", "second"));
  scene.enqueue(parent_cancel_message("top", "second"));
  scene.fetch_nothing();
  scene.enqueue(parent_cancel_message("child", "first"));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {child_start_message("child", "first"), child_start_message("child", "second"),
                         parent_cancel_message("child", "second"), parent_cancel_message("child", "first")});
  expect_equal(item.attempt_count, 2U, "the attempts");
  scene.advance(kDelay);
  const OrchestrationItem top = scene.fetch();
  expect_messages(top, {start_message("top"), parent_cancel_message("top", "second")});
  expect_equal(top.attempt_count, 2U, "the attempts");
}

void a_commit_ends_the_backoff_of_its_own_children_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create("other");
  scene.create_child("child", "parent");
  back_off(scene, "other");
  back_off(scene, "child");
  TurnCommit commit = scene.commit_of(scene.wake("parent"));
  commit.messages = {parent_cancel_message("other", "parent"), parent_cancel_message("child", "parent")};
  scene.ack(commit);
  expect_messages(scene.fetch(), {event_message("child", "wake"), parent_cancel_message("child", "parent")});
}

void a_cancel_of_another_parent_during_the_lock_is_delayed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(child_start_message("child", "parent"));
  LockToken lock = scene.fetch().token;
  scene.enqueue(parent_cancel_message("child", "other"));
  abandon(scene, lock, kDelay);
  scene.fetch_nothing();
  scene.advance(kDelay);
  lock = scene.fetch().token;
  scene.enqueue(parent_cancel_message("child", "parent"));
  abandon(scene, lock, kDelay);
  expect_equal(scene.fetch().attempt_count, 3U, "the attempts");
}

void each_abandon_sets_the_backoff_anew(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  back_off(scene, "order");
  scene.advance(kDelay);
  abandon(scene, scene.fetch().token, kDelay * 2);
  scene.advance(kDelay * 2 - Milliseconds{1});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  abandon(scene, scene.fetch().token);
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.attempt_count, 4U, "the attempts");
  scene.ack(scene.commit_of(item));
}

void a_backoff_that_is_over_leaves_no_trace_in_the_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("early");
  scene.create("late");
  back_off(scene, "early");
  scene.advance(kDelay / 2);
  scene.enqueue(event_message("late", "x"));
  scene.advance(kDelay / 2);
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 2);
  expect_equal(instances_of(items), std::vector<std::string>{"late", "early"}, "the order with the backoff");
  for (const OrchestrationItem& item : items) abandon(scene, item.token);
  expect_equal(instances_of(fetch_instances(scene, 2)), std::vector<std::string>{"early", "late"}, "the order without");
}

void a_backoff_concerns_its_instance_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("resting");
  scene.create("other");
  back_off(scene, "resting");
  const OrchestrationItem item = scene.wake("other");
  scene.ack(scene.commit_of(item));
  scene.fetch_nothing();
}

void a_delay_can_come_with_an_attempt_taken_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  abandon(scene, item.token, kDelay, true);
  scene.fetch_nothing();
  scene.advance(kDelay);
  expect_equal(scene.fetch().attempt_count, 1U, "the attempts");
}

void resting_instances_come_in_the_order_of_their_times(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* id : {"a", "b", "c"}) scene.create(id);
  for (const char* id : {"a", "b", "c"}) scene.enqueue(event_message(id, "x"));
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 3);
  abandon(scene, items[0].token, kDelay * 3);
  abandon(scene, items[1].token, kDelay);
  abandon(scene, items[2].token, kDelay * 2);
  scene.advance(kDelay * 3);
  expect_equal(instances_of(fetch_instances(scene, 3)), std::vector<std::string>{"b", "c", "a"}, "the order");
}

void a_resting_instance_still_reads_as_it_is(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const Snapshot before = snapshot(scene, "order");
  back_off(scene, "order");
  expect(take(scene.store().read_status("order")) == before.status, "the status changed");
  expect(history_of(scene, "order") == before.history, "the history changed");
  expect_equal(take(scene.admin().queue_depths()).messages, std::uint64_t{1}, "the messages");
}

}  // namespace

ValidationTests backoff_tests() {
  return {
      {"backoff", "a_delayed_instance_rests_until_its_time", &a_delayed_instance_rests_until_its_time},
      {"backoff", "messages_that_arrive_meanwhile_come_together", &messages_that_arrive_meanwhile_come_together},
      {"backoff", "a_start_in_backoff_comes_first", &a_start_in_backoff_comes_first},
      {"backoff", "cancel_and_terminate_end_the_backoff", &cancel_and_terminate_end_the_backoff},
      {"backoff", "a_cancel_before_the_first_commit_comes_with_the_start",
       &a_cancel_before_the_first_commit_comes_with_the_start},
      {"backoff", "a_cancel_that_a_commit_sends_ends_the_backoff", &a_cancel_that_a_commit_sends_ends_the_backoff},
      {"backoff", "a_backoff_that_was_ended_does_not_come_back", &a_backoff_that_was_ended_does_not_come_back},
      {"backoff", "a_cancel_that_arrives_during_the_lock_is_not_delayed",
       &a_cancel_that_arrives_during_the_lock_is_not_delayed},
      {"backoff", "a_cancel_that_was_fetched_is_delayed_with_its_instance",
       &a_cancel_that_was_fetched_is_delayed_with_its_instance},
      {"backoff", "a_cancel_during_an_expired_lock_is_delayed_with_its_instance",
       &a_cancel_during_an_expired_lock_is_delayed_with_its_instance},
      {"backoff", "a_cancel_of_another_parent_does_not_end_the_backoff",
       &a_cancel_of_another_parent_does_not_end_the_backoff},
      {"backoff", "until_the_first_commit_the_first_start_has_the_parent",
       &until_the_first_commit_the_first_start_has_the_parent},
      {"backoff", "a_commit_ends_the_backoff_of_its_own_children_only",
       &a_commit_ends_the_backoff_of_its_own_children_only},
      {"backoff", "a_cancel_of_another_parent_during_the_lock_is_delayed",
       &a_cancel_of_another_parent_during_the_lock_is_delayed},
      {"backoff", "each_abandon_sets_the_backoff_anew", &each_abandon_sets_the_backoff_anew},
      {"backoff", "a_backoff_that_is_over_leaves_no_trace_in_the_order",
       &a_backoff_that_is_over_leaves_no_trace_in_the_order},
      {"backoff", "a_backoff_concerns_its_instance_only", &a_backoff_concerns_its_instance_only},
      {"backoff", "a_delay_can_come_with_an_attempt_taken_back", &a_delay_can_come_with_an_attempt_taken_back},
      {"backoff", "resting_instances_come_in_the_order_of_their_times",
       &resting_instances_come_in_the_order_of_their_times},
      {"backoff", "a_resting_instance_still_reads_as_it_is", &a_resting_instance_still_reads_as_it_is},
  };
}

}  // namespace perdure::testing
