// A commit happens as a whole or not at all, once, and only for the holder of the lock.
#include <algorithm>
#include <atomic>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

// Everything that a turn can carry, after the first one.
TurnCommit full_commit(Scene& scene, const OrchestrationItem& item) {
  TurnCommit commit = scene.commit_of(item);
  const EventId next = item.last_event_id + 1;
  commit.events = events(next, next + 4);
  for (EventId id = next; id < next + 3; ++id) commit.activities.push_back(activity(item.instance, id));
  commit.messages.push_back(timer_message(item.instance, next + 3, scene.now() + Milliseconds{500}));
  commit.messages.push_back(event_message(item.instance, "one"));
  commit.messages.push_back(queue_message(item.instance, "\"two\""));
  commit.messages.push_back(event_message(item.instance, "three"));
  commit.custom_status = CustomStatusChange{.value = "half way"};
  commit.key_values.push_back(SetKeyValue{.key = "k", .value = "v", .updated_at = scene.now()});
  commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"all\""};
  return commit;
}

void a_commit_with_a_duplicate_event_changes_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2)});
  scene.advance(Milliseconds{10});
  const OrchestrationItem item = scene.wake("order");
  const Snapshot before = snapshot(scene, "order");

  TurnCommit bad = full_commit(scene, item);
  bad.events = events(item.last_event_id, item.last_event_id + 1);
  bad.cancelled_activities = {2};
  bad.started = StartedMetadata{.name = "Other", .version = {}, .parent = {}, .pinned_version = {}, .carry_forward = 0};
  expect_error(scene.store().ack_orchestration_item(bad), Kind::kDuplicateEvent);
  expect_unchanged(scene, before);
  expect_equal(take(scene.store().read_custom_status("order", 0)).has_value(), false,
               "a custom status was left behind");
  scene.fetch_nothing();

  scene.ack(full_commit(scene, item));
  expect_equal(take(scene.admin().instance_info("order")).status, ExecutionStatus::kCompleted, "the status");
}

void everything_of_a_commit_appears_together(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  const TurnCommit commit = full_commit(scene, item);
  const CommitAnswer answer = scene.ack(commit);
  expect_equal(answer.now, scene.now(), "the time of the commit");
  expect(!answer.repeated, "a first commit is a repetition");
  expect(answer.more_messages, "the commit's own messages are not announced");
  expect(!answer.locked_until.has_value(), "the lock was kept");
  expect(answer.claimed.empty(), "an activity was claimed");

  std::vector<EventRecord> all = {started_event()};
  all.insert(all.end(), commit.events.begin(), commit.events.end());
  expect(history_of(scene, "order") == all, "the history is not what was committed");
  const InstanceStatus status = take(scene.store().read_status("order")).value();
  expect_equal(status.status, ExecutionStatus::kCompleted, "the status");
  expect(status.output == "\"all\"", "the output is not the commit's");
  expect(status.custom_status == "half way", "the custom status is not the commit's");
  expect(take(scene.store().read_key_value("order", "k")) == "v", "the value is not the commit's");

  const std::vector<WorkItem> work = fetch_activities(scene, 10);
  expect_equal(work.size(), commit.activities.size(), "the activities");
  for (std::size_t i = 0; i < work.size(); ++i) expect_record(work[i].record, commit.activities[i]);
  const OrchestrationItem next = scene.fetch();
  expect_messages(next, {commit.messages[1], commit.messages[2], commit.messages[3]});
  scene.ack(scene.commit_of(next));
  scene.fetch_nothing();
  scene.advance(Milliseconds{500});
  expect_messages(scene.fetch(), {commit.messages[0]});
}

void only_a_successful_commit_releases_the_lock(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem item = scene.wake("order");
  TurnCommit bad = full_commit(scene, item);
  bad.token.value += "x";
  const Snapshot before = snapshot(scene, "order");
  expect_error(scene.store().ack_orchestration_item(bad), Kind::kLockLost);
  expect_unchanged(scene, before);
  scene.advance(kLockTimeout - Milliseconds{1});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  const OrchestrationItem again = scene.fetch();
  expect(again.messages == item.messages, "the messages are not the same");
  scene.ack(full_commit(scene, again));
}

void of_two_commits_of_one_token_one_succeeds(ProviderFactory& factory) {
  Scene scene(factory);
  for (int round = 0; round < 10; ++round) {
    const std::string instance = "order" + std::to_string(round);
    scene.enqueue_start(instance);
    const OrchestrationItem item = scene.fetch();
    const TurnCommit commits[] = {scene.first_commit_of(item, "A"), scene.first_commit_of(item, "B")};
    std::atomic<int> succeeded = 0;
    std::atomic<int> lost = 0;
    in_parallel(2, [&](std::size_t i) {
      const ProviderResult<CommitAnswer> answer = scene.store().ack_orchestration_item(commits[i]);
      if (answer) {
        ++succeeded;
      } else {
        expect_error(answer, Kind::kLockLost);
        ++lost;
      }
    });
    expect_equal(succeeded.load(), 1, "the commits that succeeded");
    expect_equal(lost.load(), 1, "the commits that lost the lock");
    expect_equal(history_of(scene, instance).size(), std::size_t{1}, "the events");
    scene.fetch_nothing();
  }
}

void a_commit_consumes_only_messages_of_its_instance(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("mine");
  scene.create("other");
  scene.enqueue(event_message("other", "keep"));
  const OrchestrationItem other = scene.fetch();
  abandon(scene, other.token, Milliseconds{1'000});
  const OrchestrationItem mine = scene.wake("mine");
  TurnCommit commit = scene.commit_of(mine);
  commit.consumed.push_back(other.messages.front().id);
  commit.consumed.push_back(other.messages.front().id + 1'000'000);
  scene.ack(commit);
  scene.fetch_nothing();
  scene.advance(Milliseconds{1'000});
  expect_messages(scene.fetch(), {event_message("other", "keep")});
}

void what_is_not_consumed_stays_queued(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const std::vector<MessageRecord> sent = {event_message("order", "one"), event_message("order", "two"),
                                           event_message("order", "three")};
  for (const MessageRecord& message : sent) scene.enqueue(message);
  const OrchestrationItem item = scene.fetch();
  TurnCommit commit = scene.commit_of(item);
  commit.consumed = {item.messages[1].id};
  expect(scene.ack(commit).more_messages, "the rest is not announced");
  const OrchestrationItem rest = scene.fetch();
  expect_messages(rest, {sent[0], sent[2]});
  expect_equal(rest.messages[0].id, item.messages[0].id, "the position of a message");
  expect(!scene.ack(scene.commit_of(rest)).more_messages, "more messages than there are");
  scene.fetch_nothing();
}

void readers_see_a_commit_as_a_whole(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  std::atomic<bool> done = false;
  in_parallel(2, [&](std::size_t i) {
    if (i == 0) {
      try {
        for (int turn = 0; turn < 50; ++turn) {
          TurnCommit commit = scene.commit_of(scene.wake("order"));
          for (const char* key : {"a", "b", "c"}) {
            commit.key_values.push_back(SetKeyValue{.key = key, .value = std::to_string(turn), .updated_at = {}});
          }
          scene.ack(commit);
        }
      } catch (...) {
        done = true;
        throw;
      }
      done = true;
      return;
    }
    while (!done) {
      const std::vector<KeyValue> values = take(scene.store().read_key_values("order"));
      expect(values.empty() || values.size() == 3, "a part of the keys");
      expect(std::ranges::all_of(values, [&](const KeyValue& kv) { return kv.value == values.front().value; }),
             "values of two commits");
    }
  });
  expect(take(scene.store().read_key_value("order", "c")) == "49", "the last value");
}

}  // namespace

ValidationTests atomicity_tests() {
  return {
      {"atomicity", "a_commit_with_a_duplicate_event_changes_nothing",
       &a_commit_with_a_duplicate_event_changes_nothing},
      {"atomicity", "everything_of_a_commit_appears_together", &everything_of_a_commit_appears_together},
      {"atomicity", "only_a_successful_commit_releases_the_lock", &only_a_successful_commit_releases_the_lock},
      {"atomicity", "of_two_commits_of_one_token_one_succeeds", &of_two_commits_of_one_token_one_succeeds},
      {"atomicity", "a_commit_consumes_only_messages_of_its_instance",
       &a_commit_consumes_only_messages_of_its_instance},
      {"atomicity", "what_is_not_consumed_stays_queued", &what_is_not_consumed_stays_queued},
      {"atomicity", "readers_see_a_commit_as_a_whole", &readers_see_a_commit_as_a_whole},
  };
}

}  // namespace perdure::testing
