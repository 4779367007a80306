#include "testing/environment/virtual_clock.h"

#include <stdexcept>

#include "providers/times.h"

namespace perdure::testing {

namespace {

// What a wait would have slept for.
struct Sleep {
  Timestamp until;
};

}  // namespace

void VirtualClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                              Milliseconds until) {
  if (!on_driving_thread()) return time_.wait_until(lock, changed, until);
  // This clock is never set, so that both of its times pass alike.
  const Timestamp deadline = until == Milliseconds::max() ? Timestamp::max() : shifted(now(), until - steady());
  if (asking_) throw Sleep{deadline};
  if (!drive_) {
    throw std::logic_error("a wait on the store of a destroyed test environment cannot end");
  }
  lock.unlock();
  drive_(deadline);
  lock.lock();
}

void VirtualClock::jump_to(Timestamp time) {
  const Timestamp now = time_.now();
  if (time > now) time_.advance(time - now);
}

std::optional<Timestamp> VirtualClock::sleep_of(const std::function<void()>& wait) {
  asking_ = true;
  std::optional<Timestamp> until;
  try {
    wait();
  } catch (const Sleep& sleep) {
    until = sleep.until;
  } catch (...) {
    asking_ = false;
    throw;
  }
  asking_ = false;
  return until;
}

}  // namespace perdure::testing
