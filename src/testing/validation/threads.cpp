#include "testing/validation/threads.h"

#include <exception>
#include <latch>
#include <utility>
#include <vector>

namespace perdure::testing {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::latch ready(static_cast<std::ptrdiff_t>(count));
  std::vector<std::exception_ptr> failures(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      try {
        body(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

WaitingThread::WaitingThread(Provider& store, std::function<ProviderResult<bool>()> wait)
    : store_(store), thread_([this, wait = std::move(wait)] {
        begun_ = true;
        begun_.notify_all();
        answer_ = wait();
        over_ = true;
      }) {
  begun_.wait(false);
}

WaitingThread::~WaitingThread() {
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

bool WaitingThread::answer(std::source_location where) {
  if (thread_.joinable()) thread_.join();
  expect(answer_.has_value(), "the wait gave no answer", where);
  return take(*answer_, where);
}

void WaitingThread::wake() {
  while (!over_) {
    store_.wake_waiters();
    std::this_thread::yield();
  }
}

}  // namespace perdure::testing
