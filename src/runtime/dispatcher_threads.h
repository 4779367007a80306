// DispatcherThreads: threads that carry out what a dispatcher wants. Any thread carries out any request, so the one
// that brings an answer goes on with what follows from it, and nothing is handed over while there is little to do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <perdure/clock.h>
#include <perdure/provider.h>
#include "providers/thread_cancellation.h"
#include "runtime/clock_jumps.h"
#include "runtime/make_threads.h"

namespace perdure::runtime {

// Always held by shared_ptr: a thread that never comes back from user code keeps what it touches.
template <class Dispatcher, class Request, class Answer>
class DispatcherThreads : public std::enable_shared_from_this<DispatcherThreads<Dispatcher, Request, Answer>> {
 public:
  using Perform = std::function<Answer(decltype(Request::body))>;

  DispatcherThreads(Dispatcher dispatcher, std::shared_ptr<Provider> store, std::shared_ptr<Clock> clock)
      : dispatcher_(std::move(dispatcher)), store_(std::move(store)), clock_(std::move(clock)) {}

  // Called behind everything that the dispatcher was told or asked, with it locked; answers what to do once it is not,
  // or nothing. `own_thread`: on one of these threads, not on that of a caller, who may hold locks of his own.
  using After = std::function<std::function<void()>(Dispatcher&, bool own_thread)>;

  // Makes the threads, which do nothing before release(). Throws std::system_error if one cannot be made; close() ends
  // the others. `purpose` and `option` are for its text: what they are for, and what lowers the number of threads.
  void make(const char* purpose, const char* option, std::size_t threads, Perform perform, After after = {}) {
    perform_ = std::move(perform);
    after_ = std::move(after);
    const std::scoped_lock lock(mutex_);
    threads_.reserve(threads);
    make_threads(purpose, option, threads, [this] {
      threads_.emplace_back([self = this->shared_from_this()] { self->run(); });
      ++live_;
    });
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  void start(std::size_t threads, Perform perform, After after = {}) {
    make("a dispatcher", "their number", threads, std::move(perform), std::move(after));
    release();
  }

  // Tells the dispatcher something, and lets a thread act on it if there is anything to do.
  template <class F>
  auto with(F&& f) {
    std::unique_lock lock(mutex_);
    const Timestamp now = tick();
    if constexpr (std::is_void_v<decltype(f(dispatcher_, now))>) {
      std::forward<F>(f)(dispatcher_, now);
      collect(now);
      follow_up(lock, false);
    } else {
      auto answer = std::forward<F>(f)(dispatcher_, now);
      collect(now);
      follow_up(lock, false);
      return answer;
    }
  }

  // True when `reached` holds of the dispatcher; false at the end of the time, which is the machine's.
  template <class Predicate>
  bool wait_until(std::chrono::steady_clock::time_point deadline, Predicate reached) {
    std::unique_lock lock(mutex_);
    return answered_.wait_until(lock, deadline, [&] { return reached(dispatcher_); });
  }

  // Lets the threads end; true if all have by the deadline. The others are left behind.
  bool close(std::chrono::steady_clock::time_point deadline) {
    {
      std::unique_lock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
      while (live_ > 0 && std::chrono::steady_clock::now() < deadline) {
        lock.unlock();
        store_->wake_waiters();
        lock.lock();
        answered_.wait_for(lock, kLookAgain, [&] { return live_ == 0; });
      }
    }
    const bool all = live() == 0;
    for (std::thread& thread : threads_) all ? thread.join() : thread.detach();
    threads_.clear();
    return all;
  }

 private:
  static constexpr Milliseconds kLookAgain{5};

  std::size_t live() {
    const std::scoped_lock lock(mutex_);
    return live_;
  }

  void collect(Timestamp now) {
    while (auto request = dispatcher_.next(now)) requests_.push_back(std::move(*request));
    wake_another();
    answered_.notify_all();
  }

  // If there is something to do, or something will have to be done before anybody who rests would look. Waking a thread
  // that finds nothing costs more than most of what there is to do.
  void wake_another() {
    if (resting_until_.empty()) return;
    if (!requests_.empty() || dispatcher_.wake_at() < *resting_until_.begin()) changed_.notify_one();
  }

  void run() {
    disable_thread_cancellation();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return released_ || closed_; });
    while (!closed_) {
      const Timestamp now = tick();
      if (requests_.empty()) {
        while (auto request = dispatcher_.next(now)) requests_.push_back(std::move(*request));
        answered_.notify_all();               // the time alone may have made it idle
        if (follow_up(lock, true)) continue;  // much may have changed meanwhile
      }
      if (requests_.empty()) {
        rest(lock);
      } else {
        carry_out(lock);
      }
    }
    --live_;
    answered_.notify_all();
  }

  // The time of the store. A dispatcher that keeps durations is told if the clock was set forward.
  Timestamp tick() {
    if constexpr (requires { dispatcher_.clock_jumped(Milliseconds()); }) {
      const ClockJumps::Reading reading = ClockJumps::read(*store_);
      if (const Milliseconds by = jumps_.seen(reading); by.count() > 0) dispatcher_.clock_jumped(by);
      return reading.now;
    } else {
      return store_->now();
    }
  }

  void carry_out(std::unique_lock<std::mutex>& lock) {
    Request request = std::move(requests_.front());
    requests_.pop_front();
    wake_another();
    lock.unlock();
    Answer answer = perform_(std::move(request.body));
    lock.lock();
    dispatcher_.answer(request.id, std::move(answer), tick());
    answered_.notify_all();
    follow_up(lock, true);
  }

  // False: there was nothing to do outside.
  bool follow_up(std::unique_lock<std::mutex>& lock, bool own_thread) {
    std::function<void()> outside = after_ ? after_(dispatcher_, own_thread) : nullptr;
    if (!outside) return false;
    if (!requests_.empty()) wake_another();  // this thread is away for a while
    lock.unlock();
    outside();
    lock.lock();
    return true;
  }

  void rest(std::unique_lock<std::mutex>& lock) {
    constexpr Milliseconds kLongest{3'600'000};
    // In this order: a clock that moves in between makes the rest too short, never too long.
    const Milliseconds here = clock_->steady();
    const Timestamp now = store_->now();
    const Timestamp wake_at = dispatcher_.wake_at();
    // Something is wanted since the last look: a place may have come free that another dispatcher had kept.
    if (wake_at <= now) return;
    const auto place = resting_until_.insert(wake_at);
    clock_->wait_until(lock, changed_, here + (wake_at > now + kLongest ? kLongest : wake_at - now));
    resting_until_.erase(place);
  }

  Dispatcher dispatcher_;
  ClockJumps jumps_;
  std::shared_ptr<Provider> store_;
  std::shared_ptr<Clock> clock_;
  Perform perform_;
  After after_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable answered_;
  std::deque<Request> requests_;  // given out by the dispatcher, not yet taken by a thread
  std::vector<std::thread> threads_;
  std::size_t live_ = 0;
  std::multiset<Timestamp> resting_until_;  // of the threads that have nothing to do
  bool released_ = false;
  bool closed_ = false;
};

}  // namespace perdure::runtime
