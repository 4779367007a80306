#include "cli/bench/flight.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>

namespace perdure::cli::bench {

void EndBoard::expect(const std::string& instance) {
  const std::scoped_lock guard(mutex_);
  waiting_.try_emplace(instance);
}

void EndBoard::ended(const std::string& instance, ExecutionStatus status) {
  if (!is_terminal(status) || status == ExecutionStatus::kContinuedAsNew) return;
  const std::scoped_lock guard(mutex_);
  const auto found = waiting_.find(instance);
  if (found == waiting_.end()) return;
  found->second.ended = true;
  found->second.status = status;
  found->second.changed.notify_one();  // under the mutex: the waiter owns the condition and may be gone behind it
}

void EndBoard::wait(const std::string& instance, Milliseconds patience) {
  std::unique_lock lock(mutex_);
  Waiting& waiting = waiting_.at(instance);
  const bool ended = waiting.changed.wait_for(lock, patience, [&] { return waiting.ended; });
  const ExecutionStatus status = waiting.status;
  waiting_.erase(instance);
  if (!ended) throw std::runtime_error("workflow '" + instance + "' did not end in time");
  if (status != ExecutionStatus::kCompleted) {
    throw std::runtime_error("workflow '" + instance + "' ended as " + std::string(to_string(status)));
  }
}

std::uint64_t CountBoard::next() {
  const std::scoped_lock guard(mutex_);
  return ++sent_;
}

void CountBoard::done(std::size_t count) {
  {
    const std::scoped_lock guard(mutex_);
    done_ += count;
  }
  changed_.notify_all();
}

void CountBoard::wait(std::uint64_t number, Milliseconds patience, const std::string& what) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, patience, [&] { return done_ >= number; })) {
    throw std::runtime_error(what + " did not come in time: " + std::to_string(done_) + " of " +
                             std::to_string(number));
  }
}

Flown fly(std::size_t seats, double seconds, const std::atomic<bool>& stop,
          const std::function<void(std::size_t seat, std::size_t number)>& one) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::mutex mutex;
  Flown flown;
  std::exception_ptr error;
  std::atomic<bool> failed = false;
  const auto begin = Clock::now();
  const auto sit = [&](std::size_t seat) {
    std::vector<double> own;
    try {
      std::size_t number = 0;
      do {
        const auto start = Clock::now();
        one(seat, number++);
        own.push_back(since(start) * 1e6);
      } while (since(begin) < seconds && !stop && !failed);
    } catch (...) {
      failed = true;
      const std::scoped_lock guard(mutex);
      if (!error) error = std::current_exception();
    }
    const std::scoped_lock guard(mutex);
    flown.durations_us.insert(flown.durations_us.end(), own.begin(), own.end());
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(seats);
    for (std::size_t seat = 0; seat < seats; ++seat) threads.emplace_back(sit, seat);
  }
  if (error) std::rethrow_exception(error);
  flown.seconds = since(begin);
  return flown;
}

}  // namespace perdure::cli::bench
