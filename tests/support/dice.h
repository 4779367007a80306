// Dice: a small random generator that gives the same numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perdure::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_(seed) {}

  // SplitMix64.
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31U);
  }
  // From 0 to limit - 1.
  std::size_t below(std::size_t limit) noexcept { return static_cast<std::size_t>(next() % limit); }
  // From `least` to `most`.
  std::size_t between(std::size_t least, std::size_t most) noexcept { return least + below(most - least + 1); }
  bool chance(std::size_t percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace perdure::test
