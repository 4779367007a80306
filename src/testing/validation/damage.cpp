// Damaged histories and messages: they are handed out, counted and can be ended; nothing is dropped, nothing blocks.
#include "providers/item_decoder.h"
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

constexpr EventId kLastEvent = 3;

// Three events with this pin, and then the damage.
void create_damaged(Scene& scene, const std::string& instance, const SemanticVersion& pin) {
  create_pinned(scene, instance, pin);
  TurnCommit commit = scene.commit_of(scene.wake(instance));
  commit.events = events(2, kLastEvent);
  scene.ack(commit);
  scene.factory().corrupt_history(scene.store(), instance);
}

void expect_damage(const OrchestrationItem& item, Where where = Where::current()) {
  expect(item.history.has_value(), "no history was loaded", where);
  const DecodedHistory decoded = decode_stored_history(*item.history);
  expect(decoded.error.has_value() && !decoded.error->empty(), "the damage was not noticed", where);
  expect(decoded.events.empty(), "a part of a damaged history", where);
  if (item.history->error) {
    expect(item.history->events.empty() && item.history->key_values.empty(), "an error with contents", where);
  }
  expect_equal(item.last_event_id, kLastEvent, "the last event id", where);
}

void a_damaged_history_is_handed_out_with_its_error(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  const OrchestrationItem item = scene.wake("order");
  expect_damage(item);
  expect_messages(item, {event_message("order", "wake")});
  expect(item.metadata.has_value(), "the metadata is missing");
  expect_equal(item.metadata->name, "Flow", "the name");
  scene.fetch_nothing();
}

void a_refused_instance_is_not_loaded(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {99, 0, 0});
  scene.enqueue(event_message("order", "x"));
  scene.fetch_nothing(pinned_within("1.0.0", "2.0.0"));
  OrchestrationFetch options;
  options.filter.orchestrations = {"Other"};
  scene.fetch_nothing(options);
  const OrchestrationItem item = scene.fetch();
  expect_damage(item);
  expect_equal(item.attempt_count, 1U, "the attempts");
}

void each_fetch_of_a_damaged_history_counts(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  scene.enqueue(event_message("order", "x"));
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    const OrchestrationItem item = scene.fetch();
    expect_damage(item);
    expect_equal(item.attempt_count, attempt, "the attempts");
    if (attempt % 2 == 0) {
      abandon(scene, item.token);
    } else {
      scene.fetch_nothing();
      scene.advance(kLockTimeout);
    }
  }
}

void damage_is_seen_when_the_history_is_loaded_later(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  scene.enqueue(event_message("order", "x"));
  OrchestrationFetch options;
  options.with_history = false;
  OrchestrationItem item = scene.fetch(options);
  expect(!item.history.has_value(), "a history that was not asked for");
  expect_equal(item.last_event_id, kLastEvent, "the last event id");
  item.history = take(scene.store().read_history(item.token, 0));
  expect_damage(item);
}

void a_damaged_instance_can_be_ended(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  scene.enqueue_activity(activity("order", 2));
  const OrchestrationItem item = scene.wake("order");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  commit.status = StatusChange{.status = ExecutionStatus::kFailed, .output = "\"damaged\""};
  commit.messages = {event_message("parent", "it broke")};
  commit.cancelled_activities = {2};
  scene.ack(commit);

  const InstanceInfo info = take(scene.admin().instance_info("order"));
  expect_equal(info.status, ExecutionStatus::kFailed, "the status");
  expect(info.output == "\"damaged\"", "the output");
  scene.fetch_no_work();
  scene.fetch_nothing();
  const OrchestrationItem again = scene.wake("order");
  expect_equal(again.last_event_id, kLastEvent + 1, "the last event id");
  expect_equal(again.attempt_count, 1U, "the attempts");
  scene.ack(scene.commit_of(again));
  expect_equal(take(scene.admin().execution_info("order", 1)).events, kLastEvent + 1, "the events");
  expect_equal(take(scene.admin().delete_instance("order", false)).instances, std::uint64_t{1}, "what was deleted");
}

void event_ids_are_checked_over_damage_too(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  const OrchestrationItem item = scene.wake("order");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(kLastEvent)};
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kDuplicateEvent);
  commit.events = {event(99'999)};
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kInvalidArgument);
  commit.events = {event(kLastEvent + 1)};
  scene.ack(commit);
}

void damage_is_never_read_as_a_shorter_history(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "order", {1, 0, 0});
  for (const std::optional<ExecutionId> execution : {std::optional<ExecutionId>(), std::optional<ExecutionId>(1)}) {
    const ProviderResult<std::vector<EventRecord>> history = scene.admin().read_history("order", execution);
    if (!history) {
      expect_error(history, Kind::kCorruptData);
      expect(!history.error().retryable(), "damage is worth a retry");
    } else {
      const DecodedHistory decoded = decode_stored_history({.events = *history, .key_values = {}, .error = {}});
      expect(decoded.error.has_value(), "the damage was not noticed");
    }
  }
  expect_equal(take(scene.store().read_status("order"))->status, ExecutionStatus::kRunning, "the status");
}

void damage_concerns_its_execution_only(ProviderFactory& factory) {
  Scene scene(factory);
  create_damaged(scene, "broken", {1, 0, 0});
  scene.create("sound");
  scene.enqueue(event_message("broken", "x"));
  scene.enqueue(event_message("sound", "x"));
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 10);
  expect_equal(instances_of(items), std::vector<std::string>{"broken", "sound"}, "the instances");
  expect_damage(items[0]);
  expect(!decode_stored_history(*items[1].history).error, "the other history is damaged too");
  // The next execution is as good as new.
  TurnCommit next = scene.first_commit_of(items[0]);
  next.execution_id = 2;
  scene.ack(next);
  const OrchestrationItem again = scene.wake("broken");
  expect(!decode_stored_history(*again.history).error, "the next execution is damaged");
  expect(again.history->events == std::vector<EventRecord>{started_event()}, "the next history");
}

// ---- Messages ----

MessageRecord garbage(MessageRecord message) {
  message.body = std::string("\0not a body\xff", 12);
  return message;
}

MessageRecord of_unknown_kind(const std::string& instance) {
  MessageRecord message = event_message(instance, "from the future");
  message.kind = static_cast<MessageKind>(4'711);
  return message;
}

void undecodable_messages_are_delivered_like_any_other(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const std::vector<MessageRecord> sent = {event_message("order", "good"), garbage(event_message("order", "bad")),
                                           of_unknown_kind("order"), garbage(cancel_message("order")),
                                           event_message("order", "good too")};
  for (const MessageRecord& message : sent) scene.enqueue(message);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const OrchestrationItem item = scene.fetch();
    expect_equal(item.attempt_count, attempt, "the attempts");
    expect_messages(item, sent);
    const DecodedMessages decoded = decode_queued_messages(item.messages);
    expect_equal(decoded.messages.size(), std::size_t{2}, "the messages that can be decoded");
    expect_equal(decoded.undecodable.size(), std::size_t{3}, "the messages that cannot");
    expect_equal(decoded.undecodable[1].id, item.messages[2].id, "the message of the unknown kind");
    if (attempt < 3) {
      abandon(scene, item.token);
    } else {
      scene.ack(scene.commit_of(item));
    }
  }
  scene.fetch_nothing();
}

void an_undecodable_start_is_delivered_and_blocks_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  take(scene.store().enqueue_start(garbage(start_message("broken")), StartPolicy::kFail));
  scene.enqueue_start("sound");
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 10);
  expect_equal(instances_of(items), std::vector<std::string>{"broken", "sound"}, "the instances");
  expect_messages(items[0], {garbage(start_message("broken"))});
  scene.ack(scene.first_commit_of(items[0]));
  scene.ack(scene.first_commit_of(items[1]));
}

void an_undecodable_activity_is_delivered_and_blocks_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  const MessageRecord broken = garbage(activity("order", 2));
  scene.create_with_activities("order", {broken, activity("order", 3)});
  const WorkItem first = scene.fetch_work();
  expect_record(first.record, broken);
  expect_equal(scene.fetch_work().record.activity_id, EventId{3}, "the next activity");
  abandon_work(scene, first.token);
  const WorkItem again = scene.fetch_work();
  expect_record(again.record, broken);
  expect_equal(again.attempt_count, 2U, "the attempts");
  take(scene.store().ack_work_item({.token = again.token, .completion = failure(again.record, "cannot be read")}));
  expect_messages(scene.fetch(), {failure(broken, "cannot be read")});
}

void records_are_kept_byte_for_byte(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  std::vector<EventRecord> odd = {
      {.event_id = 2, .kind = 65'535, .turn = 0, .time = Timestamp(Milliseconds{-5}), .body = every_byte},
      {.event_id = 3, .kind = 0, .turn = 9'000'000'000, .time = Timestamp(), .body = ""},
      {.event_id = 4, .kind = 7, .turn = 1, .time = scene.now(), .body = std::string(200'000, 'x')},
  };
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.events = odd;
  commit.status = StatusChange{.status = ExecutionStatus::kRunning, .output = {}};
  commit.messages = {event_message("order", "empty")};
  commit.messages.front().body.clear();
  scene.ack(commit);
  odd.insert(odd.begin(), started_event());
  expect(history_of(scene, "order") == odd, "the history that is read");
  const OrchestrationItem item = scene.fetch();
  expect(item.history->events == odd, "the history that is fetched");
  expect_messages(item, commit.messages);
}

}  // namespace

ValidationTests damage_tests() {
  return {
      {"damage", "a_damaged_history_is_handed_out_with_its_error", &a_damaged_history_is_handed_out_with_its_error},
      {"damage", "a_refused_instance_is_not_loaded", &a_refused_instance_is_not_loaded},
      {"damage", "each_fetch_of_a_damaged_history_counts", &each_fetch_of_a_damaged_history_counts},
      {"damage", "damage_is_seen_when_the_history_is_loaded_later", &damage_is_seen_when_the_history_is_loaded_later},
      {"damage", "a_damaged_instance_can_be_ended", &a_damaged_instance_can_be_ended},
      {"damage", "event_ids_are_checked_over_damage_too", &event_ids_are_checked_over_damage_too},
      {"damage", "damage_is_never_read_as_a_shorter_history", &damage_is_never_read_as_a_shorter_history},
      {"damage", "damage_concerns_its_execution_only", &damage_concerns_its_execution_only},
      {"damage", "undecodable_messages_are_delivered_like_any_other",
       &undecodable_messages_are_delivered_like_any_other},
      {"damage", "an_undecodable_start_is_delivered_and_blocks_nobody",
       &an_undecodable_start_is_delivered_and_blocks_nobody},
      {"damage", "an_undecodable_activity_is_delivered_and_blocks_nobody",
       &an_undecodable_activity_is_delivered_and_blocks_nobody},
      {"damage", "records_are_kept_byte_for_byte", &records_are_kept_byte_for_byte},
  };
}

}  // namespace perdure::testing
