// Generations of an instance: each with its own history, status and times; the highest is the current one.
#include "testing/validation/moves.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void histories_of_executions_are_separate(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.continue_as_new("order");
  const OrchestrationItem item = scene.wake("order");
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(2, "Second")};
  scene.ack(commit);

  const std::vector<EventRecord> first = {started_event(), event(2)};
  const std::vector<EventRecord> second = {started_event(), event(2, "Second")};
  expect(history_of(scene, "order", 1) == first, "the first history");
  expect(history_of(scene, "order", 2) == second, "the second history");
  expect(history_of(scene, "order") == second, "the latest history is not the second");
  expect(take(scene.admin().read_history("order", 2, 1)) == std::vector<EventRecord>{event(2, "Second")},
         "the history behind event 1");
  const OrchestrationItem next = scene.wake("order");
  expect(next.history.has_value() && next.history->events == second, "the fetched history is not the current one");
}

void the_latest_execution_is_the_one_with_the_highest_id(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  TurnCommit more = scene.commit_of(scene.wake("order"));
  more.events = events(2, 9);
  scene.ack(more);
  // An execution may begin with any event: the store does not look inside.
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.execution_id = 2;
  commit.events = {event(1, "Unusual")};
  scene.ack(commit);
  expect(history_of(scene, "order") == commit.events, "the history is not of the latest execution");
  expect_equal(take(scene.admin().instance_info("order")).execution_id, ExecutionId{2}, "the current execution");
  const OrchestrationItem item = scene.wake("order");
  expect_equal(item.execution_id, ExecutionId{2}, "the fetched execution");
  expect_equal(item.last_event_id, EventId{1}, "the last event id");
}

void the_fetched_execution_is_the_committed_one(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem first = scene.fetch();
  expect_equal(first.execution_id, ExecutionId{1}, "before the first commit");
  scene.ack(scene.first_commit_of(first));
  for (ExecutionId id = 1; id <= 3; ++id) {
    const OrchestrationItem item = scene.wake("order");
    expect_equal(item.execution_id, id, "the fetched execution");
    expect_equal(item.last_event_id, EventId{1}, "the last event id");
    abandon(scene, item.token);
    const OrchestrationItem again = scene.fetch();
    expect_equal(again.execution_id, id, "the execution of the second fetch");
    scene.ack(scene.commit_of(again));
    scene.continue_as_new("order");
  }
}

void continue_as_new_begins_the_next_execution(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  TurnCommit last = scene.commit_of(item);
  last.events = {event(2)};
  last.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = "\"again\""};
  last.messages = {event_message("order", "early"), continue_message("order")};
  scene.advance(Milliseconds{10});
  const Timestamp ended = scene.now();
  scene.ack(last);
  expect_equal(take(scene.admin().instance_info("order")).execution_id, ExecutionId{1}, "the execution in between");

  const OrchestrationItem next = scene.fetch();
  expect_messages(next, {continue_message("order"), event_message("order", "early")});
  expect_equal(next.execution_id, ExecutionId{1}, "the execution that a continuation is fetched with");
  expect_equal(next.last_event_id, EventId{2}, "the last event id");
  expect_equal(next.metadata->status, ExecutionStatus::kContinuedAsNew, "the status");
  TurnCommit first = scene.first_commit_of(next, "Renamed");
  first.execution_id = 2;
  scene.advance(Milliseconds{10});
  scene.ack(first);

  const ExecutionInfo past = take(scene.admin().execution_info("order", 1));
  expect_equal(past.status, ExecutionStatus::kContinuedAsNew, "the status of the first execution");
  expect(past.output == "\"again\"", "the output of the first execution");
  expect(past.completed_at == ended, "the end of the first execution");
  expect_equal(past.events, std::uint64_t{2}, "the events of the first execution");
  const ExecutionInfo current = take(scene.admin().execution_info("order", 2));
  expect_equal(current.status, ExecutionStatus::kRunning, "the status of the second execution");
  expect_equal(current.started_at, scene.now(), "the start of the second execution");
  expect(!current.completed_at && !current.output, "the second execution has an end");
  const InstanceInfo info = take(scene.admin().instance_info("order"));
  expect_equal(info.execution_id, ExecutionId{2}, "the current execution");
  expect_equal(info.status, ExecutionStatus::kRunning, "the status of the instance");
  expect_equal(info.name, "Renamed", "the name");
}

void all_executions_stay_readable(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.continue_as_new("order");
  scene.continue_as_new("order");
  scene.end("order");
  expect_equal(take(scene.admin().list_executions("order")), std::vector<ExecutionId>{1, 2, 3}, "the executions");
  for (const ExecutionId id : {ExecutionId{1}, ExecutionId{2}, ExecutionId{3}}) {
    expect(history_of(scene, "order", id) == std::vector<EventRecord>{started_event(), event(2)}, "a history");
  }
  expect_equal(take(scene.admin().execution_info("order", 2)).status, ExecutionStatus::kContinuedAsNew,
               "the status of a past execution");
  expect_equal(take(scene.admin().execution_info("order", 3)).status, ExecutionStatus::kCompleted,
               "the status of the last execution");
}

void a_past_execution_takes_no_more_commits(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.continue_as_new("order");
  const OrchestrationItem item = scene.wake("order");
  const Snapshot before = snapshot(scene, "order");
  for (const ExecutionId id : {ExecutionId{1}, ExecutionId{4}}) {
    TurnCommit commit = scene.commit_of(item);
    commit.execution_id = id;
    commit.events = {event(1)};
    expect_error(scene.store().ack_orchestration_item(commit), Kind::kInvalidArgument);
    expect_unchanged(scene, before);
  }
  scene.ack(scene.commit_of(item));
}

void every_status_is_stored_with_output_and_time(ProviderFactory& factory) {
  Scene scene(factory);
  const ExecutionStatus all[] = {ExecutionStatus::kCompleted, ExecutionStatus::kFailed, ExecutionStatus::kCancelled,
                                 ExecutionStatus::kTerminated};
  for (const ExecutionStatus status : all) {
    const std::string instance = "order-" + std::string(to_string(status));
    scene.create(instance);
    scene.advance(Milliseconds{10});
    scene.end(instance, status, status == ExecutionStatus::kTerminated ? Payload() : Payload("\"why\""));
    const InstanceInfo info = take(scene.admin().instance_info(instance));
    expect_equal(info.status, status, "the status");
    expect(info.output == (status == ExecutionStatus::kTerminated ? Payload() : Payload("\"why\"")), "the output");
    expect(info.completed_at == scene.now(), "the end");
    const OrchestrationItem item = scene.wake(instance);
    expect_equal(item.metadata->status, status, "the fetched status");
    scene.ack(scene.commit_of(item));
    expect_equal(take(scene.admin().instance_info(instance)).status, status, "a commit without status changed it");
    expect(take(scene.admin().instance_info(instance)).completed_at == scene.now(), "the end changed");
  }
}

void running_again_clears_output_and_end(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.end("order");
  TurnCommit commit = scene.commit_of(scene.wake("order"));
  commit.status = StatusChange{.status = ExecutionStatus::kRunning, .output = {}};
  scene.ack(commit);
  const InstanceInfo info = take(scene.admin().instance_info("order"));
  expect_equal(info.status, ExecutionStatus::kRunning, "the status");
  expect(!info.output.has_value(), "the output is still there");
  expect(!info.completed_at.has_value(), "the end is still there");
}

// Ends the current execution. The continuation becomes visible after the delay.
void continue_after(Scene& scene, const std::string& instance, Milliseconds delay) {
  scene.turn(instance, [&](TurnCommit& commit) {
    commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
    commit.messages.push_back(continue_message(instance));
    commit.messages.back().visible_at = scene.now() + delay;
  });
}

// A store that used an older time for the continuation than for the other messages would deliver them without it.
void an_instance_between_executions_waits_for_its_continuation(ProviderFactory& factory) {
  constexpr Milliseconds kDelay{1'000};
  for (const bool event_first : {true, false}) {
    Scene scene(factory);
    scene.create("order");
    if (event_first) {
      const OrchestrationItem item = scene.wake("order");
      scene.enqueue(event_message("order", "older"));
      TurnCommit commit = scene.commit_of(item);
      commit.events = {event(2)};
      commit.status = StatusChange{.status = ExecutionStatus::kContinuedAsNew, .output = {}};
      commit.messages = {continue_message("order")};
      commit.messages.back().visible_at = scene.now() + kDelay;
      scene.ack(commit);
    } else {
      continue_after(scene, "order", kDelay);
      scene.enqueue(event_message("order", "older"));
    }
    scene.fetch_nothing();
    scene.advance(kDelay - Milliseconds{1});
    scene.fetch_nothing();
    scene.advance(Milliseconds{1});
    const OrchestrationItem next = scene.fetch();
    expect_equal(next.messages.size(), std::size_t{2}, "the messages");
    expect_equal(next.messages.front().record.kind, MessageKind::kContinueAsNew, "the first message");
    expect(!next.continuation_missing, "the continuation is there, and said to be missing");
    // After an abandon it waits only for its backoff.
    abandon(scene, next.token, kDelay);
    scene.fetch_nothing();
    scene.advance(kDelay);
    TurnCommit first = scene.first_commit_of(scene.fetch());
    first.execution_id = 2;
    scene.ack(first);
    expect(!scene.wake("order").continuation_missing, "an instance that runs misses a continuation");
  }
}

void a_cancel_waits_for_the_continuation_too(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  continue_after(scene, "order", Milliseconds{1'000});
  scene.enqueue(cancel_message("order"));
  scene.enqueue(start_message("order"));
  scene.fetch_nothing();
  scene.advance(Milliseconds{1'000});
  expect_equal(scene.fetch().messages.size(), std::size_t{3}, "the messages");
}

// The engine ends such an instance, so a store states it only if it is so.
void a_missing_continuation_is_stated(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  continue_after(scene, "order", Milliseconds{0});
  const OrchestrationItem continued = scene.fetch();
  expect(!continued.continuation_missing, "the continuation is in the batch");
  scene.ack(scene.commit_of(continued));  // consumes the continuation and begins no execution
  const OrchestrationItem item = scene.wake("order");
  expect_equal(item.metadata->status, ExecutionStatus::kContinuedAsNew, "the status");
  expect(item.continuation_missing, "the continuation is missing, and the store does not say so");
  abandon(scene, item.token);
  // A start is not a continuation.
  scene.enqueue(start_message("order"));
  const OrchestrationItem again = scene.fetch();
  expect_equal(again.messages.size(), std::size_t{2}, "the messages");
  expect(again.continuation_missing, "a start is taken for a continuation");
}

void only_an_instance_between_executions_misses_a_continuation(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem first = scene.fetch();
  expect(!first.continuation_missing, "a new instance misses a continuation");
  scene.ack(scene.first_commit_of(first));
  expect(!scene.wake("order").continuation_missing, "an instance that runs misses a continuation");
  scene.create("ended");
  scene.end("ended");
  expect(!scene.wake("ended").continuation_missing, "an instance that has ended misses a continuation");
}

}  // namespace

ValidationTests execution_tests() {
  return {
      {"execution", "histories_of_executions_are_separate", &histories_of_executions_are_separate},
      {"execution", "the_latest_execution_is_the_one_with_the_highest_id",
       &the_latest_execution_is_the_one_with_the_highest_id},
      {"execution", "the_fetched_execution_is_the_committed_one", &the_fetched_execution_is_the_committed_one},
      {"execution", "continue_as_new_begins_the_next_execution", &continue_as_new_begins_the_next_execution},
      {"execution", "all_executions_stay_readable", &all_executions_stay_readable},
      {"execution", "a_past_execution_takes_no_more_commits", &a_past_execution_takes_no_more_commits},
      {"execution", "every_status_is_stored_with_output_and_time", &every_status_is_stored_with_output_and_time},
      {"execution", "running_again_clears_output_and_end", &running_again_clears_output_and_end},
      {"execution", "an_instance_between_executions_waits_for_its_continuation",
       &an_instance_between_executions_waits_for_its_continuation},
      {"execution", "a_cancel_waits_for_the_continuation_too", &a_cancel_waits_for_the_continuation_too},
      {"execution", "a_missing_continuation_is_stated", &a_missing_continuation_is_stated},
      {"execution", "only_an_instance_between_executions_misses_a_continuation",
       &only_an_instance_between_executions_misses_a_continuation},
  };
}

}  // namespace perdure::testing
