#include "model/idempotency_key.h"

#include <cstddef>

#include "model/sha256.h"

namespace perdure {

namespace {
constexpr std::size_t kKeyBytes = 16;
}

// The instance id comes last, because only it can contain a slash.
std::string idempotency_key(const EffectIdentity& effect) {
  static constexpr std::string_view kHexDigits = "0123456789abcdef";
  const std::string text = std::to_string(effect.incarnation) + "/" + std::to_string(effect.execution) + "/" +
                           std::to_string(effect.first_attempt) + "/" + std::string(effect.instance);
  const detail::Sha256Digest digest = detail::sha256(text);
  std::string key;
  key.reserve(2 * kKeyBytes);
  for (std::size_t i = 0; i < kKeyBytes; ++i) {
    key += kHexDigits[digest[i] >> 4U];
    key += kHexDigits[digest[i] & 0x0FU];
  }
  return key;
}

}  // namespace perdure
