// Chance from a seed: the same on every machine and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace perdure::testing {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {  // splitmix64
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  [[nodiscard]] std::size_t below(std::size_t bound) noexcept { return static_cast<std::size_t>(next() % bound); }
  // Both ends included.
  [[nodiscard]] std::size_t between(std::size_t low, std::size_t high) noexcept { return low + below(high - low + 1); }
  [[nodiscard]] bool chance(unsigned percent) noexcept { return below(100) < percent; }

  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  [[nodiscard]] const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace perdure::testing
