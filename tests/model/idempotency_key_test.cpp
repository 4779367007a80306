// Idempotency keys are a contract: every later attempt at an activity, by any engine, must find the same key.
#include "model/idempotency_key.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure {
namespace {

constexpr EffectIdentity kEffect{.instance = "order-42", .incarnation = 1, .execution = 1, .first_attempt = 2};

// The first 16 bytes of SHA-256("1/1/2/order-42"), and so on.
TEST(IdempotencyKey, NeverChanges) {
  EXPECT_EQ(idempotency_key(kEffect), "a9da29bf49987a3721d9058e3e2112f5");
  EXPECT_EQ(idempotency_key({.instance = "a/b",
                             .incarnation = std::numeric_limits<std::uint64_t>::max(),
                             .execution = 7,
                             .first_attempt = 9}),
            "be60504b06e0bed5e61026eb30e04ba8");
}

TEST(IdempotencyKey, DiffersWithEveryPart) {
  std::set<std::string> keys{idempotency_key(kEffect)};
  for (EffectIdentity other : {kEffect, kEffect, kEffect, kEffect}) {
    const std::size_t part = keys.size() - 1;
    if (part == 0) other.instance = "order-43";
    if (part == 1) other.incarnation = 2;
    if (part == 2) other.execution = 2;
    if (part == 3) other.first_attempt = 3;
    keys.insert(idempotency_key(other));
  }
  EXPECT_EQ(keys.size(), 5U);
}

// "1/2" in one part and "1", "2" in two must not meet.
TEST(IdempotencyKey, PartsDoNotRunIntoEachOther) {
  const EffectIdentity one{.instance = "2/i", .incarnation = 1, .execution = 1, .first_attempt = 1};
  const EffectIdentity other{.instance = "i", .incarnation = 1, .execution = 1, .first_attempt = 12};
  EXPECT_NE(idempotency_key(one), idempotency_key(other));
  EXPECT_NE(idempotency_key({.instance = "i", .incarnation = 1, .execution = 11, .first_attempt = 1}),
            idempotency_key({.instance = "i", .incarnation = 11, .execution = 1, .first_attempt = 1}));
}

TEST(IdempotencyKey, IsShortAscii) {
  const std::string key = idempotency_key({.instance = std::string_view("\xff\n long \x00", 9)});
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace perdure
