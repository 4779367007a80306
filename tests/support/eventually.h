// Waiting for what other threads or processes do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace perdure::test {

// How long a test waits for what must happen before it calls it a failure. Nothing is measured with it.
inline constexpr std::chrono::seconds kPatience{120};

// Whether it comes true while there is patience.
template <class Predicate>
bool eventually(Predicate reached, std::chrono::seconds patience = kPatience) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!reached()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    never.wait_for(lock, std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace perdure::test
