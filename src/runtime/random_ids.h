// RandomIds: numbers that no other node draws. Seeded once, so that a simulated node draws the same again.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "replay/turn.h"

namespace perdure::runtime {

class RandomIds {
 public:
  explicit RandomIds(std::uint64_t seed) : engine_(seed) {}
  // From the operating system, for a node in the real world.
  [[nodiscard]] static RandomIds from_device();

  // Never 0.
  [[nodiscard]] std::uint64_t number();
  [[nodiscard]] Entropy entropy() { return {engine_(), engine_()}; }
  // 32 hexadecimal digits.
  [[nodiscard]] std::string text();

 private:
  explicit RandomIds(std::seed_seq& seeds) : engine_(seeds) {}
  std::mt19937_64 engine_;
};

}  // namespace perdure::runtime
