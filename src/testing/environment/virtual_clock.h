// VirtualClock: the clock of a test environment. Nobody sleeps on the thread that drives the environment: who waits
// there makes things happen instead. Other threads wait as on a ManualClock.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <perdure/clock.h>
#include <perdure/types.h>

namespace perdure::testing {

class VirtualClock final : public Clock {
 public:
  // Does something that can be done, or lets time pass, not beyond the deadline.
  using Drive = std::function<void(Timestamp deadline)>;

  // The calling thread is the one that drives.
  explicit VirtualClock(Timestamp start) : time_(start) {}

  [[nodiscard]] Timestamp now() const override { return time_.now(); }
  [[nodiscard]] Milliseconds steady() const override { return time_.steady(); }
  [[nodiscard]] std::string steady_origin() const override { return time_.steady_origin(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) override;

  [[nodiscard]] bool on_driving_thread() const noexcept { return std::this_thread::get_id() == driving_thread_; }
  // An empty function: nobody drives any more.
  void drive_with(Drive drive) { drive_ = std::move(drive); }
  // Never back.
  void jump_to(Timestamp time);
  // Calls `wait`, which waits on this clock, and answers until when it would have slept at first; nothing: it did not
  // want to. It is ended by an exception that does not come out of here.
  [[nodiscard]] std::optional<Timestamp> sleep_of(const std::function<void()>& wait);

 private:
  ManualClock time_;
  const std::thread::id driving_thread_ = std::this_thread::get_id();
  // Of the driving thread alone:
  Drive drive_;
  bool asking_ = false;
};

}  // namespace perdure::testing
