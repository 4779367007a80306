// Waits that a stop request ends.
#include <stop_token>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

void a_wait_that_is_to_stop_ends_even_if_it_has_not_begun(ProviderFactory& factory) {
  Scene scene(factory);
  for (int round = 0; round < 20; ++round) {
    std::stop_source stop;
    WorkWait wait = for_both();
    wait.stop = stop.get_token();
    Waiting waiting(scene, wait);
    stop.request_stop();
    expect_false(waiting);
    expect(!take(scene.store().wait_for_work(wait, scene.now() + kNoDeadline)), "work from nowhere");
  }
}

void a_stop_ends_no_other_wait(ProviderFactory& factory) {
  Scene scene(factory);
  std::stop_source stop;
  WorkWait wait = for_both();
  wait.stop = stop.get_token();
  Waiting other(scene, for_both());
  Waiting waiting(scene, wait);
  stop.request_stop();
  expect_false(waiting);
  scene.enqueue_start("order");
  expect_true(other);
}

}  // namespace

ValidationTests wait_stop_tests() {
  return {
      {"wait", "a_wait_that_is_to_stop_ends_even_if_it_has_not_begun",
       &a_wait_that_is_to_stop_ends_even_if_it_has_not_begun},
      {"wait", "a_stop_ends_no_other_wait", &a_stop_ends_no_other_wait},
  };
}

}  // namespace perdure::testing
