// What a start does when its instance is there already; decided and enqueued in one step.
#include <atomic>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

constexpr StartPolicy kPolicies[] = {StartPolicy::kIgnore, StartPolicy::kFail, StartPolicy::kReplaceIfTerminal};

// Brings "order" into each state in which a start meets something: queued, running, ended.
enum class Met { kQueuedStart, kRunning, kEnded };
constexpr Met kAllMet[] = {Met::kQueuedStart, Met::kRunning, Met::kEnded};

void prepare(Scene& scene, Met met) {
  if (met == Met::kQueuedStart) return scene.enqueue_start("order", "Old");
  scene.create("order", "Old");
  if (met == Met::kEnded) scene.end("order");
}

void a_new_instance_is_started_by_every_policy(ProviderFactory& factory) {
  Scene scene(factory);
  for (const StartPolicy policy : kPolicies) {
    const std::string instance = "order" + std::to_string(static_cast<int>(policy));
    MessageRecord start = start_message(instance, "Flow", "\"input\"");
    start.visible_at = scene.now() + Milliseconds{100};
    expect_equal(take(scene.store().enqueue_start(start, policy)), StartOutcome::kEnqueued, "the outcome");
    expect(take(scene.store().read_status(instance))->pending, "the start is not pending");
    scene.fetch_nothing();
    scene.advance(Milliseconds{100});
    expect_messages(scene.fetch(), {start});
  }
}

void ignore_leaves_everything_as_it_is(ProviderFactory& factory) {
  for (const Met met : kAllMet) {
    Scene scene(factory);
    prepare(scene, met);
    const Snapshot before = snapshot(scene, "order");
    for (int i = 0; i < 2; ++i) {
      const StartOutcome outcome =
          take(scene.store().enqueue_start(start_message("order", "New"), StartPolicy::kIgnore));
      expect_equal(outcome, StartOutcome::kIgnored, "the outcome");
      expect_unchanged(scene, before);
    }
  }
}

void fail_refuses_a_second_start(ProviderFactory& factory) {
  for (const Met met : kAllMet) {
    Scene scene(factory);
    prepare(scene, met);
    const Snapshot before = snapshot(scene, "order");
    const ProviderResult<StartOutcome> outcome =
        scene.store().enqueue_start(start_message("order", "New"), StartPolicy::kFail);
    expect_error(outcome, Kind::kAlreadyExists);
    expect(!outcome.error().retryable(), "a second start is worth a retry");
    expect_unchanged(scene, before);
  }
}

void replace_refuses_what_runs(ProviderFactory& factory) {
  for (const Met met : {Met::kQueuedStart, Met::kRunning}) {
    Scene scene(factory);
    prepare(scene, met);
    const Snapshot before = snapshot(scene, "order");
    expect_error(scene.store().enqueue_start(start_message("order", "New"), StartPolicy::kReplaceIfTerminal),
                 Kind::kStillRunning);
    expect_unchanged(scene, before);
  }
}

void replace_begins_an_ended_instance_anew(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.custom_status = CustomStatusChange{.value = "old"};
  commit.key_values = {SetKeyValue{.key = "k", .value = "old", .updated_at = {}}};
  scene.ack(commit);
  scene.continue_as_new("order");
  scene.end("order", ExecutionStatus::kCancelled);
  scene.enqueue(event_message("order", "old"));
  const WorkItem work = scene.fetch_work();
  const OrchestrationItem old = scene.fetch();

  const MessageRecord start = start_message("order", "New");
  expect_equal(take(scene.store().enqueue_start(start, StartPolicy::kReplaceIfTerminal)), StartOutcome::kReplaced,
               "the outcome");
  const InstanceStatus status = take(scene.store().read_status("order")).value();
  expect(status.pending, "the new start is not pending");
  expect_equal(status.name, "New", "the pending name");
  expect_error(scene.admin().instance_info("order"), Kind::kNotFound);
  expect(history_of(scene, "order", 1).empty() && history_of(scene, "order", 2).empty(), "an old history is left");
  expect(take(scene.store().read_key_values("order")).empty(), "old values are left");
  expect_error(scene.store().ack_orchestration_item(scene.commit_of(old)), Kind::kLockLost);
  expect_error(scene.store().ack_work_item({.token = work.token, .completion = completion(work.record)}),
               Kind::kLockLost);

  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {start});
  expect_equal(item.execution_id, kFirstExecutionId, "the execution");
  expect_equal(item.attempt_count, 1U, "the attempts");
  expect(!item.metadata.has_value(), "the old metadata is left");
  scene.ack(scene.first_commit_of(item, "New"));
  expect(!take(scene.store().read_custom_status("order", 0)).has_value(), "the old custom status is left");
}

void replace_takes_every_terminal_status(ProviderFactory& factory) {
  Scene scene(factory);
  const ExecutionStatus all[] = {ExecutionStatus::kCompleted, ExecutionStatus::kFailed, ExecutionStatus::kCancelled,
                                 ExecutionStatus::kTerminated};
  for (const ExecutionStatus status : all) {
    scene.create("order");
    scene.end("order", status);
    expect_equal(take(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal)),
                 StartOutcome::kReplaced, "the outcome");
    take(scene.admin().delete_instance("order", true));
  }
}

void replace_refuses_what_continues_as_new(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit last = scene.commit_of(scene.wake("order"));
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
  last.messages = {continue_message("order")};
  scene.ack(last);
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal),
               Kind::kStillRunning);
  expect_unchanged(scene, before);
  // Once its continuation is lost, nothing will ever run again.
  scene.ack(scene.commit_of(scene.fetch()));
  expect_equal(take(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal)),
               StartOutcome::kReplaced, "the outcome");
}

void replace_takes_the_whole_tree(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.create_child("child", "order");
  scene.create_child("grandchild", "child");
  scene.create("other");
  scene.end("order");
  scene.end("child");
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal),
               Kind::kStillRunning);
  expect_unchanged(scene, before);
  scene.end("grandchild");
  expect_equal(take(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal)),
               StartOutcome::kReplaced, "the outcome");
  for (const char* id : {"order", "child", "grandchild"}) {
    expect_error(scene.admin().instance_info(id), Kind::kNotFound);
  }
  take(scene.admin().instance_info("other"));
}

void replace_refuses_a_child(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.create_child("child", "parent");
  scene.end("child");
  const Snapshot before = snapshot(scene, "child");
  expect_error(scene.store().enqueue_start(start_message("child"), StartPolicy::kReplaceIfTerminal),
               Kind::kSubOrchestration);
  expect_unchanged(scene, before);
}

void messages_without_instance_come_with_the_start(ProviderFactory& factory) {
  Scene scene(factory);
  for (const StartPolicy policy : kPolicies) {
    const std::string instance = "order" + std::to_string(static_cast<int>(policy));
    scene.enqueue(event_message(instance, "early"));
    expect_equal(take(scene.store().enqueue_start(start_message(instance), policy)), StartOutcome::kEnqueued,
                 "the outcome");
    expect_messages(scene.fetch(), {start_message(instance), event_message(instance, "early")});
  }
}

void of_concurrent_starts_one_is_enqueued(ProviderFactory& factory) {
  Scene scene(factory);
  for (int round = 0; round < 10; ++round) {
    const std::string instance = "order" + std::to_string(round);
    std::atomic<int> enqueued = 0;
    in_parallel(6, [&](std::size_t i) {
      const StartPolicy policy = i % 2 == 0 ? StartPolicy::kIgnore : StartPolicy::kFail;
      const ProviderResult<StartOutcome> outcome = scene.store().enqueue_start(start_message(instance), policy);
      if (!outcome) {
        expect_error(outcome, Kind::kAlreadyExists);
      } else if (*outcome == StartOutcome::kEnqueued) {
        ++enqueued;
      } else {
        expect_equal(*outcome, StartOutcome::kIgnored, "the outcome");
      }
    });
    expect_equal(enqueued.load(), 1, "the starts that were enqueued");
    expect_messages(scene.fetch(), {start_message(instance)});
  }
}

}  // namespace

ValidationTests start_policy_tests() {
  return {
      {"start_policy", "a_new_instance_is_started_by_every_policy", &a_new_instance_is_started_by_every_policy},
      {"start_policy", "ignore_leaves_everything_as_it_is", &ignore_leaves_everything_as_it_is},
      {"start_policy", "fail_refuses_a_second_start", &fail_refuses_a_second_start},
      {"start_policy", "replace_refuses_what_runs", &replace_refuses_what_runs},
      {"start_policy", "replace_begins_an_ended_instance_anew", &replace_begins_an_ended_instance_anew},
      {"start_policy", "replace_takes_every_terminal_status", &replace_takes_every_terminal_status},
      {"start_policy", "replace_refuses_what_continues_as_new", &replace_refuses_what_continues_as_new},
      {"start_policy", "replace_takes_the_whole_tree", &replace_takes_the_whole_tree},
      {"start_policy", "replace_refuses_a_child", &replace_refuses_a_child},
      {"start_policy", "messages_without_instance_come_with_the_start", &messages_without_instance_come_with_the_start},
      {"start_policy", "of_concurrent_starts_one_is_enqueued", &of_concurrent_starts_one_is_enqueued},
  };
}

}  // namespace perdure::testing
