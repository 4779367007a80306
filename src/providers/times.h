// Arithmetic with times that stops at the ends of the scale: a lease of "for ever" must not wrap into the past.
#pragma once

#include <perdure/types.h>

namespace perdure {

[[nodiscard]] constexpr Timestamp shifted(Timestamp time, Milliseconds by) noexcept {
  if (by.count() > 0 && time > Timestamp::max() - by) return Timestamp::max();
  if (by.count() < 0 && time < Timestamp::min() - by) return Timestamp::min();
  return time + by;
}

}  // namespace perdure
