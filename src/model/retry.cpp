#include <perdure/retry.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace perdure {

namespace {

void check_not_negative(Milliseconds value, const char* what) {
  if (value < Milliseconds::zero()) throw std::invalid_argument(std::string(what) + " must not be negative");
}

}  // namespace

Backoff::Backoff(Kind kind, Milliseconds base, double multiplier, Milliseconds max)
    : kind_(kind), multiplier_(multiplier), base_(base), max_(max) {
  check_not_negative(base, "the delay of a backoff");
  check_not_negative(max, "the longest delay of a backoff");
  if (!(multiplier >= 1.0) || !std::isfinite(multiplier)) {
    throw std::invalid_argument("the multiplier of a backoff must be a number that is at least 1");
  }
}

Backoff Backoff::none() {
  return {Kind::kNone, Milliseconds::zero(), 1.0, Milliseconds::zero()};
}
Backoff Backoff::fixed(Milliseconds delay) {
  return {Kind::kFixed, delay, 1.0, delay};
}
Backoff Backoff::linear(Milliseconds base, Milliseconds max) {
  return {Kind::kLinear, base, 1.0, max};
}
Backoff Backoff::exponential(Milliseconds base, double multiplier, Milliseconds max) {
  return {Kind::kExponential, base, multiplier, max};
}

Milliseconds Backoff::delay_after(std::uint32_t failed_attempt) const noexcept {
  if (base_ == Milliseconds::zero()) return Milliseconds::zero();  // and not zero times infinity
  const auto base = static_cast<double>(base_.count());
  const double k = std::max<std::uint32_t>(failed_attempt, 1);
  double delay = 0.0;
  switch (kind_) {
    case Kind::kNone:
      return Milliseconds::zero();
    case Kind::kFixed:
      return base_;
    case Kind::kLinear:
      delay = base * k;
      break;
    case Kind::kExponential:
      delay = base * std::pow(multiplier_, k - 1.0);
      break;
  }
  // Compared as doubles, so that a delay beyond the calendar is the longest one and not an overflow.
  if (!(delay < static_cast<double>(max_.count()))) return max_;
  return Milliseconds(static_cast<Milliseconds::rep>(delay));
}

RetryPolicy::RetryPolicy(std::uint32_t max_attempts)
    : max_attempts_(max_attempts), backoff_(Backoff::exponential(Milliseconds(100), 2.0, Milliseconds(30'000))) {
  if (max_attempts == 0) throw std::invalid_argument("a RetryPolicy needs at least one attempt");
}

RetryPolicy& RetryPolicy::backoff(Backoff backoff) noexcept {
  backoff_ = backoff;
  return *this;
}

RetryPolicy& RetryPolicy::total_timeout(Milliseconds timeout) {
  if (timeout <= Milliseconds::zero())
    throw std::invalid_argument("the total timeout of a RetryPolicy must be positive");
  total_timeout_ = timeout;
  return *this;
}

}  // namespace perdure
