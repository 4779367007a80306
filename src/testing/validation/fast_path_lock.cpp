// The fast path: locks that outlive a commit, and what the answer says about more messages.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

OrchestrationFetch by(const std::string& owner) {
  OrchestrationFetch options;
  options.owner = owner;
  return options;
}

// A commit under the token of the item that consumes nothing more.
TurnCommit keeping(Scene& scene, const OrchestrationItem& item, const std::string& owner,
                   Milliseconds keep_lock = kLockTimeout) {
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = scene.new_commit_id();
  commit.execution_id = item.execution_id;
  commit.keep_lock = keep_lock;
  commit.owner = owner;
  return commit;
}

// An instance whose first turn is committed and whose lock is kept by `owner`, until kLockTimeout from now.
OrchestrationItem create_kept(Scene& scene, const std::string& instance, const std::string& owner,
                              Where where = Where::current()) {
  scene.enqueue_start(instance, "Flow", where);
  OrchestrationItem item = scene.fetch(by(owner), where);
  TurnCommit commit = scene.first_commit_of(item);
  commit.keep_lock = kLockTimeout;
  commit.owner = owner;
  const CommitAnswer answer = scene.ack(commit, where);
  expect_equal(answer.locked_until, std::optional(item.locked_until), "until when the lock is kept", where);
  return item;
}

void a_kept_lock_has_the_same_token(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  TurnCommit next = keeping(scene, item, "N");
  next.events = {event(2)};
  scene.ack(next);
  expect_equal(history_of(scene, "a").size(), std::size_t{2}, "events");
  take(scene.store().renew_orchestration_lock(item.token, kLockTimeout));
  expect_equal(take(scene.store().read_history(item.token, 1)).events.size(), std::size_t{1},
               "events behind the first");
}

void a_kept_lock_is_released_by_a_commit_without_it(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  scene.fetch_nothing(by("M"));
  TurnCommit last = keeping(scene, item, "N");
  last.keep_lock.reset();
  const CommitAnswer answer = scene.ack(last);
  expect_equal(answer.locked_until, std::optional<Timestamp>(), "until when the lock is kept");
  scene.fetch(by("M"));
  expect_error(scene.store().ack_orchestration_item(keeping(scene, item, "N")), ProviderErrorKind::kLockLost);
}

void a_kept_lock_can_be_given_back(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  abandon(scene, item.token);
  scene.fetch(by("M"));
}

void a_kept_lock_is_extended_below_half_only(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const Milliseconds keep{4'000};
  const OrchestrationItem item = create_kept(scene, "a", "N");
  // More than all of it is left, then exactly half of it.
  expect_equal(scene.ack(keeping(scene, item, "N", keep)).locked_until, std::optional(item.locked_until),
               "until when the lock is kept");
  scene.advance(kLockTimeout - keep / 2);
  expect_equal(scene.ack(keeping(scene, item, "N", keep)).locked_until, std::optional(item.locked_until),
               "until when the lock is kept with half of it left");
  scene.advance(Milliseconds{1});
  expect_equal(scene.ack(keeping(scene, item, "N", keep)).locked_until, std::optional(scene.now() + keep),
               "until when the lock is kept with less than half left");
  scene.advance(keep - Milliseconds{1});
  scene.enqueue(event_message("a", "wake"));
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  scene.fetch();
}

void a_held_instance_goes_to_its_owner_only(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  scene.fetch_nothing(by("N"));
  scene.advance(Milliseconds{10});
  const MessageRecord message = event_message("a", "wake");
  scene.enqueue(message);
  scene.fetch_nothing(by("M"));
  scene.fetch_nothing();
  OrchestrationFetch mine = by("N");
  mine.lock_timeout = Milliseconds{9'000};
  const OrchestrationItem handed = scene.fetch(mine);
  expect_messages(handed, {message});
  expect_equal(handed.attempt_count, 1U, "the attempt");
  expect_equal(handed.locked_until, scene.now() + mine.lock_timeout, "until when the lock holds");
  expect_equal(handed.last_event_id, EventId{1}, "the last event");
  // There is a new token, and the old one opens nothing.
  expect_error(scene.store().ack_orchestration_item(keeping(scene, item, "N")), ProviderErrorKind::kLockLost);
  expect_error(scene.store().renew_orchestration_lock(item.token, kLockTimeout), ProviderErrorKind::kLockLost);
  scene.ack(scene.commit_of(handed));
}

void an_instance_in_a_turn_is_not_handed_to_anybody(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "one"));
  const OrchestrationItem handed = scene.fetch(by("N"));
  scene.enqueue(event_message("a", "two"));
  scene.fetch_nothing(by("N"));
  const CommitAnswer answer = scene.ack(scene.commit_of(handed));
  expect(answer.more_messages, "the message that came meanwhile is not announced");
  expect_equal(scene.fetch(by("M")).messages.size(), std::size_t{1}, "messages");
}

// A lock that is kept for nobody may be refused. If it is not, it is like any other lock, and no fetch passes it.
void a_lock_kept_for_nobody_is_handed_to_nobody(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("a");
  TurnCommit commit = scene.commit_of(scene.wake("a"));
  commit.keep_lock = kLockTimeout;
  const ProviderResult<CommitAnswer> answer = scene.store().ack_orchestration_item(commit);
  if (!answer) {
    expect_error(answer, ProviderErrorKind::kInvalidArgument);
  } else {
    scene.enqueue(event_message("a", "wake again"));
  }
  scene.fetch_nothing();
  scene.fetch_nothing(by("N"));
  scene.advance(kLockTimeout);
  expect_equal(scene.fetch().messages.size(), std::size_t{1}, "messages");
}

void a_timer_reaches_a_held_instance(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue(timer_message("a", 2, scene.now() + Milliseconds{100}));
  create_kept(scene, "a", "N");
  scene.fetch_nothing(by("N"));
  scene.advance(Milliseconds{100});
  scene.fetch_nothing(by("M"));
  expect_equal(scene.fetch(by("N")).messages.size(), std::size_t{1}, "messages");
}

void a_held_instance_has_its_place_in_the_order(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "N");
  scene.create("b");
  scene.create("c");
  for (const std::string id : {"b", "a", "c"}) {
    scene.enqueue(event_message(id, "wake"));
    scene.advance(Milliseconds{1});
  }
  expect_equal(instances_of(fetch_instances(scene, 10, by("N"))), std::vector<std::string>{"b", "a", "c"}, "the order");
}

void a_filter_applies_to_held_instances(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  OrchestrationFetch other = by("N");
  other.filter.orchestrations = {"Other"};
  scene.fetch_nothing(other);
  scene.fetch(by("N"));
}

void a_lapsed_lock_is_anybodys(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  scene.advance(kLockTimeout - Milliseconds{1});
  scene.fetch_nothing(by("M"));
  scene.advance(Milliseconds{1});
  expect_error(scene.store().ack_orchestration_item(keeping(scene, item, "N")), ProviderErrorKind::kLockLost);
  scene.fetch(by("M"));
  // Then it is not the first owner's any more.
  scene.enqueue(event_message("a", "again"));
  scene.fetch_nothing(by("N"));
}

void a_lapsed_lock_is_like_none_for_its_owner(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  scene.advance(kLockTimeout);
  expect_equal(instances_of(fetch_instances(scene, 10, by("N"))), std::vector<std::string>{"a"}, "the instances");
}

void the_end_releases_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  int count = 0;
  for (const ExecutionStatus status : {ExecutionStatus::kCompleted, ExecutionStatus::kFailed,
                                       ExecutionStatus::kCancelled, ExecutionStatus::kContinuedAsNew}) {
    const OrchestrationItem item = create_kept(scene, "a" + std::to_string(++count), "N");
    TurnCommit last = keeping(scene, item, "N");
    last.status = StatusChange{.status = status, .output = {}};
    expect_equal(scene.ack(last).locked_until, std::optional<Timestamp>(), "until when the lock is kept");
    expect_error(scene.store().renew_orchestration_lock(item.token, kLockTimeout), ProviderErrorKind::kLockLost);
    scene.enqueue(event_message(item.instance, "late"));
    const OrchestrationItem late = scene.fetch(by("M"));
    expect_equal(late.instance, item.instance, "the instance");
    scene.ack(scene.commit_of(late));
  }
}

void a_status_that_ends_nothing_keeps_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  TurnCommit next = keeping(scene, item, "N");
  next.status = StatusChange{.status = ExecutionStatus::kRunning, .output = {}};
  expect_equal(scene.ack(next).locked_until, std::optional(item.locked_until), "until when the lock is kept");
}

void a_repeated_commit_leaves_the_lock_kept(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  TurnCommit next = keeping(scene, item, "N");
  next.events = {event(2)};
  scene.ack(next);
  expect(scene.ack(next).repeated, "the commit was not recognised");
  scene.enqueue(event_message("a", "wake"));
  scene.fetch_nothing(by("M"));
  next.commit_id = scene.new_commit_id();
  next.events = {event(3)};
  scene.ack(next);
  expect_equal(history_of(scene, "a").size(), std::size_t{3}, "events");
}

void a_wait_of_the_owner_sees_a_held_instance(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "N");
  scene.enqueue(event_message("a", "wake"));
  WorkWait wait;
  wait.orchestrations = by("M");
  expect(!take(scene.store().wait_for_work(wait, scene.now())), "there is work for another owner");
  wait.orchestrations = by("N");
  expect(take(scene.store().wait_for_work(wait, scene.now())), "there is no work for the owner");
}

void a_deleted_instance_is_not_held(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  take(scene.admin().delete_instance("a", true));
  expect_error(scene.store().ack_orchestration_item(keeping(scene, item, "N")), ProviderErrorKind::kLockLost);
  scene.enqueue_start("a");
  scene.fetch(by("M"));
}

// ---- More messages. Every provider answers this, with or without the fast path ----

void the_answer_announces_messages_that_can_be_fetched(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  OrchestrationItem item = scene.wake("a");
  scene.enqueue(timer_message("a", 2, scene.now() + Milliseconds{100}));
  scene.enqueue(event_message("b", "for another"));
  expect(!scene.ack(scene.commit_of(item)).more_messages, "a message that must wait is announced");
  scene.advance(Milliseconds{100});
  item = scene.fetch();
  scene.enqueue(event_message("a", "meanwhile"));
  expect(scene.ack(scene.commit_of(item)).more_messages, "a message that came meanwhile is not announced");
  item = scene.fetch();
  TurnCommit commit = scene.commit_of(item);
  commit.messages = {event_message("a", "to itself")};
  expect(scene.ack(commit).more_messages, "a message to itself is not announced");
  scene.enqueue(event_message("a", "and one more"));
  OrchestrationFetch one;
  one.max_messages = 1;
  item = scene.fetch(one);
  expect(scene.ack(scene.commit_of(item)).more_messages, "the rest of the messages is not announced");
  expect(!scene.ack(scene.commit_of(scene.fetch())).more_messages, "something is announced that is not there");
}

void the_answer_does_not_announce_messages_of_an_orphan(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("a", "early"));
  scene.enqueue_start("a");
  OrchestrationFetch one;
  one.max_messages = 1;
  const OrchestrationItem item = scene.fetch(one);
  expect(item.messages.front().record.kind == MessageKind::kStartOrchestration, "the start does not come first");
  // The start is dropped, so nothing will ever begin.
  expect(!scene.ack(scene.commit_of(item)).more_messages, "a message that nobody can fetch is announced");
  scene.fetch_nothing();
}

void the_answer_announces_messages_to_the_owner_of_a_kept_lock(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const OrchestrationItem item = create_kept(scene, "a", "N");
  expect(!scene.ack(keeping(scene, item, "N")).more_messages, "something is announced that is not there");
  scene.enqueue(event_message("a", "wake"));
  expect(scene.ack(keeping(scene, item, "N")).more_messages, "a message that came meanwhile is not announced");
  expect_equal(scene.fetch(by("N")).messages.size(), std::size_t{1}, "messages");
}

void a_kept_lock_that_ended_gives_no_precedence(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  create_kept(scene, "a", "A");
  scene.enqueue(event_message("a", "first"));
  scene.advance(Milliseconds{1});
  scene.enqueue_start("b");
  scene.advance(kLockTimeout);
  // It became ready when its lock ended, which was after the start.
  expect_equal(scene.fetch(by("A")).instance, std::string("b"), "what its owner gets first");
}

}  // namespace

ValidationTests fast_path_lock_tests() {
  return {
      {"fast_path_lock", "a_kept_lock_has_the_same_token", &a_kept_lock_has_the_same_token},
      {"fast_path_lock", "a_kept_lock_is_released_by_a_commit_without_it",
       &a_kept_lock_is_released_by_a_commit_without_it},
      {"fast_path_lock", "a_kept_lock_can_be_given_back", &a_kept_lock_can_be_given_back},
      {"fast_path_lock", "a_kept_lock_is_extended_below_half_only", &a_kept_lock_is_extended_below_half_only},
      {"fast_path_lock", "a_held_instance_goes_to_its_owner_only", &a_held_instance_goes_to_its_owner_only},
      {"fast_path_lock", "an_instance_in_a_turn_is_not_handed_to_anybody",
       &an_instance_in_a_turn_is_not_handed_to_anybody},
      {"fast_path_lock", "a_lock_kept_for_nobody_is_handed_to_nobody", &a_lock_kept_for_nobody_is_handed_to_nobody},
      {"fast_path_lock", "a_timer_reaches_a_held_instance", &a_timer_reaches_a_held_instance},
      {"fast_path_lock", "a_held_instance_has_its_place_in_the_order", &a_held_instance_has_its_place_in_the_order},
      {"fast_path_lock", "a_filter_applies_to_held_instances", &a_filter_applies_to_held_instances},
      {"fast_path_lock", "a_lapsed_lock_is_anybodys", &a_lapsed_lock_is_anybodys},
      {"fast_path_lock", "a_lapsed_lock_is_like_none_for_its_owner", &a_lapsed_lock_is_like_none_for_its_owner},
      {"fast_path_lock", "the_end_releases_the_lock", &the_end_releases_the_lock},
      {"fast_path_lock", "a_status_that_ends_nothing_keeps_the_lock", &a_status_that_ends_nothing_keeps_the_lock},
      {"fast_path_lock", "a_repeated_commit_leaves_the_lock_kept", &a_repeated_commit_leaves_the_lock_kept},
      {"fast_path_lock", "a_wait_of_the_owner_sees_a_held_instance", &a_wait_of_the_owner_sees_a_held_instance},
      {"fast_path_lock", "a_deleted_instance_is_not_held", &a_deleted_instance_is_not_held},
      {"fast_path_lock", "the_answer_announces_messages_that_can_be_fetched",
       &the_answer_announces_messages_that_can_be_fetched},
      {"fast_path_lock", "the_answer_does_not_announce_messages_of_an_orphan",
       &the_answer_does_not_announce_messages_of_an_orphan},
      {"fast_path_lock", "the_answer_announces_messages_to_the_owner_of_a_kept_lock",
       &the_answer_announces_messages_to_the_owner_of_a_kept_lock},
      {"fast_path_lock", "a_kept_lock_that_ended_gives_no_precedence", &a_kept_lock_that_ended_gives_no_precedence},
  };
}

}  // namespace perdure::testing
