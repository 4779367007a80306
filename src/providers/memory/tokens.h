// Lock tokens. A token names the row that it locks, so that the row is found without an index, and even after the lock
// is gone: a repeated commit needs that.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <perdure/fetch.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include "model/planted_fault.h"

namespace perdure::memory {

enum class TokenKind : char { kInstance = 'i', kActivity = 'a' };

class Tokens {
 public:
  Tokens();

  // Never the same twice: every token carries a number of its own. The random part is against guessing.
  [[nodiscard]] LockToken make(TokenKind kind, std::uint64_t row);
  // The row that a token was made for; absent if this is no token of that kind.
  [[nodiscard]] static std::optional<std::uint64_t> row_of(TokenKind kind, const LockToken& token);

 private:
  std::mt19937_64 random_;
  std::uint64_t made_ = 0;
};

// A lock that was given out and not given back. It may have expired: then it stays until somebody overtakes it.
struct Lock {
  LockToken token;
  Timestamp until{};
  std::string kept_by;      // instances: the owner who kept it with a commit; empty: it comes from a fetch
  CommitId claimed_by = 0;  // activities: the commit that claimed it; 0: it comes from a fetch
};

[[nodiscard]] inline bool is_locked(const std::optional<Lock>& lock, Timestamp now) {
  if (planted(PlantedFault::kLockHoldsAtItsEnd)) return lock && lock->until >= now;
  return lock && lock->until > now;
}

// The token is the current one, expired or not.
[[nodiscard]] inline bool is_current(const std::optional<Lock>& lock, const LockToken& token) {
  return lock && lock->token == token;
}

// The token is the current one and still worth something.
[[nodiscard]] inline bool holds(const std::optional<Lock>& lock, const LockToken& token, Timestamp now) {
  return is_locked(lock, now) && is_current(lock, token);
}

}  // namespace perdure::memory
