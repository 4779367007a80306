// ClockJumps: notices that the clock of a store was set forward, by the time that has passed meanwhile.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include <perdure/types.h>

namespace perdure::runtime {

class ClockJumps {
 public:
  // Both clocks. They cannot be read at once, so store time is that of some moment between two steady times.
  struct Reading {
    Timestamp now{};
    Milliseconds begin{0};
    Milliseconds end{0};
  };

  // Reads them again if much time has passed between them: the thread was stopped, or the store was slow.
  template <class Store>
  [[nodiscard]] static Reading read(Store& store) {
    constexpr int kTries = 3;
    // Far less than a jump that is noticed, and more than a server needs to respond.
    constexpr Milliseconds kMuch{100};
    Reading reading;
    reading.end = store.steady();
    for (int i = 0; i < kTries; ++i) {
      reading.begin = reading.end;
      reading.now = store.now();
      reading.end = store.steady();
      if (reading.end - reading.begin <= kMuch) break;
    }
    return reading;
  }

  // Takes note of a reading. Returns by how much store time has certainly jumped forward since the last one, or zero.
  [[nodiscard]] Milliseconds seen(const Reading& reading) noexcept {
    const std::optional<Reading> last = std::exchange(last_, reading);
    if (!last) return Milliseconds(0);
    const Milliseconds passed = std::max(reading.end - last->begin, Milliseconds(0));
    const Milliseconds advanced = reading.now - last->now;
    // A clock that is disciplined runs a little faster: that is not a jump.
    const Milliseconds tolerance = Milliseconds(1'000) + passed / 1'000;
    return advanced > passed + tolerance ? advanced - passed : Milliseconds(0);
  }

 private:
  std::optional<Reading> last_;
};

}  // namespace perdure::runtime
