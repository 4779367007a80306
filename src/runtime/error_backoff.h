// ErrorBackoff: how long to leave a store alone that answers errors.
#pragma once

#include <algorithm>
#include <cstdint>

#include <perdure/provider_error.h>
#include <perdure/types.h>

namespace perdure::runtime {

class ErrorBackoff {
 public:
  void succeeded() noexcept { failures_ = 0; }
  // 200, 400, 800, 1600, 3000, 3000 ... ms while errors are transient; 100 ms after one that is not.
  [[nodiscard]] Milliseconds failed(const ProviderError& error) noexcept {
    constexpr Milliseconds kBase{100};
    constexpr Milliseconds kMax{3'000};
    constexpr std::uint32_t kMaxDoublings = 5;
    if (!error.retryable()) {
      failures_ = 0;
      return kBase;
    }
    failures_ = std::min(failures_ + 1, kMaxDoublings);
    return std::min(kBase * (1 << failures_), kMax);
  }

 private:
  std::uint32_t failures_ = 0;
};

}  // namespace perdure::runtime
