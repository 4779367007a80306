// Unlocked: a mutex is free for a scope, and locked again however the scope ends.
#pragma once

#include <mutex>

namespace perdure {

class Unlocked {
 public:
  // `lock` must own its mutex.
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { lock_.lock(); }

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace perdure
