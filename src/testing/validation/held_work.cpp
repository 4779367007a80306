// Waits of a worker for the loss of an activity that it runs.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

WorkWait holding(std::vector<LockToken> held) {
  return {.orchestrations = {}, .activities = {}, .held = std::move(held)};
}

void cancel(Scene& scene, const std::string& instance, EventId id) {
  TurnCommit commit = scene.commit_of(scene.wake(instance));
  commit.cancelled_activities = {id};
  scene.ack(commit);
}

bool tells_losses(Scene& scene) {
  return scene.store().capabilities().wake_ups;
}

void a_wait_ends_when_a_held_activity_is_cancelled(ProviderFactory& factory) {
  Scene scene(factory);
  if (!tells_losses(scene)) return;
  for (int round = 0; round < 20; ++round) {
    const std::string instance = "order" + std::to_string(round);
    scene.create_with_activities(instance, {activity(instance, 2), activity(instance, 3)});
    const WorkItem kept = scene.fetch_work();
    const WorkItem cancelled = scene.fetch_work();
    Waiting waiting(scene, holding({kept.token, cancelled.token}));
    cancel(scene, instance, 3);
    expect_true(waiting);
    expect_nothing_to_do(scene, holding({kept.token}));
  }
}

void a_wait_ends_when_the_instance_of_a_held_activity_is_deleted(ProviderFactory& factory) {
  Scene scene(factory);
  if (!tells_losses(scene)) return;
  for (int round = 0; round < 20; ++round) {
    scene.create_with_activities("order", {activity("order", 2)});
    const WorkItem work = scene.fetch_work();
    Waiting waiting(scene, holding({work.token}));
    take(scene.admin().delete_instance("order", true));
    expect_true(waiting);
  }
}

void a_wait_ends_when_the_instance_of_a_held_activity_is_replaced(ProviderFactory& factory) {
  Scene scene(factory);
  if (!tells_losses(scene)) return;
  scene.create_with_activities("order", {activity("order", 2)});
  const WorkItem work = scene.fetch_work();
  scene.end("order");
  Waiting waiting(scene, holding({work.token}));
  take(scene.store().enqueue_start(start_message("order"), StartPolicy::kReplaceIfTerminal));
  expect_true(waiting);
}

void a_wait_for_a_lost_activity_ends_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  if (!tells_losses(scene)) return;
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  const WorkItem given_back = scene.fetch_work();
  const WorkItem taken_over = scene.fetch_work();
  abandon_work(scene, given_back.token);
  scene.advance(kWorkLock);
  scene.fetch_work();
  scene.fetch_work();
  const Timestamp deadline = scene.now() + kNoDeadline;
  for (const LockToken& lost : {given_back.token, taken_over.token, LockToken{"no token of this store"}}) {
    expect(take(scene.store().wait_for_work(holding({lost}), deadline)), "the loss was not seen");
  }
}

void other_work_does_not_end_a_wait_for_a_loss(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("order", {activity("order", 2), activity("order", 3)});
  scene.create_with_activities("other", {activity("other", 2)});
  const WorkItem work = scene.fetch_work();
  Waiting waiting(scene, holding({work.token}), Milliseconds{100});
  take(scene.store().renew_work_lock(work.token, kWorkLock));
  scene.enqueue_activity(activity("other", 9));
  scene.enqueue_start("third");
  cancel(scene, "order", 3);
  take(scene.admin().delete_instance("other", true));
  scene.advance(Milliseconds{100});
  expect_false(waiting);
}

void a_wait_for_work_may_also_be_for_a_loss(ProviderFactory& factory) {
  Scene scene(factory);
  if (!tells_losses(scene)) return;
  scene.create_with_activities("order", {activity("order", 2)});
  WorkWait wait = for_both();
  wait.held = {scene.fetch_work().token};
  Waiting loss(scene, wait);
  take(scene.admin().delete_instance("order", true));
  expect_true(loss);
  scene.create_with_activities("order", {activity("order", 2)});
  wait.held = {scene.fetch_work().token};
  Waiting arrival(scene, wait);
  scene.enqueue_activity(activity("order", 3));
  expect_true(arrival);
}

}  // namespace

ValidationTests held_work_tests() {
  return {
      {"held_work", "a_wait_ends_when_a_held_activity_is_cancelled", &a_wait_ends_when_a_held_activity_is_cancelled},
      {"held_work", "a_wait_ends_when_the_instance_of_a_held_activity_is_deleted",
       &a_wait_ends_when_the_instance_of_a_held_activity_is_deleted},
      {"held_work", "a_wait_ends_when_the_instance_of_a_held_activity_is_replaced",
       &a_wait_ends_when_the_instance_of_a_held_activity_is_replaced},
      {"held_work", "a_wait_for_a_lost_activity_ends_at_once", &a_wait_for_a_lost_activity_ends_at_once},
      {"held_work", "other_work_does_not_end_a_wait_for_a_loss", &other_work_does_not_end_a_wait_for_a_loss},
      {"held_work", "a_wait_for_work_may_also_be_for_a_loss", &a_wait_for_work_may_also_be_for_a_loss},
  };
}

}  // namespace perdure::testing
