#include "replay/random_values.h"

#include <array>

namespace perdure {

namespace {

// SplitMix64's finalizer: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Bits {
  std::uint64_t high;
  std::uint64_t low;
};

// All 128 bits of the turn's entropy go into each half, so two turns collide only if their entropy does.
Bits draw_bits(const Entropy& entropy, std::uint64_t draw) noexcept {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t high = mix(entropy.high + kGolden * (2 * draw + 1));
  const std::uint64_t low = mix(entropy.low + kGolden * (2 * draw + 2));
  return {mix(high ^ (low << 1)), mix(low + (high >> 1) + high)};
}

std::string uuid(Bits bits) {
  bits.high = (bits.high & ~0xf000ULL) | 0x4000ULL;          // version 4
  bits.low = (bits.low & ~(0x3ULL << 62)) | (0x2ULL << 62);  // RFC 4122 variant
  constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::string text;
  text.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    const std::uint64_t half = i < 16 ? bits.high : bits.low;
    text += kDigits[(half >> (60 - 4 * (i % 16))) & 0xf];
  }
  return text;
}

}  // namespace

std::string recorded_value(RecordedValueKind kind, Timestamp now, const Entropy& entropy, std::uint64_t draw) {
  switch (kind) {
    case RecordedValueKind::kGuid:
      return uuid(draw_bits(entropy, draw));
    case RecordedValueKind::kUtcNow:
      return std::to_string(now.time_since_epoch().count());
    case RecordedValueKind::kRandom:
      return std::to_string(draw_bits(entropy, draw).low);
  }
  return {};
}

}  // namespace perdure
