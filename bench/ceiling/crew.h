// run_crew: the same work in several threads at once, first to warm up, then until the time is over.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ceiling/load.h"

namespace ceiling {

// `work(thread)` answers how many steps it took; `begin()`, which must not throw, is called when all have warmed up.
// Answers how many steps were taken since then. What a thread throws, it throws.
template <class Work, class Begin>
[[nodiscard]] std::size_t run_crew(const Load& load, const Work& work, const Begin& begin) {
  std::atomic<std::size_t> steps = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr error;
  std::optional<Stopwatch> watch;
  std::barrier warm(static_cast<std::ptrdiff_t>(load.connections), [&]() noexcept {
    begin();
    watch.emplace();
  });
  const auto run = [&](std::size_t thread) {
    bool is_warm = false;
    try {
      for (const Stopwatch warming; warming.seconds() < load.warm_up && !failed && !load.stopped();) work(thread);
      is_warm = true;
      warm.arrive_and_wait();
      std::size_t own = 0;
      while (watch->seconds() < load.seconds && !failed && !load.stopped()) own += work(thread);
      steps += own;
    } catch (...) {
      failed = true;
      {
        const std::scoped_lock guard(mutex);
        if (!error) error = std::current_exception();
      }
      if (!is_warm) warm.arrive_and_drop();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(load.connections);
    for (std::size_t thread = 0; thread < load.connections; ++thread) threads.emplace_back(run, thread);
  }
  if (error) std::rethrow_exception(error);
  return steps;
}

}  // namespace ceiling
