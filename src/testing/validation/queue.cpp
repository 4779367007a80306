// What comes out of the queues, in which order, and how much at a time.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

MessageRecord later(MessageRecord message, Timestamp visible_at) {
  message.visible_at = visible_at;
  return message;
}

std::vector<MessageRecord> numbered_activities(const std::string& instance, EventId first, EventId last) {
  std::vector<MessageRecord> activities;
  for (EventId id = first; id <= last; ++id) activities.push_back(activity(instance, id));
  return activities;
}

void activities_come_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", numbered_activities("order", 2, 6));
  for (EventId id = 2; id <= 6; ++id) {
    const WorkItem work = scene.fetch_work();
    expect_equal(work.record.activity_id, id, "the activity");
    expect_record(work.record, activity("order", id));
    expect_equal(work.scheduled_at, scene.now(), "when it was scheduled");
    expect(!work.expired, "it is expired");
    expect(!work.heartbeat_details.has_value(), "somebody left details");
  }
  scene.fetch_no_work();
}

void a_fetched_activity_is_hidden_and_then_gone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  scene.fetch_no_work();
  expect_equal(take(scene.admin().queue_depths()).locked_activities, std::uint64_t{1}, "the locked activities");
  take(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}));
  scene.fetch_no_work();
  scene.advance(Milliseconds{60'000});
  scene.fetch_no_work();
  expect(take(scene.admin().queue_depths()).locked_activities == 0, "the activity is still there");
}

void completing_an_activity_queues_its_outcome_once(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  scene.fetch_nothing();
  const WorkItem first = scene.fetch_work();
  const WorkItem second = scene.fetch_work();
  take(scene.store().ack_work_item({.token = second.token, .completion = failure(second.record)}));
  take(scene.store().ack_work_item({.token = first.token, .completion = completion(first.record)}));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {failure(second.record), completion(first.record)});
  scene.ack(scene.commit_of(item));
  scene.fetch_nothing();
  scene.fetch_no_work();
}

void a_timer_is_invisible_until_its_time(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const MessageRecord timer = timer_message("order", 2, scene.now() + Milliseconds{5'000});
  scene.enqueue(timer);
  expect_equal(take(scene.admin().queue_depths()).delayed_messages, std::uint64_t{1}, "the delayed messages");
  scene.advance(Milliseconds{4'999});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  expect_messages(scene.fetch(), {timer});
}

void a_timer_stays_behind_when_its_instance_is_fetched(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const MessageRecord timer = timer_message("order", 2, scene.now() + Milliseconds{100});
  scene.enqueue(timer);
  const OrchestrationItem item = scene.wake("order");
  expect_messages(item, {event_message("order", "wake")});
  expect(!scene.ack(scene.commit_of(item)).more_messages, "a message of the future is announced");
  scene.fetch_nothing();
  scene.advance(Milliseconds{100});
  expect_messages(scene.fetch(), {timer});
}

void an_activity_whose_holder_is_gone_comes_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem lost = scene.fetch_work();
  scene.advance(Milliseconds{30'000});
  const WorkItem again = scene.fetch_work();
  expect_record(again.record, lost.record);
  expect(again.token != lost.token, "the token was given out twice");
  expect_equal(again.attempt_count, 2U, "the attempts");
}

void an_activity_is_visible_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord sent = activity("order", 2, "Charge");
  sent.timeouts.start_to_close = Milliseconds{1'000};
  sent.timeouts.heartbeat = Milliseconds{0};
  sent.body += std::string("\0\xff", 2);
  scene.enqueue_activity(sent);
  expect_equal(take(scene.admin().queue_depths()).activities, std::uint64_t{1}, "the visible activities");
  expect_record(scene.fetch_work().record, sent);
}

void an_activity_of_the_future_is_skipped(ProviderFactory& factory) {
  Scene scene(factory);
  const MessageRecord delayed = later(activity("order", 2), scene.now() + Milliseconds{300});
  scene.enqueue_activity(delayed);
  scene.enqueue_activity(activity("order", 3));
  expect_equal(take(scene.admin().queue_depths()).delayed_activities, std::uint64_t{1}, "the delayed activities");
  expect_equal(scene.fetch_work().record.activity_id, EventId{3}, "the activity that is ready");
  scene.fetch_no_work();
  scene.advance(Milliseconds{299});
  scene.fetch_no_work();
  scene.advance(Milliseconds{1});
  expect_record(scene.fetch_work().record, delayed);
}

void the_activity_that_is_ready_longest_comes_first(ProviderFactory& factory) {
  Scene scene(factory);
  const Timestamp start = scene.now();
  scene.enqueue_activity(later(activity("order", 2), start + Milliseconds{300}));
  scene.enqueue_activity(later(activity("order", 3), start + Milliseconds{100}));
  scene.advance(Milliseconds{200});
  scene.enqueue_activity(activity("order", 4));
  scene.enqueue_activity(later(activity("order", 5), start));
  scene.advance(Milliseconds{200});
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), std::vector<EventId>{5, 3, 4, 2}, "the order");
}

void a_returned_activity_waits_its_turn(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  const WorkItem first = scene.fetch_work();
  scene.advance(Milliseconds{10});
  scene.enqueue_activity(activity("order", 3));
  scene.advance(Milliseconds{10});
  abandon_work(scene, first.token);
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), std::vector<EventId>{3, 2}, "the order");
  scene.advance(Milliseconds{10});
  scene.enqueue_activity(activity("order", 4));
  scene.advance(Milliseconds{30'000});
  expect_equal(activity_ids_of(fetch_activities(scene, 1)), std::vector<EventId>{4}, "the one that is ready longest");
}

void messages_come_by_visible_at_and_then_by_position(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const Timestamp start = scene.now();
  const MessageRecord late = later(event_message("order", "late"), start + Milliseconds{300});
  const MessageRecord soon = later(event_message("order", "soon"), start + Milliseconds{100});
  const MessageRecord overdue = later(event_message("order", "overdue"), start - Milliseconds{100});
  const MessageRecord soon_too = later(event_message("order", "soon too"), start + Milliseconds{100});
  const MessageRecord now = event_message("order", "now");
  for (const MessageRecord& message : {late, soon, now, overdue, soon_too}) scene.enqueue(message);
  scene.advance(Milliseconds{200});
  const MessageRecord middle = event_message("order", "middle");
  scene.enqueue(middle);
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {overdue, now, soon, soon_too, middle});
  abandon(scene, item.token);
  scene.advance(Milliseconds{100});
  expect_messages(scene.fetch(), {overdue, now, soon, soon_too, middle, late});
}

void what_begins_an_execution_comes_first(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("order", "early"));
  scene.advance(Milliseconds{10});
  scene.enqueue_start("order");
  scene.enqueue(continue_message("order"));
  scene.enqueue(start_message("order", "Again"));
  scene.enqueue(cancel_message("order"));
  expect_messages(scene.fetch(), {start_message("order"), continue_message("order"), start_message("order", "Again"),
                                  event_message("order", "early"), cancel_message("order")});
}

void an_instance_without_commit_waits_for_its_start(ProviderFactory& factory) {
  Scene scene(factory);
  const MessageRecord start = later(start_message("order"), scene.now() + Milliseconds{100});
  scene.enqueue(event_message("order", "early"));
  scene.enqueue(queue_message("order"));
  expect_equal(take(scene.store().enqueue_start(start, StartPolicy::kFail)), StartOutcome::kEnqueued, "the outcome");
  scene.fetch_nothing();
  scene.advance(Milliseconds{99});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  expect_messages(scene.fetch(), {start, event_message("order", "early"), queue_message("order")});
}

void the_instance_that_is_ready_longest_comes_first(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* id : {"a", "b", "c", "d"}) scene.create(id);
  const Timestamp start = scene.now();
  scene.enqueue(later(event_message("a", "x"), start + Milliseconds{300}));
  scene.enqueue(later(event_message("b", "x"), start + Milliseconds{100}));
  scene.advance(Milliseconds{200});
  scene.enqueue(event_message("d", "x"));
  scene.enqueue(event_message("c", "x"));
  scene.advance(Milliseconds{200});
  // c before d: of two that are ready for the same time, the older key row.
  expect_equal(instances_of(fetch_instances(scene, 10)), std::vector<std::string>{"b", "c", "d", "a"}, "the order");
}

void a_fetch_takes_no_more_messages_than_it_asked(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("order", "0"));
  scene.enqueue_start("order");
  for (int i = 1; i < 5; ++i) scene.enqueue(event_message("order", std::to_string(i)));
  OrchestrationFetch two;
  two.max_messages = 2;
  const OrchestrationItem first = scene.fetch(two);
  expect_messages(first, {start_message("order"), event_message("order", "0")});
  expect(scene.ack(scene.first_commit_of(first)).more_messages, "the rest is not announced");
  const OrchestrationItem second = scene.fetch(two);
  expect_messages(second, {event_message("order", "1"), event_message("order", "2")});
  expect(scene.ack(scene.commit_of(second)).more_messages, "the rest is not announced");
  const OrchestrationItem third = scene.fetch(two);
  expect_messages(third, {event_message("order", "3"), event_message("order", "4")});
  expect(!scene.ack(scene.commit_of(third)).more_messages, "more messages than there are");
}

void a_fetch_takes_no_more_bytes_than_it_asked(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const MessageRecord small = event_message("order", "s", "\"" + std::string(100, 's') + "\"");
  const MessageRecord large = event_message("order", "l", "\"" + std::string(10'000, 'l') + "\"");
  for (const MessageRecord& message : {small, small, large, small}) scene.enqueue(message);
  OrchestrationFetch options;
  options.max_bytes = 2 * small.body.size();
  OrchestrationItem item = scene.fetch(options);
  expect_messages(item, {small, small});
  scene.ack(scene.commit_of(item));
  // A message that is larger than the limit is taken alone, never left for ever.
  item = scene.fetch(options);
  expect_messages(item, {large});
  abandon(scene, item.token);
  options.max_bytes = large.body.size() + small.body.size() - 1;
  item = scene.fetch(options);
  expect_messages(item, {large});
  abandon(scene, item.token);
  options.max_bytes = large.body.size() + small.body.size();
  expect_messages(scene.fetch(options), {large, small});
}

void expect_end_requests(const OrchestrationItem& item, const std::vector<MessageRecord>& expected) {
  OrchestrationItem ends;
  ends.messages = item.end_requests;
  expect_messages(ends, expected);
}

// A node that cannot run the code honours them without the messages in front of them.
void end_requests_behind_the_limits_come_with_the_batch(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  for (int i = 0; i < 3; ++i) scene.enqueue(event_message("order", std::to_string(i)));
  MessageRecord invisible = terminate_message("order");
  invisible.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(invisible);
  scene.enqueue(parent_cancel_message("order", "parent"));
  scene.enqueue(cancel_message("order"));
  OrchestrationFetch two;
  two.max_messages = 2;
  OrchestrationItem item = scene.fetch(two);
  expect_messages(item, {start_message("order"), event_message("order", "0")});
  expect_end_requests(item, {parent_cancel_message("order", "parent")});
  scene.ack(scene.first_commit_of(item));
  OrchestrationFetch few;
  few.max_bytes = 1;
  item = scene.fetch(few);
  expect_messages(item, {event_message("order", "1")});
  expect_end_requests(item, {parent_cancel_message("order", "parent")});
  TurnCommit commit = scene.commit_of(item);
  commit.consumed.push_back(item.end_requests.front().id);
  scene.ack(commit);
  scene.advance(Milliseconds{1'000});
  scene.enqueue(terminate_message("order"));
  two.max_messages = 1;
  item = scene.fetch(two);
  expect_messages(item, {event_message("order", "2")});
  expect_end_requests(item, {cancel_message("order"), terminate_message("order")});
  abandon(scene, item.token);
  two.max_messages = 2;
  item = scene.fetch(two);
  expect_messages(item, {event_message("order", "2"), cancel_message("order")});
  expect_end_requests(item, {terminate_message("order")});
  abandon(scene, item.token);
  expect(scene.fetch().end_requests.empty(), "the batch has both");
}

void limits_hold_for_each_instance(ProviderFactory& factory) {
  Scene scene(factory);
  for (const char* id : {"a", "b"}) scene.create(id);
  for (const char* id : {"a", "b"}) {
    for (int i = 0; i < 3; ++i) scene.enqueue(event_message(id, std::to_string(i)));
  }
  OrchestrationFetch options;
  options.max_messages = 2;
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 10, options);
  expect_equal(instances_of(items), std::vector<std::string>{"a", "b"}, "the instances");
  for (const OrchestrationItem& item : items) expect_equal(item.messages.size(), std::size_t{2}, "the messages");
}

}  // namespace

ValidationTests queue_tests() {
  return {
      {"queue", "activities_come_in_order", &activities_come_in_order},
      {"queue", "a_fetched_activity_is_hidden_and_then_gone", &a_fetched_activity_is_hidden_and_then_gone},
      {"queue", "completing_an_activity_queues_its_outcome_once", &completing_an_activity_queues_its_outcome_once},
      {"queue", "a_timer_is_invisible_until_its_time", &a_timer_is_invisible_until_its_time},
      {"queue", "a_timer_stays_behind_when_its_instance_is_fetched",
       &a_timer_stays_behind_when_its_instance_is_fetched},
      {"queue", "an_activity_whose_holder_is_gone_comes_back", &an_activity_whose_holder_is_gone_comes_back},
      {"queue", "an_activity_is_visible_at_once", &an_activity_is_visible_at_once},
      {"queue", "an_activity_of_the_future_is_skipped", &an_activity_of_the_future_is_skipped},
      {"queue", "the_activity_that_is_ready_longest_comes_first", &the_activity_that_is_ready_longest_comes_first},
      {"queue", "a_returned_activity_waits_its_turn", &a_returned_activity_waits_its_turn},
      {"queue", "messages_come_by_visible_at_and_then_by_position", &messages_come_by_visible_at_and_then_by_position},
      {"queue", "what_begins_an_execution_comes_first", &what_begins_an_execution_comes_first},
      {"queue", "an_instance_without_commit_waits_for_its_start", &an_instance_without_commit_waits_for_its_start},
      {"queue", "the_instance_that_is_ready_longest_comes_first", &the_instance_that_is_ready_longest_comes_first},
      {"queue", "a_fetch_takes_no_more_messages_than_it_asked", &a_fetch_takes_no_more_messages_than_it_asked},
      {"queue", "a_fetch_takes_no_more_bytes_than_it_asked", &a_fetch_takes_no_more_bytes_than_it_asked},
      {"queue", "end_requests_behind_the_limits_come_with_the_batch",
       &end_requests_behind_the_limits_come_with_the_batch},
      {"queue", "limits_hold_for_each_instance", &limits_hold_for_each_instance},
  };
}

}  // namespace perdure::testing
