#include <perdure/clock.h>

#include <chrono>

namespace perdure {

Timestamp SystemClock::now() const {
  return std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now());
}

void SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Timestamp deadline) {
  // Relative and on the steady clock, because the wall clock may be set; bounded, because it may be set forward.
  constexpr Milliseconds kLongest{60'000};
  const Timestamp here = now();
  if (deadline <= here) return;  // before the difference, which a time long past would make too large
  const Milliseconds left = deadline - here;
  changed.wait_for(lock, left < kLongest ? left : kLongest);
}

Timestamp ManualClock::now() const {
  const std::scoped_lock guard(mutex_);
  return now_;
}

void ManualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Timestamp deadline) {
  const Waiter waiter{lock.mutex(), &changed};
  {
    const std::scoped_lock guard(mutex_);
    if (now_ >= deadline) return;
    waiters_.insert(waiter);
  }
  changed.wait(lock);
  const std::scoped_lock guard(mutex_);
  waiters_.erase(waiters_.find(waiter));
}

void ManualClock::advance(Milliseconds by) {
  std::multiset<Waiter> waiters;
  {
    const std::scoped_lock guard(mutex_);
    now_ += by;
    waiters = waiters_;
  }
  // A waiter holds its own mutex from its look at the clock until it sleeps: taking it here means none is missed.
  for (const Waiter& waiter : waiters) {
    const std::scoped_lock guard(*waiter.mutex);
    waiter.changed->notify_all();
  }
}

}  // namespace perdure
