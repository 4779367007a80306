#include "testing/validation/waiting.h"

#include <utility>

namespace perdure::testing {

WorkWait for_instances(OrchestrationFetch options) {
  return {.orchestrations = std::move(options), .activities = {}};
}

WorkWait for_activities(WorkFetch options) {
  return {.orchestrations = {}, .activities = std::move(options)};
}

WorkWait for_both() {
  return {.orchestrations = OrchestrationFetch{}, .activities = WorkFetch{}};
}

Waiting::Waiting(Scene& scene, WorkWait wait, Milliseconds timeout)
    : WaitingThread(scene.store(), [&store = scene.store(), wait = std::move(wait), deadline = scene.now() + timeout] {
        return store.wait_for_work(wait, deadline);
      }) {}

Waiting::Waiting(Scene& scene, std::string instance, InstanceChange change, Milliseconds timeout)
    : WaitingThread(scene.store(),
                    [&store = scene.store(), instance = std::move(instance), change = std::move(change),
                     deadline = scene.now() + timeout] { return store.wait_for_change(instance, change, deadline); }) {}

void expect_true(WaitingThread& waiting, Where where) {
  expect(waiting.answer(where), "the wait ended without what it waited for", where);
}

void expect_false(WaitingThread& waiting, Where where) {
  expect(!waiting.answer(where), "the wait says that there is something", where);
}

void expect_nothing_to_do(Scene& scene, const WorkWait& wait, Where where) {
  constexpr Milliseconds kMoment{10};
  Waiting waiting(scene, wait, kMoment);
  scene.advance(kMoment);
  expect_false(waiting, where);
}

}  // namespace perdure::testing
