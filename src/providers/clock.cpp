#include <perdure/clock.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace perdure {

// ---- SystemClock ---------------------------------------------------------------------------------------------------

Timestamp SystemClock::now() const {
  return std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now());
}

Milliseconds SystemClock::steady() const {
  timespec time{};
#ifdef CLOCK_BOOTTIME
  ::clock_gettime(CLOCK_BOOTTIME, &time);
#else
  ::clock_gettime(CLOCK_MONOTONIC, &time);
#endif
  return std::chrono::duration_cast<Milliseconds>(std::chrono::seconds(time.tv_sec) +
                                                  std::chrono::nanoseconds(time.tv_nsec));
}

// Containers may have time namespaces, which add an offset to the time since the boot. The number of a namespace that
// has ended is used again, so its offset counts too.
std::string SystemClock::steady_origin() const {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  std::error_code none;  // on a system without time namespaces
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/time", none);
  if (none) return id;
  id += ' ' + space.string();
  std::ifstream offsets("/proc/self/timens_offsets");
  for (std::string line; std::getline(offsets, line);) {
    if (line.starts_with("boottime")) id += ' ' + line;
  }
  return id;
}

void SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) {
  // Bounded, because the source may be set forward, and because the wait does not count time in which the machine
  // sleeps.
  constexpr Milliseconds kLongest{5'000};
  const Milliseconds here = steady();
  if (until <= here) return;
  changed.wait_for(lock, std::min(until - here, kLongest));
}

// ---- ManualClock ---------------------------------------------------------------------------------------------------

Timestamp ManualClock::now() const {
  const std::scoped_lock guard(mutex_);
  return now_;
}

Milliseconds ManualClock::steady() const {
  const std::scoped_lock guard(mutex_);
  return steady_;
}

std::string ManualClock::steady_origin() const {
  const std::scoped_lock guard(mutex_);
  return "boot " + std::to_string(boots_);
}

void ManualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) {
  const Waiter waiter{lock.mutex(), &changed};
  {
    const std::scoped_lock guard(mutex_);
    if (steady_ >= until) return;
    waiters_.insert(waiter);
  }
  changed.wait(lock);
  const std::scoped_lock guard(mutex_);
  waiters_.erase(waiters_.find(waiter));
}

void ManualClock::advance(Milliseconds by) {
  if (by.count() < 0) throw std::invalid_argument("time does not pass backwards; use ManualClock::step");
  move(by, by);
}

void ManualClock::step(Milliseconds by) {
  move(by, Milliseconds(0));
}

void ManualClock::reboot() {
  const std::scoped_lock guard(mutex_);
  ++boots_;
  steady_ = Milliseconds(0);
}

void ManualClock::move(Milliseconds source, Milliseconds steady) {
  std::multiset<Waiter> waiters;
  {
    const std::scoped_lock guard(mutex_);
    now_ += source;
    steady_ += steady;
    waiters = waiters_;
  }
  // A waiter holds its own mutex from its look at the clock until it sleeps: taking it here means none is missed.
  for (const Waiter& waiter : waiters) {
    const std::scoped_lock guard(*waiter.mutex);
    waiter.changed->notify_all();
  }
}

}  // namespace perdure
