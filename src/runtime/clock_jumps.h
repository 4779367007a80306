// ClockJumps: notices that the clock of a store was set forward, by the time that has passed meanwhile.
#pragma once

#include <algorithm>
#include <optional>

#include <perdure/types.h>

namespace perdure::runtime {

class ClockJumps {
 public:
  // Takes note of a store time and of the steady time at which it was read. Returns by how much store time has jumped
  // forward since the last call, or zero.
  [[nodiscard]] Milliseconds seen(Timestamp now, Milliseconds steady) noexcept {
    const std::optional<Reading> before = last_;
    last_ = Reading{now, steady};
    if (!before) return Milliseconds(0);
    const Milliseconds passed = std::max(steady - before->steady, Milliseconds(0));
    const Milliseconds advanced = now - before->now;
    // A clock that is disciplined runs a little faster: that is not a jump.
    const Milliseconds tolerance = Milliseconds(1'000) + passed / 1'000;
    return advanced > passed + tolerance ? advanced - passed : Milliseconds(0);
  }

 private:
  struct Reading {
    Timestamp now{};
    Milliseconds steady{0};
  };
  std::optional<Reading> last_;
};

}  // namespace perdure::runtime
