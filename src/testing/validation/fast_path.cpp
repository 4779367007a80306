// The fast path: work that a turn completes itself, and the three parts together.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

// A turn of the instance that completes these activities.
TurnCommit completing(Scene& scene, const OrchestrationItem& item, const std::vector<WorkItem>& done) {
  TurnCommit commit = scene.commit_of(item);
  commit.events = {event(item.last_event_id + 1)};
  for (const WorkItem& work : done) commit.completed_work.push_back(work.token);
  return commit;
}

// The commit is refused and leaves everything as it was; without the work that it cannot complete it is fine.
void expect_refused(Scene& scene, TurnCommit commit, const std::string& instance, Where where = Where::current()) {
  const Snapshot before = snapshot(scene, instance, where);
  expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kLockLost, where);
  expect_unchanged(scene, before, where);
  commit.completed_work.clear();
  expect(!scene.ack(commit, where).repeated, "the commit that failed is remembered", where);
}

void without_the_capability_it_is_unsupported(ProviderFactory& factory) {
  Scene scene(factory);
  if (has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2)});
  const WorkItem work = scene.fetch_work();
  const OrchestrationItem item = scene.wake("a");
  const Snapshot before = snapshot(scene, "a");
  TurnCommit completes = completing(scene, item, {work});
  TurnCommit claims = completing(scene, item, {});
  claims.claim = WorkFetch{};
  TurnCommit keeps = completing(scene, item, {});
  keeps.keep_lock = kLockTimeout;
  keeps.owner = "N";
  for (const TurnCommit& commit : {completes, claims, keeps}) {
    expect_error(scene.store().ack_orchestration_item(commit), ProviderErrorKind::kUnsupported);
    expect_unchanged(scene, before);
  }
  scene.ack(completing(scene, item, {}));
}

void completed_work_goes_with_the_turn(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3), activity("a", 4)});
  const std::vector<WorkItem> work = fetch_activities(scene, 2);
  const OrchestrationItem item = scene.wake("a");
  scene.ack(completing(scene, item, work));
  // No completion is queued, and the tokens open nothing.
  scene.fetch_nothing();
  for (const WorkItem& done : work) {
    expect_error(scene.store().ack_work_item({.token = done.token, .completion = completion(done.record)}),
                 ProviderErrorKind::kLockLost);
  }
  QueueDepths expected;
  expected.activities = 1;
  expect(take(scene.admin().queue_depths()) == expected, "the queues hold something else than the other activity");
  scene.advance(WorkFetch().lock_timeout);
  expect_equal(activity_ids_of(fetch_activities(scene, 10)), std::vector<EventId>{4}, "activities that are left");
}

void completed_work_counts_as_use_of_its_session(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {in_session(activity("a", 2), "s")});
  const WorkItem work = scene.fetch_work(as_worker("A"));
  scene.advance(Milliseconds{10'000});
  scene.ack(completing(scene, scene.wake("a"), {work}));
  const std::vector<std::string> owners{"A"};
  expect_equal(take(scene.store().renew_sessions(owners, kLockTimeout, Milliseconds{200})), std::size_t{1},
               "sessions used within 200 ms");
}

void work_of_a_second_attempt_is_not_completed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2)});
  scene.fetch_work();
  scene.advance(WorkFetch().lock_timeout);
  const WorkItem second = scene.fetch_work();
  expect_equal(second.attempt_count, 2U, "the attempt");
  expect_refused(scene, completing(scene, scene.wake("a"), {second}), "a");
  scene.ack_work(second);
}

void work_of_another_instance_is_not_completed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("a");
  scene.create_with_activities("b", {activity("b", 2)});
  const WorkItem foreign = scene.fetch_work();
  expect_refused(scene, completing(scene, scene.wake("a"), {foreign}), "b");
  scene.ack_work(foreign);
}

void work_whose_lock_expired_is_not_completed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2)});
  WorkFetch brief;
  brief.lock_timeout = Milliseconds{1'000};
  const WorkItem expired = scene.fetch_work(brief);
  const OrchestrationItem item = scene.wake("a");
  scene.advance(brief.lock_timeout);
  expect_refused(scene, completing(scene, item, {expired}), "a");
  expect_equal(scene.fetch_work().attempt_count, 2U, "the attempt");
}

void one_bad_token_spoils_the_commit(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3), activity("a", 4)});
  const std::vector<WorkItem> work = fetch_activities(scene, 3);
  WorkItem unknown = work[1];
  unknown.token = {"no such token"};
  expect_refused(scene, completing(scene, scene.wake("a"), {work[0], unknown}), "a");
  abandon_work(scene, work[1].token, Milliseconds{0}, true);
  expect_refused(scene, completing(scene, scene.wake("a"), {work[0], work[1]}), "a");
  // A token of an instance opens no activity.
  const OrchestrationItem item = scene.wake("a");
  unknown.token = item.token;
  expect_refused(scene, completing(scene, item, {work[0], unknown}), "a");
  scene.ack_work(work[0]);
  scene.ack_work(work[2]);
}

void work_that_a_turn_withdrew_is_not_completed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2)});
  const WorkItem work = scene.fetch_work();
  scene.turn("a", [](TurnCommit& commit) { commit.cancelled_activities = {2}; });
  expect_refused(scene, completing(scene, scene.wake("a"), {work}), "a");
}

// A whole workflow of three activities: one fetch, and then a commit a step.
void a_step_is_one_commit(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_start("a");
  OrchestrationFetch mine;
  mine.owner = "N";
  const OrchestrationItem item = scene.fetch(mine);
  TurnCommit commit = scene.first_commit_of(item);
  for (EventId id = 2; id <= 4; ++id) {
    commit.events.push_back(event(id));
    commit.activities = {in_session(activity("a", id), "s")};
    commit.claim = as_worker("N");
    commit.keep_lock = kLockTimeout;
    commit.owner = "N";
    scene.advance(Milliseconds{100});
    const CommitAnswer answer = scene.ack(commit);
    expect_equal(answer.now, scene.now(), "the time of the answer");
    expect_equal(answer.claimed.size(), std::size_t{1}, "activities that were claimed");
    expect(answer.locked_until.has_value(), "the lock was not kept");
    TurnCommit next;
    next.token = item.token;
    next.commit_id = scene.new_commit_id();
    next.completed_work = {answer.claimed.front().token};
    commit = next;
  }
  commit.events.push_back(event(5));
  commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"out\""};
  scene.ack(commit);
  expect_equal(take(scene.store().read_status("a"))->status, ExecutionStatus::kCompleted, "the status");
  expect_equal(history_of(scene, "a").size(), std::size_t{5}, "events");
  expect(take(scene.admin().queue_depths()) == QueueDepths{}, "something is queued");
}

}  // namespace

ValidationTests fast_path_tests() {
  return {
      {"fast_path", "without_the_capability_it_is_unsupported", &without_the_capability_it_is_unsupported},
      {"fast_path", "completed_work_goes_with_the_turn", &completed_work_goes_with_the_turn},
      {"fast_path", "completed_work_counts_as_use_of_its_session", &completed_work_counts_as_use_of_its_session},
      {"fast_path", "work_of_a_second_attempt_is_not_completed", &work_of_a_second_attempt_is_not_completed},
      {"fast_path", "work_of_another_instance_is_not_completed", &work_of_another_instance_is_not_completed},
      {"fast_path", "work_whose_lock_expired_is_not_completed", &work_whose_lock_expired_is_not_completed},
      {"fast_path", "one_bad_token_spoils_the_commit", &one_bad_token_spoils_the_commit},
      {"fast_path", "work_that_a_turn_withdrew_is_not_completed", &work_that_a_turn_withdrew_is_not_completed},
      {"fast_path", "a_step_is_one_commit", &a_step_is_one_commit},
  };
}

}  // namespace perdure::testing
