// ClockJumps: notices that the clock of a store was set forward, by the time that has passed meanwhile.
#pragma once

#include <algorithm>
#include <optional>

#include <perdure/types.h>

namespace perdure::runtime {

class ClockJumps {
 public:
  // Takes note of a store time, and of the steady times before and after it was read: the process may have been stopped
  // in between. Returns by how much store time has jumped forward since the last call, or zero.
  [[nodiscard]] Milliseconds seen(Timestamp now, Milliseconds before, Milliseconds after) noexcept {
    const std::optional<Reading> last = last_;
    last_ = Reading{now, before};
    if (!last) return Milliseconds(0);
    const Milliseconds passed = std::max(after - last->steady, Milliseconds(0));
    const Milliseconds advanced = now - last->now;
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
