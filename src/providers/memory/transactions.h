// The store behind its mutex and its clock: every call is a transaction with one time, and waits hear of every change.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include <perdure/clock.h>
#include <perdure/types.h>
#include "providers/memory/store.h"

namespace perdure::memory {

// What a look at the store told somebody who waits.
struct Outlook {
  bool found = false;
  Timestamp look_again_at = Timestamp::max();  // time alone may change the answer then
};

class Transactions {
 public:
  Transactions(std::shared_ptr<Clock> clock, Milliseconds orphan_retention)
      : clock_(std::move(clock)), store_(orphan_retention) {}

  // Calls operation(store, now) and answers what it answers.
  template <class Operation>
  auto run(Operation operation) {
    const std::scoped_lock lock(mutex_);
    const Timestamp now = tick();
    return operation(store_, now);
  }

  // The same, and wakes everybody who waits to look again.
  template <class Operation>
  auto run_and_notify(Operation operation) {
    const Notifier notifier{changed_};  // after the mutex is free, even if the operation throws
    return run(std::move(operation));
  }

  void notify() noexcept { changed_.notify_all(); }

  // Waits until look(store, now) has found something; false at the deadline, after wake_waiters(), or when it is to
  // stop.
  template <class Look>
  bool wait(Look look, Timestamp deadline, const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    const std::uint64_t epoch = epoch_;
    while (true) {
      const Timestamp now = tick();
      const Outlook outlook = look(std::as_const(store_), now);
      if (outlook.found) return true;
      if (epoch != epoch_ || now >= deadline || stop.stop_requested()) return false;
      clock_->wait_until(lock, changed_, std::min(deadline, outlook.look_again_at));
    }
  }

  // Ends the waits that are going on; later ones are not touched.
  void wake_waiters() noexcept {
    {
      const std::scoped_lock lock(mutex_);
      ++epoch_;
    }
    changed_.notify_all();
  }

 private:
  struct Notifier {
    std::condition_variable& changed;
    explicit Notifier(std::condition_variable& condition) : changed(condition) {}
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;
    ~Notifier() { changed.notify_all(); }
  };

  // The time of a transaction. A clock that is set back stands still here until it has caught up.
  Timestamp tick() {
    last_now_ = std::max(last_now_, clock_->now());
    return last_now_;
  }

  std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Store store_;  // guarded by mutex_, as what follows
  Timestamp last_now_ = Timestamp::min();
  std::uint64_t epoch_ = 0;
};

}  // namespace perdure::memory
