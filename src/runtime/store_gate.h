// When a node repeats a call that the store did not accept, and whether the item or the store caused the failure.
#pragma once

#include <algorithm>
#include <cstdint>

#include <perdure/types.h>

namespace perdure::runtime {

// 10 ms, doubling, up to 3 s.
[[nodiscard]] inline Milliseconds repeat_delay(std::uint32_t failures) noexcept {
  constexpr Milliseconds kFirst{10};
  constexpr Milliseconds kLongest{3'000};
  constexpr std::uint32_t kMaxDoublings = 9;
  return std::min(kFirst * (1 << std::min(failures, kMaxDoublings)), kLongest);
}

// An item whose lock expired while the store failed may be fetched again, which counts one more attempt. So the node
// fetches nothing until the store responds for that lock, but not forever: only that item may be failing.
[[nodiscard]] inline bool keeps_from_fetching(Timestamp locked_until, Timestamp now) noexcept {
  constexpr Milliseconds kLongest{600'000};
  return locked_until <= now && now - locked_until < kLongest;
}

// Closed for a while after each failure of the store. A dispatcher sends one element through it, as a probe, until the
// store accepts one. It opens before the failed element is due again, so that another one can be the probe.
class StoreGate {
 public:
  [[nodiscard]] bool is_open(Timestamp now) const noexcept { return now >= opens_at_; }
  [[nodiscard]] Timestamp opens_at() const noexcept { return opens_at_; }
  [[nodiscard]] bool probes() const noexcept { return failures_ > 0; }
  void succeeded() noexcept {
    failures_ = 0;
    opens_at_ = Timestamp::min();
  }
  void failed(Timestamp now) noexcept { opens_at_ = now + repeat_delay(failures_++) / 2; }

 private:
  std::uint32_t failures_ = 0;
  Timestamp opens_at_ = Timestamp::min();
};

// The repeated calls of one item, until the store accepts one. A failure is the item's own only if the store has
// accepted calls of the same kind for other items since the previous failure.
class Repeats {
 public:
  // The store caused the failure.
  void failed() noexcept { ++failures_; }
  // The item may be the cause: it was sent alone, and the error does not name the state of the store. `others` counts
  // the calls of the same kind that the store has accepted.
  void failed_alone(std::uint64_t others) noexcept {
    ++failures_;
    if (own_failures_ > 0 && others == others_) return;
    store_works_ = own_failures_ > 0;
    ++own_failures_;
    others_ = others;
  }
  // The data was refused, which does not depend on other items.
  void refused() noexcept {
    ++failures_;
    ++own_failures_;
    store_works_ = true;
  }
  // Whether the item caused this many failures. A single failure proves nothing about a store that has accepted no
  // other item since.
  [[nodiscard]] bool are_own(std::uint32_t failures) const noexcept {
    return own_failures_ >= failures && store_works_;
  }
  [[nodiscard]] std::uint32_t failures() const noexcept { return failures_; }
  // After the latest failure.
  [[nodiscard]] Milliseconds delay() const noexcept { return repeat_delay(failures_ > 0 ? failures_ - 1 : 0); }

 private:
  std::uint32_t failures_ = 0;
  std::uint32_t own_failures_ = 0;
  std::uint64_t others_ = 0;
  bool store_works_ = false;  // for other items, since the first failure
};

}  // namespace perdure::runtime
