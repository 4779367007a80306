#include "runtime/random_ids.h"

#include <array>

namespace perdure::runtime {

RandomIds RandomIds::from_device() {
  std::random_device device;
  std::array<std::uint32_t, 8> bits{};
  for (auto& word : bits) word = device();
  std::seed_seq seeds(bits.begin(), bits.end());
  return RandomIds(seeds);
}

std::uint64_t RandomIds::number() {
  for (;;) {
    if (const std::uint64_t drawn = engine_(); drawn != 0) return drawn;
  }
}

std::string RandomIds::text() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (int word = 0; word < 2; ++word) {
    std::uint64_t bits = engine_();
    for (int i = 0; i < 16; ++i, bits >>= 4) digits += kDigits[bits & 15];
  }
  return digits;
}

}  // namespace perdure::runtime
