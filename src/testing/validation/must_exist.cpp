// Messages with must_exist: for an instance or a queued start, and for nothing else.
#include <utility>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

MessageRecord needing(MessageRecord message) {
  message.must_exist = true;
  return message;
}

void expect_refused(Scene& scene, const MessageRecord& message, Where where = Where::current()) {
  expect_error(scene.store().enqueue_message(needing(message)), Kind::kNotFound, where);
}

void a_missing_instance_is_refused(ProviderFactory& factory) {
  Scene scene(factory);
  for (const MessageRecord& message : {cancel_message("order"), terminate_message("order"), event_message("order", "x"),
                                       queue_message("order"), completion(activity("order", 2))}) {
    expect_refused(scene, message);
  }
  expect_equal(messages_in(scene), std::uint64_t{0}, "the messages");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

void a_queued_start_is_enough(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord start = start_message("order");
  start.visible_at = scene.now() + Milliseconds{1'000};
  take(scene.store().enqueue_start(start, StartPolicy::kFail));
  scene.enqueue(needing(cancel_message("order")));
  scene.advance(Milliseconds{1'000});
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {start, cancel_message("order")});
  scene.enqueue(needing(event_message("order", "while its first turn runs")));
  expect_equal(messages_in(scene), std::uint64_t{3}, "the messages");
}

void an_instance_is_enough_until_it_is_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(needing(event_message("order", "x")));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("order", "x")});  // without must_exist
  scene.ack(scene.commit_of(item));
  scene.end("order");
  scene.enqueue(needing(event_message("order", "late")));
  take(scene.admin().delete_instance("order", false));
  expect_refused(scene, event_message("order", "too late"));
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

void an_orphan_is_not_enough(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(queue_message("order", "\"early\""));
  expect_refused(scene, cancel_message("order"));
  scene.enqueue_activity(activity("other", 2));
  expect_refused(scene, cancel_message("other"));
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), queue_message("order", "\"early\"")});
}

void a_batch_is_decided_in_its_order(ProviderFactory& factory) {
  Scene scene(factory);
  const std::vector<MessageRecord> messages{
      needing(event_message("order", "before")), start_message("order"), needing(event_message("order", "after")),
      needing(cancel_message("other")),          queue_message("other"), needing(start_message("third")),
      needing(event_message("third", "x"))};
  const std::vector<ProviderResult<void>> outcomes = scene.store().enqueue_messages(messages);
  expect_equal(outcomes.size(), messages.size(), "the outcomes");
  const std::vector<bool> accepted{false, true, true, false, true, false, false};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (accepted[i]) {
      take(outcomes[i]);
    } else {
      expect_error(outcomes[i], Kind::kNotFound);
    }
  }
  expect_equal(messages_in(scene), std::uint64_t{3}, "the messages");
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "after")});
  scene.fetch_nothing();
}

void a_commit_discards_what_finds_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.turn("order", [](TurnCommit& commit) {
    commit.messages = {needing(cancel_message("nobody")), needing(cancel_message("child")), start_message("child"),
                       needing(event_message("child", "x")), needing(event_message("order", "own"))};
  });
  expect_equal(messages_in(scene), std::uint64_t{3}, "the messages");
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 2);
  expect_equal(items.size(), std::size_t{2}, "the instances");
  for (const OrchestrationItem& item : items) {
    if (item.instance == "child") {
      expect_messages(item, {start_message("child"), event_message("child", "x")});
    } else {
      expect_messages(item, {event_message("order", "own")});
    }
    scene.ack(item.instance == "child" ? scene.first_commit_of(item) : scene.commit_of(item));
  }
  expect_refused(scene, cancel_message("nobody"));
}

void a_first_turn_reaches_itself(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  TurnCommit commit = scene.first_commit_of(scene.fetch());
  commit.messages = {needing(event_message("order", "own"))};
  scene.ack(commit);
  expect_messages(scene.fetch(), {event_message("order", "own")});
}

// A turn that discards its start leaves an orphan, and its own message has no receiver.
void a_turn_without_an_instance_does_not_reach_itself(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  TurnCommit commit = scene.commit_of(scene.fetch());
  commit.messages = {needing(event_message("order", "own"))};
  scene.ack(commit);
  expect_equal(messages_in(scene), std::uint64_t{0}, "the messages");
  expect_refused(scene, event_message("order", "x"));
}

void turns_of_one_batch_see_each_other(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.enqueue_start("b");
  const std::vector<OrchestrationItem> items = fetch_instances(scene, 2);
  std::vector<TurnCommit> commits{scene.first_commit_of(items[0]), scene.first_commit_of(items[1])};
  // The first is for an instance whose first turn comes later, the second for one whose first turn came before.
  commits[0].messages = {needing(event_message(items[1].instance, "forth"))};
  commits[1].messages = {needing(event_message(items[0].instance, "back"))};
  for (const auto& answer : scene.store().ack_orchestration_items(commits)) take(answer);
  expect_equal(messages_in(scene), std::uint64_t{2}, "the messages");
}

void an_ack_discards_what_finds_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("order", 2));
  const WorkItem item = scene.fetch_work();
  take(scene.store().ack_work_item({.token = item.token, .completion = needing(completion(item.record))}));
  scene.fetch_no_work();
  expect_equal(messages_in(scene), std::uint64_t{0}, "the messages");
}

}  // namespace

ValidationTests must_exist_tests() {
  return {
      {"must_exist", "a_missing_instance_is_refused", &a_missing_instance_is_refused},
      {"must_exist", "a_queued_start_is_enough", &a_queued_start_is_enough},
      {"must_exist", "an_instance_is_enough_until_it_is_deleted", &an_instance_is_enough_until_it_is_deleted},
      {"must_exist", "an_orphan_is_not_enough", &an_orphan_is_not_enough},
      {"must_exist", "a_batch_is_decided_in_its_order", &a_batch_is_decided_in_its_order},
      {"must_exist", "a_commit_discards_what_finds_nobody", &a_commit_discards_what_finds_nobody},
      {"must_exist", "a_first_turn_reaches_itself", &a_first_turn_reaches_itself},
      {"must_exist", "a_turn_without_an_instance_does_not_reach_itself",
       &a_turn_without_an_instance_does_not_reach_itself},
      {"must_exist", "turns_of_one_batch_see_each_other", &turns_of_one_batch_see_each_other},
      {"must_exist", "an_ack_discards_what_finds_nobody", &an_ack_discards_what_finds_nobody},
  };
}

}  // namespace perdure::testing
