// The store behind its mutex and its clock: every call is a transaction with one time, and waits hear of every change.
// Jumps of the clock are logged when the mutex is free. In a child of fork() every call fails: a thread that is not
// there may have the mutex.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <perdure/clock.h>
#include <perdure/provider_error.h>
#include <perdure/types.h>
#include "providers/home_process.h"
#include "providers/memory/store.h"
#include "providers/store_errors.h"
#include "providers/store_time.h"

namespace perdure::memory {

// What a look at the store told somebody who waits.
struct Outlook {
  bool found = false;
  Timestamp look_again_at = Timestamp::max();  // time alone may change the answer then
};

// The result of a transaction whose operation returns T, or ProviderResult<T>.
template <class T>
struct TransactionResult {
  using Type = ProviderResult<T>;
};
template <class T>
struct TransactionResult<ProviderResult<T>> {
  using Type = ProviderResult<T>;
};

class Transactions {
 public:
  template <class Operation>
  using ResultOf = typename TransactionResult<std::invoke_result_t<Operation&, Store&, Timestamp>>::Type;

  Transactions(std::shared_ptr<Clock> clock, const Logger& logger, Milliseconds orphan_retention)
      : time_(std::move(clock), logger), store_(orphan_retention) {}

  // Calls operation(store, now) and returns what it returns.
  template <class Operation>
  ResultOf<Operation> run(Operation operation) {
    if (!is_home()) return used_by_child(home_);
    const JumpReport report(time_);
    return run_locked(operation);
  }

  // The same, and wakes everybody who waits to look again.
  template <class Operation>
  ResultOf<Operation> run_and_notify(Operation operation) {
    if (!is_home()) return used_by_child(home_);
    const JumpReport report(time_);
    const Notifier notifier{changed_};  // after the mutex is free, even if the operation throws
    return run_locked(operation);
  }

  void notify() noexcept { changed_.notify_all(); }
  // False in a child of fork(). There the destructor must not run: it would wait for the parent's threads.
  [[nodiscard]] bool is_home() const noexcept { return home_.is_this(); }

  // Waits until look(store, now) has found something; false at the deadline, after wake_waiters(), or when it is to
  // stop.
  template <class Look>
  ProviderResult<bool> wait(Look look, Timestamp deadline, const std::stop_token& stop = {}) {
    if (!is_home()) return used_by_child(home_);
    const JumpReport report(time_);
    const std::stop_callback woken(stop, [this]() noexcept { wake_to_check(); });  // outlives the lock
    std::unique_lock lock(mutex_);
    const std::uint64_t epoch = epoch_;
    const Milliseconds end = time_.end_of_wait(deadline);
    while (true) {
      const Outlook outlook = look(std::as_const(store_), time_.now());
      if (outlook.found) return true;
      if (epoch != epoch_ || time_.steady() >= end || stop.stop_requested()) return false;
      if (time_.has_jumps_to_report()) {
        lock.unlock();
        time_.report_jumps();
        lock.lock();
        continue;  // a change in between did not wake this wait
      }
      time_.wait_until(lock, changed_, std::min(end, time_.steady_at(outlook.look_again_at)));
    }
  }

  // Both throw ProviderFailure in a child of fork(). The runtime asks for the time with its locks held, so another call
  // reports a jump: a log sink may block.
  [[nodiscard]] Timestamp now() {
    if (!is_home()) throw ProviderFailure(used_by_child(home_));
    return time_.now();
  }
  [[nodiscard]] Milliseconds steady() const {
    if (!is_home()) throw ProviderFailure(used_by_child(home_));
    return time_.steady();
  }

  // Ends the waits that are going on; later ones are not touched.
  void wake_waiters() noexcept {
    if (!is_home()) return;
    {
      const std::scoped_lock lock(mutex_);
      ++epoch_;
    }
    changed_.notify_all();
  }

 private:
  // Lets every waiting thread check whether it is to stop.
  void wake_to_check() noexcept {
    {
      const std::scoped_lock lock(mutex_);
    }  // a thread that has checked already sleeps by now
    changed_.notify_all();
  }

  template <class Operation>
  ResultOf<Operation> run_locked(Operation& operation) {
    const std::scoped_lock lock(mutex_);
    const Timestamp now = time_.now();
    if constexpr (std::is_void_v<decltype(operation(store_, now))>) {
      operation(store_, now);
      return {};
    } else {
      return operation(store_, now);
    }
  }

  struct Notifier {
    std::condition_variable& changed;
    explicit Notifier(std::condition_variable& condition) : changed(condition) {}
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;
    ~Notifier() { changed.notify_all(); }
  };

  HomeProcess home_;
  StoreTime time_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Store store_;  // guarded by mutex_, as what follows
  std::uint64_t epoch_ = 0;
};

}  // namespace perdure::memory
