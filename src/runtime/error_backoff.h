// ErrorBackoff: the delay before the next call to a failing store.
#pragma once

#include <algorithm>
#include <cstdint>

#include <perdure/types.h>

namespace perdure::runtime {

class ErrorBackoff {
 public:
  void succeeded() noexcept { failures_ = 0; }
  // 200, 400, 800, 1600, 3000, 3000 ... ms, whatever the error is: one that looks permanent may be temporary.
  [[nodiscard]] Milliseconds failed() noexcept {
    constexpr Milliseconds kBase{100};
    constexpr Milliseconds kMax{3'000};
    constexpr std::uint32_t kMaxDoublings = 5;
    failures_ = std::min(failures_ + 1, kMaxDoublings);
    return std::min(kBase * (1 << failures_), kMax);
  }

 private:
  std::uint32_t failures_ = 0;
};

}  // namespace perdure::runtime
