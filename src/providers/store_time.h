// StoreTime: the time of a store, made of a source that may be set and of the steady clock.
//
//   the source ...           store time ...
//   runs                     is the source
//   is set forward           follows at once: timers fire
//   is set back              advances at nine tenths of the steady clock until the source has caught up
//
// So store time never runs backwards and never stands still. Durations grow by at most a ninth, and an offset is gone
// after ten times its length.
//
// Whichever call sees a jump leaves it for report_jumps(), because a sink may take its time or call the store: callers
// call that when they are outside locks and transactions. It also runs the call of when_jumped(), for the same reason.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/clock.h>
#include <perdure/log.h>
#include <perdure/types.h>

namespace perdure {

// Thread-safe.
class StoreTime {
 public:
  explicit StoreTime(std::shared_ptr<Clock> clock, Logger logger = {});

  // Times of one moment. A thread that is stopped between two calls, for each of them, would see a jump.
  struct Moment {
    Timestamp now{};
    Milliseconds steady{0};
    Timestamp source{};
    std::optional<Milliseconds> last_jump;  // the steady time at which the last jump of the source was seen
  };

  [[nodiscard]] Timestamp now() { return moment().now; }
  [[nodiscard]] Moment moment();
  [[nodiscard]] Milliseconds steady() const { return clock_->steady(); }
  [[nodiscard]] const Clock& clock() const noexcept { return *clock_; }
  // Whether store time is later than its source.
  [[nodiscard]] bool is_ahead();
  // Makes sure that no later call returns an earlier time.
  void reach(Timestamp time);

  // Returns the steady time at which store time will have reached `time`, provided that the source is not set again.
  [[nodiscard]] Milliseconds steady_at(Timestamp time);
  // Returns the steady time at which a wait ends that begins now and was to end at `deadline`. A source that is set
  // during the wait makes it neither longer nor shorter.
  [[nodiscard]] Milliseconds end_of_wait(Timestamp deadline);
  // Sets what report_jumps() calls after it has logged jumps. `call` must not throw. Not thread-safe: it is set before
  // other threads use this object.
  void when_jumped(std::function<void()> call) { jumped_ = std::move(call); }
  // Logs each jump that was seen and not logged yet.
  void report_jumps() noexcept;
  [[nodiscard]] bool has_jumps_to_report() const noexcept { return has_jumps_; }

  // See Clock::wait_until.
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) {
    clock_->wait_until(lock, changed, until);
  }

 private:
  struct Reading {
    Timestamp source{};
    Milliseconds steady{0};
  };

  [[nodiscard]] Reading read() const;
  void update();  // under the mutex
  void note_jump(Milliseconds by) noexcept;

  std::shared_ptr<Clock> clock_;
  Logger logger_;
  std::function<void()> jumped_;
  std::mutex mutex_;
  Reading last_;
  Timestamp now_;
  int tenths_ = 0;  // of a millisecond, beyond now_
  std::optional<Milliseconds> last_jump_;
  std::vector<Milliseconds> jumps_;  // not logged yet
  std::atomic<bool> has_jumps_ = false;
};

// Reports jumps at the end of a scope. It is declared before the locks of the scope, so that it ends after them.
class JumpReport {
 public:
  explicit JumpReport(StoreTime& time) noexcept : time_(time) {}
  JumpReport(const JumpReport&) = delete;
  JumpReport& operator=(const JumpReport&) = delete;
  ~JumpReport() { time_.report_jumps(); }

 private:
  StoreTime& time_;
};

// Logs that a clock was set by `by`. The texts say what that means for the store.
void log_jump(const Logger& logger, Milliseconds by, std::string_view forward, std::string_view back) noexcept;

// `time` plus `by`, at most the greatest value.
[[nodiscard]] Milliseconds saturating_sum(Milliseconds time, Milliseconds by) noexcept;

}  // namespace perdure
