// RestWatch: since when nothing happens in a cluster, and which checks that makes due.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include <perdure/types.h>

namespace perdure::testing::simulation {

class RestWatch {
 public:
  void note(bool rests, Timestamp now) noexcept {
    if (!rests) {
      *this = RestWatch();
    } else if (!since_) {
      since_ = now;
    }
  }
  [[nodiscard]] std::optional<Timestamp> since() const noexcept { return since_; }
  // True once in a rest: every node without faults has learned of every cancellation.
  [[nodiscard]] bool cancellations_have_arrived(Timestamp now) noexcept {
    if (arrived_ || !since_ || now - *since_ < kCancellationArrives) return false;
    return arrived_ = true;
  }
  // Every node has noticed which locks it has lost.
  [[nodiscard]] bool is_over(Timestamp now) const noexcept { return since_ && now - *since_ >= kLastLook; }
  // When the next of these becomes true.
  [[nodiscard]] Timestamp next_moment() const noexcept {
    if (!since_) return Timestamp::max();
    return *since_ + (arrived_ ? kLastLook : kCancellationArrives);
  }

 private:
  static constexpr Milliseconds kLastLook = std::chrono::seconds(150);
  // The longest pause of a node after an error, and more.
  static constexpr Milliseconds kCancellationArrives = std::chrono::seconds(5);

  std::optional<Timestamp> since_;
  bool arrived_ = false;
};

}  // namespace perdure::testing::simulation
