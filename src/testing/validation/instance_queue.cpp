// What the admin interface says of the queue of one instance. A store need not describe it.
#include <optional>

#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

constexpr Milliseconds kDelay{1'000};

void expect_queue(Scene& scene, const std::string& instance, const InstanceQueue& expected,
                  Where where = Where::current()) {
  const ProviderResult<InstanceQueue> queue = scene.admin(where).instance_queue(instance);
  if (!queue && queue.error().kind() == ProviderErrorKind::kUnsupported) return;
  const InstanceQueue found = take(queue, where);
  expect_equal(found.messages, expected.messages, "messages of the instance", where);
  expect_equal(found.visible_messages, expected.visible_messages, "visible messages of the instance", where);
  expect(found.first_message_at == expected.first_message_at, "the first message has another time", where);
  expect(found.ready_at == expected.ready_at, "the instance is ready at another time", where);
}

void an_unknown_or_idle_instance_has_an_empty_queue(ProviderFactory& factory) {
  Scene scene(factory);
  expect_queue(scene, "order", {});
  scene.create("order");
  expect_queue(scene, "order", {});
  scene.enqueue(event_message("another", "e"));
  expect_queue(scene, "order", {});
}

void messages_are_counted_before_and_after_their_time(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const Timestamp begin = scene.now();
  scene.enqueue(timer_message("order", 2, begin + kDelay));
  expect_queue(scene, "order",
               {.messages = 1, .visible_messages = 0, .first_message_at = begin + kDelay, .ready_at = begin + kDelay});
  scene.enqueue(event_message("order", "e"));
  expect_queue(scene, "order", {.messages = 2, .visible_messages = 1, .first_message_at = begin, .ready_at = begin});
  scene.advance(kDelay);
  expect_queue(scene, "order", {.messages = 2, .visible_messages = 2, .first_message_at = begin, .ready_at = begin});
}

void messages_of_a_turn_count_until_its_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const Timestamp begin = scene.now();
  expect_queue(scene, "order", {.messages = 1, .visible_messages = 1, .first_message_at = begin, .ready_at = begin});
  const OrchestrationItem item = scene.fetch();
  expect_queue(scene, "order",
               {.messages = 1, .visible_messages = 1, .first_message_at = begin, .ready_at = begin + kLockTimeout});
  scene.ack(scene.first_commit_of(item));
  expect_queue(scene, "order", {});
}

void an_instance_is_ready_after_its_backoff(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const Timestamp begin = scene.now();
  const OrchestrationItem item = scene.fetch();
  take(scene.store().abandon_orchestration_item({.token = item.token, .delay = kDelay}));
  expect_queue(scene, "order",
               {.messages = 1, .visible_messages = 1, .first_message_at = begin, .ready_at = begin + kDelay});
}

// "Forever" is the last time that a store can hold.
void a_message_may_wait_forever(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(timer_message("order", 2, Timestamp::max()));
  expect_queue(
      scene, "order",
      {.messages = 1, .visible_messages = 0, .first_message_at = Timestamp::max(), .ready_at = Timestamp::max()});
}

}  // namespace

ValidationTests instance_queue_tests() {
  return {
      {"instance_queue", "an_unknown_or_idle_instance_has_an_empty_queue",
       &an_unknown_or_idle_instance_has_an_empty_queue},
      {"instance_queue", "messages_are_counted_before_and_after_their_time",
       &messages_are_counted_before_and_after_their_time},
      {"instance_queue", "messages_of_a_turn_count_until_its_commit", &messages_of_a_turn_count_until_its_commit},
      {"instance_queue", "an_instance_is_ready_after_its_backoff", &an_instance_is_ready_after_its_backoff},
      {"instance_queue", "a_message_may_wait_forever", &a_message_may_wait_forever},
  };
}

}  // namespace perdure::testing
