// Lets a test decide how long another thread waits at a point of its code.
#pragma once

#include <condition_variable>
#include <mutex>

namespace perdure::testing {

// Holds up whoever passes, until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    {
      const std::scoped_lock guard(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  // Returns when somebody is held up.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  bool open_ = false;
};

}  // namespace perdure::testing
