// What a DeterminismGuard has collected.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include <perdure/testing/determinism_guard.h>

namespace perdure::testing {

struct DeterminismGuard::Collected {
 public:
  void add(NondeterministicCall call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  [[nodiscard]] std::vector<NondeterministicCall> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<NondeterministicCall> calls_;
};

}  // namespace perdure::testing
