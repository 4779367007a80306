// How many items a fetch still takes, and that a suspect comes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include <perdure/fetch.h>

namespace perdure::memory {

class FetchLimit {
 public:
  FetchLimit(std::size_t limit, const SuspectRule& suspects) : limit_(limit), suspects_(suspects) {}

  [[nodiscard]] bool full() const noexcept { return alone_ || taken_ >= limit_; }

  // Offers the next item that the fetch would accept; true: it is taken.
  [[nodiscard]] bool take(std::uint32_t attempts) noexcept {
    if (full()) return false;
    const bool suspect = attempts >= suspects_.from_attempts;
    if (suspect && (!suspects_.admit || taken_ > 0)) return false;
    alone_ = suspect;
    ++taken_;
    return true;
  }

 private:
  std::size_t limit_;
  SuspectRule suspects_;
  std::size_t taken_ = 0;
  bool alone_ = false;
};

}  // namespace perdure::memory
