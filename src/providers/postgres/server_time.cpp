#include "providers/postgres/server_time.h"

#include <algorithm>

namespace perdure::postgres {

namespace {

// Between two proposals of a node.
constexpr Milliseconds kProposalInterval{10};
// The latest time may be an estimate, and later than the last proposal by the interval.
constexpr Milliseconds kInexactness{20};

}  // namespace

Timestamp ServerTime::least(Milliseconds steady) const noexcept {
  return heard_ + (steady - heard_at_) * 9 / 10;
}

ServerTime::Report ServerTime::report(Timestamp reported, Milliseconds steady,
                                      std::optional<Timestamp> known) noexcept {
  if (latest_ == Timestamp()) {
    heard_ = latest_ = reported;
    heard_at_ = reported_at_ = steady;
    return {latest_, jumps_.seen(reported, steady, false)};
  }
  const Timestamp expected = std::max(least(steady), latest_);
  const bool early = reported < expected - tolerance_ || (known && reported < *known - kInexactness);
  if (early) {
    behind_ = true;
    stored_ = false;
    latest_ = expected;  // the next call proposes it
  } else {
    reported_at_ = steady;
    if (reported > least(steady)) {
      heard_ = reported;
      heard_at_ = steady;
    }
  }
  latest_ = std::max(latest_, reported);
  return {latest_, jumps_.seen(reported, steady, early)};
}

std::optional<Timestamp> ServerTime::recent(Milliseconds steady) noexcept {
  if (latest_ == Timestamp() || steady - reported_at_ >= tolerance_) return std::nullopt;
  if (steady - heard_at_ < tolerance_) return estimate(steady);
  // Reports come, and none of them is later than a store that advances at nine tenths explains.
  latest_ = std::max(latest_, least(steady));
  return latest_;
}

Timestamp ServerTime::estimate(Milliseconds steady) noexcept {
  latest_ = std::max(latest_, behind_ ? least(steady) : heard_ + (steady - heard_at_));
  return latest_;
}

std::optional<Timestamp> ServerTime::proposal(Milliseconds steady) noexcept {
  if (!behind_) return std::nullopt;
  const Timestamp time = std::max(least(steady), latest_);
  if (stored_ && time < proposed_ + std::min(kProposalInterval, tolerance_)) return std::nullopt;
  proposed_ = time;
  return time;
}

void ServerTime::proposal_stored(bool caught_up) noexcept {
  stored_ = true;
  if (caught_up) behind_ = false;
}

void ServerTime::proposal_refused() noexcept {
  behind_ = true;
  stored_ = false;
}

std::optional<Timestamp> ServerTime::latest() const noexcept {
  return latest_ == Timestamp() ? std::nullopt : std::optional(latest_);
}

}  // namespace perdure::postgres
