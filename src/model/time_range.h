// The times that a store may hold: from 1970 to the end of 9999. Every other time is damage or a mistake.
#pragma once

#include <perdure/types.h>

namespace perdure {

inline constexpr Timestamp kFirstTime{Milliseconds{0}};
inline constexpr Timestamp kLastTime{Milliseconds{253'402'300'799'999}};

[[nodiscard]] constexpr bool is_within_range(Timestamp time) noexcept {
  return time >= kFirstTime && time <= kLastTime;
}

}  // namespace perdure
