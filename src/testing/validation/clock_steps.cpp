// The source of a store's time is set, forwards and backwards, as an administrator or a failover does. Store time never
// runs backwards and never stands still.
#include <string>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/waiting.h"

namespace perdure::testing {

namespace {

constexpr Milliseconds kSecond{1'000};
constexpr Milliseconds kMinute{60'000};
constexpr Milliseconds kHour{3'600'000};

// The steady time in which store time advances by this while it is ahead of its source.
Milliseconds slowed(Milliseconds duration) {
  return Milliseconds{(duration.count() * 10 + 8) / 9};
}

// A store may notice a step with the first call after it.
void set_clock(Scene& scene, Milliseconds by) {
  scene.step(by);
  static_cast<void>(scene.now());
}

void time_passes_after_a_step_back(ProviderFactory& factory) {
  Scene scene(factory);
  const Timestamp before = scene.now();
  scene.step(-kHour);
  expect_equal(scene.now(), before, "the time right after the step");
  scene.advance(10 * kSecond);
  expect_equal(scene.now(), before + 9 * kSecond, "the time after ten seconds");
  scene.advance(100 * kSecond);
  expect_equal(scene.now(), before + 99 * kSecond, "the time after 110 seconds");
}

void an_offset_is_gone_after_ten_times_its_length(ProviderFactory& factory) {
  Scene scene(factory);
  const Timestamp before = scene.now();
  scene.step(-kMinute);
  scene.advance(9 * kMinute);
  expect_equal(scene.now(), before + 9 * kMinute * 9 / 10, "the time before the source has caught up");
  scene.advance(kMinute);
  expect_equal(scene.now(), before + 9 * kMinute, "the time when the source has caught up");
  scene.advance(kMinute);
  expect_equal(scene.now(), before + 10 * kMinute, "the time a minute later");
}

void a_step_forward_takes_effect_at_once(ProviderFactory& factory) {
  Scene scene(factory);
  const Timestamp before = scene.now();
  scene.step(kHour);
  expect_equal(scene.now(), before + kHour, "the time after the step");
  scene.step(-kHour);
  expect_equal(scene.now(), before + kHour, "the time after the step back");
}

void timers_fire_after_a_step_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = scene.now() + Milliseconds{200};
  scene.enqueue(timer);
  set_clock(scene, -kHour);
  scene.fetch_nothing();
  scene.advance(slowed(Milliseconds{200}));
  scene.fetch();
}

void timers_fire_after_a_step_forward(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  MessageRecord timer = event_message("order", "x");
  timer.visible_at = scene.now() + kHour;
  scene.enqueue(timer);
  scene.step(kHour);
  scene.fetch();
}

void locks_end_after_a_step_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  scene.enqueue_activity(activity("order", 2));
  OrchestrationFetch turns;
  turns.lock_timeout = 5 * kSecond;
  WorkFetch work;
  work.lock_timeout = 30 * kSecond;
  scene.fetch(turns);
  scene.fetch_work(work);
  set_clock(scene, -10 * kMinute);
  scene.advance(slowed(5 * kSecond));
  expect_equal(scene.fetch(turns).attempt_count, 2U, "the attempts of the instance");
  scene.fetch_no_work(work);
  scene.advance(slowed(25 * kSecond));
  expect_equal(scene.fetch_work(work).attempt_count, 2U, "the attempts of the activity");
}

void a_renewal_after_a_step_back_holds(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  set_clock(scene, -10 * kMinute);
  const Timestamp until = take(scene.store().renew_orchestration_lock(item.token, kMinute));
  expect_equal(until, scene.now() + kMinute, "the end of the lock");
  scene.advance(kMinute);
  scene.fetch_nothing();
  scene.ack(scene.first_commit_of(item));
}

// The thread that waits may begin before the step or after it, so the time that passes suffices for both.
void a_wait_ends_after_a_step_back(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const InstanceChange ended{.ended = true, .custom_status_after = {}, .key_value = {}};
  Waiting for_work(scene, for_both(), 10 * kSecond);
  Waiting for_change(scene, "order", ended, 10 * kSecond);
  set_clock(scene, -kHour);
  scene.advance(slowed(10 * kSecond));
  expect_false(for_work);
  expect_false(for_change);
}

// A thread that is late begins its wait after the step, when the deadline has passed already: it has several chances.
void a_wait_lasts_after_a_step_forward(ProviderFactory& factory) {
  constexpr int kTries = 5;
  constexpr Milliseconds kMoment{10};
  bool lasted = false;
  for (int tries = 0; tries < kTries && !lasted; ++tries) {
    Scene scene(factory);
    Waiting waiting(scene, for_instances(), 10 * kSecond);
    expect_nothing_to_do(scene, for_activities());  // other waits begin and end while it begins
    set_clock(scene, kHour);
    scene.advance(9 * kSecond - kMoment);
    expect_nothing_to_do(scene, for_activities());  // the same while it ends, if it does
    scene.enqueue_start("order");
    lasted = waiting.answer();
  }
  expect(lasted, "the wait ended before its time");
}

void a_wait_sees_what_comes_after_a_step(ProviderFactory& factory) {
  for (const Milliseconds step : {-kHour, kHour}) {
    Scene scene(factory);
    Waiting waiting(scene, for_both());
    set_clock(scene, step);
    scene.advance(kMinute);
    scene.enqueue_start("order");
    expect_true(waiting);
  }
}

}  // namespace

ValidationTests clock_step_tests() {
  return {
      {"clock_steps", "time_passes_after_a_step_back", &time_passes_after_a_step_back},
      {"clock_steps", "an_offset_is_gone_after_ten_times_its_length", &an_offset_is_gone_after_ten_times_its_length},
      {"clock_steps", "a_step_forward_takes_effect_at_once", &a_step_forward_takes_effect_at_once},
      {"clock_steps", "timers_fire_after_a_step_back", &timers_fire_after_a_step_back},
      {"clock_steps", "timers_fire_after_a_step_forward", &timers_fire_after_a_step_forward},
      {"clock_steps", "locks_end_after_a_step_back", &locks_end_after_a_step_back},
      {"clock_steps", "a_renewal_after_a_step_back_holds", &a_renewal_after_a_step_back_holds},
      {"clock_steps", "a_wait_ends_after_a_step_back", &a_wait_ends_after_a_step_back},
      {"clock_steps", "a_wait_lasts_after_a_step_forward", &a_wait_lasts_after_a_step_forward},
      {"clock_steps", "a_wait_sees_what_comes_after_a_step", &a_wait_sees_what_comes_after_a_step},
  };
}

}  // namespace perdure::testing
