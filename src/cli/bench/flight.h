// How a run keeps so many workflows in flight, and learns that one is over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <perdure/status.h>
#include <perdure/types.h>

namespace perdure::cli::bench {

// Workflows that somebody waits for, by instance. Each is woken alone: many clients that wait on one store wake each
// other, and would measure themselves.
class EndBoard {
 public:
  // Before it is started.
  void expect(const std::string& instance);
  // For instances that are not expected it does nothing.
  void ended(const std::string& instance, ExecutionStatus status);
  // Forgets the instance. Throws std::runtime_error if it has failed, or did not end in time.
  void wait(const std::string& instance, Milliseconds patience);

 private:
  struct Waiting {
    std::condition_variable changed;
    bool ended = false;
    ExecutionStatus status = ExecutionStatus::kRunning;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Waiting> waiting_;
};

// Things that are sent one after the other and done in about that order: signals to one instance.
class CountBoard {
 public:
  // The number of the next one; the first is 1.
  [[nodiscard]] std::uint64_t next();
  void done(std::size_t count);
  // Until so many are done. Throws std::runtime_error if they are not in time, with what it is that was waited for.
  void wait(std::uint64_t number, Milliseconds patience, const std::string& what);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t sent_ = 0;
  std::uint64_t done_ = 0;
};

struct Flown {
  double seconds = 0;                // until the last one was over
  std::vector<double> durations_us;  // of each call
};

// Calls `one(seat, number)` again and again in each of so many threads, until the time is over or somebody stops it,
// and at least once in each. What a call throws, it throws.
[[nodiscard]] Flown fly(std::size_t seats, double seconds, const std::atomic<bool>& stop,
                        const std::function<void(std::size_t seat, std::size_t number)>& one);

}  // namespace perdure::cli::bench
