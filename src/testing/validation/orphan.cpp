// Messages for an instance that is not there: they block nobody, wait for a start that may still come, and go in time.
#include <string>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void an_orphan_is_never_fetched_and_blocks_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(cancel_message("late"));
  scene.enqueue(terminate_message("late"));
  scene.enqueue(event_message("stray", "x"));
  scene.enqueue(completion(activity("deleted", 2)));
  scene.enqueue(timer_message("deleted", 3, scene.now()));
  scene.fetch_nothing();
  scene.advance(Milliseconds{10});
  scene.create("order");
  for (int i = 0; i < 3; ++i) scene.ack(scene.commit_of(scene.wake("order")));
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{5}, "the messages that wait");
  for (const char* id : {"late", "stray", "deleted"}) {
    expect(!take(scene.store().read_status(id)).has_value(), "an orphan has a status");
    expect_error(scene.admin().instance_info(id), Kind::kNotFound);
  }
}

void many_orphans_block_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  for (int i = 0; i < 300; ++i) scene.enqueue(event_message("stray" + std::to_string(i), "x"));
  scene.advance(Milliseconds{10});
  scene.enqueue_start("order");
  expect_equal(scene.fetch().instance, "order", "the instance");
}

void queue_messages_of_an_orphan_are_kept(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord delayed = queue_message("order", "\"delayed\"");
  delayed.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(queue_message("order", "\"first\""));
  scene.enqueue(delayed);
  scene.fetch_nothing();
  scene.advance(Milliseconds{1'000});
  scene.enqueue(queue_message("order", "\"last\""));
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{3}, "the messages after a fetch");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), queue_message("order", "\"first\""), delayed,
                                  queue_message("order", "\"last\"")});
}

// Each has its own retention: neither an old message nor an old event removes a younger message.
void each_queue_message_has_its_own_retention(ProviderFactory& factory) {
  Scene scene(factory);
  const Milliseconds retention = factory.orphan_retention();
  scene.enqueue(event_message("order", "old"));
  scene.enqueue(queue_message("order", "\"old\""));
  MessageRecord delayed = queue_message("order", "\"delayed\"");
  delayed.visible_at = scene.now() + Milliseconds{2};
  scene.enqueue(delayed);
  scene.advance(Milliseconds{1});
  scene.enqueue(queue_message("order", "\"young\""));
  scene.enqueue(event_message("order", "young"));
  scene.advance(retention - Milliseconds{2});
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{5}, "the messages shortly before");
  scene.advance(Milliseconds{1});
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{2}, "the messages when the time of the first is over");
  scene.advance(Milliseconds{1});
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{1}, "the messages a moment later");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), delayed});
}

void a_deletion_takes_queue_messages_along(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(queue_message("order", "\"early\""));
  scene.enqueue_start("order");
  take(scene.admin().delete_instance("order", true));
  expect_equal(messages_in(scene), std::uint64_t{0}, "the messages after the deletion");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

// A delete reports that there is no instance, and nothing from before it reaches a later one.
void a_deletion_empties_an_id_without_an_instance(ProviderFactory& factory) {
  Scene scene(factory);
  const auto buffer = [&scene](const std::string& id) {
    scene.enqueue(cancel_message(id));
    scene.enqueue(event_message(id, "x"));
    scene.enqueue(queue_message(id));
  };
  for (const bool force : {false, true}) {
    buffer("order");
    expect_error(scene.admin().delete_instance("order", force), Kind::kNotFound);
    expect_equal(messages_in(scene), std::uint64_t{0}, "the messages after the deletion");
  }
  scene.enqueue_activity(activity("order", 2));
  expect_error(scene.admin().delete_instance("order", false), Kind::kNotFound);
  scene.fetch_no_work();
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

void a_deletion_of_several_empties_ids_without_an_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("other");
  scene.enqueue(cancel_message("order"));
  const std::vector<std::string> ids{"order", "other", "unknown", "order"};
  expect_error(scene.admin().delete_instances(ids, false), Kind::kStillRunning);
  expect_equal(messages_in(scene), std::uint64_t{1}, "the messages after a deletion that failed");
  const DeleteResult deleted = take(scene.admin().delete_instances(ids, true));
  expect_equal(deleted.instances, std::uint64_t{1}, "the deleted instances");
  expect_equal(deleted.messages, std::uint64_t{0}, "the deleted messages of instances");
  expect_equal(messages_in(scene), std::uint64_t{0}, "the messages after the deletion");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

void other_messages_of_an_orphan_are_kept(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("order", "one"));
  scene.enqueue(queue_message("order"));
  scene.enqueue(cancel_message("order"));
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{3}, "the messages after a fetch");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "one"), queue_message("order"),
                                  cancel_message("order")});
}

void a_queued_start_keeps_queue_messages(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(queue_message("order", "\"early\""));
  MessageRecord start = start_message("order");
  start.visible_at = scene.now() + Milliseconds{1'000};
  take(scene.store().enqueue_start(start, StartPolicy::kFail));
  scene.enqueue(queue_message("order", "\"later\""));
  scene.fetch_nothing();
  scene.advance(Milliseconds{1'000});
  expect_messages(scene.fetch(), {start, queue_message("order", "\"early\""), queue_message("order", "\"later\"")});
}

void orphans_are_dropped_after_their_retention(ProviderFactory& factory) {
  Scene scene(factory);
  const Milliseconds retention = factory.orphan_retention();
  scene.enqueue(event_message("order", "first"));
  scene.enqueue(timer_message("order", 2, scene.now() + retention * 10));
  scene.advance(retention - Milliseconds{1});
  scene.enqueue(event_message("order", "young"));
  scene.enqueue(event_message("other", "young"));
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{4}, "the messages shortly before");
  scene.advance(Milliseconds{1});
  scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{1}, "the messages after the retention");
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order")});
}

void a_start_that_comes_in_time_finds_what_is_there(ProviderFactory& factory) {
  Scene scene(factory);
  const Milliseconds retention = factory.orphan_retention();
  scene.enqueue(event_message("order", "one"));
  scene.enqueue(event_message("order", "two"));
  scene.advance(retention - Milliseconds{1});
  scene.fetch_nothing();
  scene.enqueue_start("order");
  scene.advance(retention);
  expect_messages(scene.fetch(),
                  {start_message("order"), event_message("order", "one"), event_message("order", "two")});
}

void messages_of_an_instance_never_expire(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(event_message("order", "x"));
  scene.enqueue(queue_message("order"));
  scene.advance(factory.orphan_retention() * 2);
  expect_messages(scene.fetch(), {event_message("order", "x"), queue_message("order")});
}

void a_retention_that_ended_begins_again_with_the_next_message(ProviderFactory& factory) {
  Scene scene(factory);
  const Milliseconds retention = factory.orphan_retention();
  scene.enqueue(event_message("order", "old"));
  scene.advance(retention);
  scene.fetch_nothing();
  scene.enqueue(event_message("order", "new"));
  scene.fetch_nothing();
  scene.advance(retention - Milliseconds{1});
  scene.fetch_nothing();
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "new")});
}

void a_fetch_cleans_up_a_bounded_number_of_orphans(ProviderFactory& factory) {
  Scene scene(factory);
  constexpr std::uint64_t kOrphans = 150;
  constexpr std::uint64_t kAtMost = 64;
  for (std::uint64_t i = 0; i < kOrphans; ++i) scene.enqueue(queue_message("stray" + std::to_string(i)));
  scene.advance(factory.orphan_retention());
  scene.enqueue_start("order");
  expect_equal(scene.fetch().instance, "order", "the instance");
  expect(messages_in(scene) >= kOrphans - kAtMost + 1, "one fetch dropped more than its share");
  for (std::uint64_t done = kAtMost; done < kOrphans; done += kAtMost) scene.fetch_nothing();
  expect_equal(messages_in(scene), std::uint64_t{1}, "the messages after enough fetches");
}

void what_comes_after_a_deletion_brings_nothing_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  take(scene.admin().delete_instance("order", true));
  expect_error(scene.store().ack_orchestration_item(scene.commit_of(item)), Kind::kLockLost);
  scene.enqueue(completion(activity("order", 2)));
  scene.enqueue(cancel_message("order"));
  scene.fetch_nothing();
  expect_error(scene.admin().instance_info("order"), Kind::kNotFound);
  scene.create("other");
}

void a_start_that_was_dropped_leaves_an_orphan(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  scene.enqueue(event_message("order", "meanwhile"));
  expect(!scene.ack(scene.commit_of(item)).more_messages, "an orphan is announced");
  scene.fetch_nothing();
  scene.advance(kLockTimeout);
  scene.fetch_nothing();
  scene.enqueue_start("order");
  expect_messages(scene.fetch(), {start_message("order"), event_message("order", "meanwhile")});
}

}  // namespace

ValidationTests orphan_tests() {
  return {
      {"orphan", "an_orphan_is_never_fetched_and_blocks_nobody", &an_orphan_is_never_fetched_and_blocks_nobody},
      {"orphan", "many_orphans_block_nobody", &many_orphans_block_nobody},
      {"orphan", "queue_messages_of_an_orphan_are_kept", &queue_messages_of_an_orphan_are_kept},
      {"orphan", "each_queue_message_has_its_own_retention", &each_queue_message_has_its_own_retention},
      {"orphan", "a_deletion_takes_queue_messages_along", &a_deletion_takes_queue_messages_along},
      {"orphan", "a_deletion_empties_an_id_without_an_instance", &a_deletion_empties_an_id_without_an_instance},
      {"orphan", "a_deletion_of_several_empties_ids_without_an_instance",
       &a_deletion_of_several_empties_ids_without_an_instance},
      {"orphan", "other_messages_of_an_orphan_are_kept", &other_messages_of_an_orphan_are_kept},
      {"orphan", "a_queued_start_keeps_queue_messages", &a_queued_start_keeps_queue_messages},
      {"orphan", "orphans_are_dropped_after_their_retention", &orphans_are_dropped_after_their_retention},
      {"orphan", "a_start_that_comes_in_time_finds_what_is_there", &a_start_that_comes_in_time_finds_what_is_there},
      {"orphan", "messages_of_an_instance_never_expire", &messages_of_an_instance_never_expire},
      {"orphan", "a_retention_that_ended_begins_again_with_the_next_message",
       &a_retention_that_ended_begins_again_with_the_next_message},
      {"orphan", "a_fetch_cleans_up_a_bounded_number_of_orphans", &a_fetch_cleans_up_a_bounded_number_of_orphans},
      {"orphan", "what_comes_after_a_deletion_brings_nothing_back", &what_comes_after_a_deletion_brings_nothing_back},
      {"orphan", "a_start_that_was_dropped_leaves_an_orphan", &a_start_that_was_dropped_leaves_an_orphan},
  };
}

}  // namespace perdure::testing
