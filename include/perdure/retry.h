// RetryPolicy: how often an activity is tried, and how long to wait in between.
#pragma once

#include <cstdint>
#include <optional>

#include <perdure/types.h>

namespace perdure {

// The wait after the k-th failed attempt (k from 1).
class Backoff {
 public:
  [[nodiscard]] static Backoff none() noexcept;
  [[nodiscard]] static Backoff fixed(Milliseconds delay);
  // min(base * k, max)
  [[nodiscard]] static Backoff linear(Milliseconds base, Milliseconds max);
  // min(base * multiplier^(k-1), max)
  [[nodiscard]] static Backoff exponential(Milliseconds base, double multiplier, Milliseconds max);

  [[nodiscard]] Milliseconds delay_after(std::uint32_t failed_attempt) const noexcept;

 private:
  enum class Kind : std::uint8_t { kNone, kFixed, kLinear, kExponential };
  Backoff(Kind kind, Milliseconds base, double multiplier, Milliseconds max);

  Kind kind_;
  double multiplier_;
  Milliseconds base_;
  Milliseconds max_;
};

// Three attempts, 100 ms doubling up to 30 s, no bound on the whole, unless told otherwise.
class RetryPolicy {
 public:
  // Throws std::invalid_argument when max_attempts is 0.
  explicit RetryPolicy(std::uint32_t max_attempts = 3);

  RetryPolicy& backoff(Backoff backoff) noexcept;
  // Bounds all attempts and waits together; on expiry the running attempt is cancelled and the error is a timeout.
  RetryPolicy& total_timeout(Milliseconds timeout);

  [[nodiscard]] std::uint32_t max_attempts() const noexcept { return max_attempts_; }
  [[nodiscard]] const Backoff& backoff() const noexcept { return backoff_; }
  [[nodiscard]] std::optional<Milliseconds> total_timeout() const noexcept { return total_timeout_; }

 private:
  std::uint32_t max_attempts_;
  Backoff backoff_;
  std::optional<Milliseconds> total_timeout_;
};

}  // namespace perdure
