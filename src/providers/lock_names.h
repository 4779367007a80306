// Lock tokens: where the lock is, and a number that nobody else was given.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include <perdure/fetch.h>
#include <perdure/turn_commit.h>

namespace perdure {

struct LockName {
  char queue = 'i';         // i: an instance, a: an activity
  std::int64_t row = 0;     // its rowid
  std::int64_t secret = 0;  // stored in the row
};

[[nodiscard]] LockToken make_token(const LockName& name);
// Nothing if it is not one of this store's tokens for that queue.
[[nodiscard]] std::optional<LockName> read_token(const LockToken& token, char queue);

// Of the activities that a commit claims, so that they are known again when it is repeated. The whole id: one bit less,
// and ids that are counted would share their secrets.
[[nodiscard]] constexpr std::int64_t claim_secret(CommitId commit) noexcept {
  return static_cast<std::int64_t>(commit);
}

// Random, 63 bits, seeded by the system: two processes do not need to know of each other.
class SecretSource {
 public:
  SecretSource();
  [[nodiscard]] std::int64_t next() { return static_cast<std::int64_t>(engine_() >> 1); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace perdure
