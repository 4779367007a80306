// Long polls on threads of their own, and what tests expect of them. Nothing depends on how fast threads are: a wait
// that must end is joined, and one that must not end early is judged by what it answers after its deadline.
#pragma once

#include <string>

#include "testing/validation/scene.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

// Longer than any test.
inline constexpr Milliseconds kNoDeadline{1'000'000'000};

[[nodiscard]] WorkWait for_instances(OrchestrationFetch options = {});
[[nodiscard]] WorkWait for_activities(WorkFetch options = {});
[[nodiscard]] WorkWait for_both();

// Waits on another thread, until `timeout` from now.
class Waiting : public WaitingThread {
 public:
  Waiting(Scene& scene, WorkWait wait, Milliseconds timeout = kNoDeadline);
  Waiting(Scene& scene, std::string instance, InstanceChange change, Milliseconds timeout = kNoDeadline);
};

void expect_true(WaitingThread& waiting, Where where = Where::current());
void expect_false(WaitingThread& waiting, Where where = Where::current());

// This wait, begun now, is still going on when its deadline comes. Moves the clock by 10 ms.
void expect_nothing_to_do(Scene& scene, const WorkWait& wait, Where where = Where::current());

}  // namespace perdure::testing
