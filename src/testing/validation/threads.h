// Several callers of a store at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

#include "testing/validation/check.h"

namespace perdure::testing {

// Runs body(0) to body(count - 1), each on a thread of its own, begun together. Throws what the first of them threw.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body);

// A wait on a thread of its own, which runs when the constructor returns.
class WaitingThread {
 public:
  WaitingThread(Provider& store, std::function<ProviderResult<bool>()> wait);
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  ~WaitingThread();  // a test that failed does not hang on its wait

  // What the wait answered, once it has.
  [[nodiscard]] bool answer(std::source_location where = std::source_location::current());
  // Calls wake_waiters until the wait is over: a call before the wait began has no effect on it.
  void wake();

 private:
  Provider& store_;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> over_ = false;
  std::optional<ProviderResult<bool>> answer_;
  std::thread thread_;
};

}  // namespace perdure::testing
