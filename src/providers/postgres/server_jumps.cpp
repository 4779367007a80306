#include "providers/postgres/server_jumps.h"

#include <algorithm>

namespace perdure::postgres {

namespace {

// A store that advances at nine tenths lacks 200 ms after the first time, more than a response takes, and a second
// after the second one.
constexpr Milliseconds kTrial{2'000};
constexpr Milliseconds kConfirmation{10'000};

// A clock that is disciplined runs a little faster or slower: that is not a jump.
Milliseconds drift(Milliseconds passed) noexcept {
  return passed / 1'000;
}

}  // namespace

Milliseconds ServerJumps::seen(Timestamp reported, Milliseconds steady, bool early) noexcept {
  if (!base_) base_ = Report{reported, steady};
  const Milliseconds passed = steady - base_->steady;
  const Milliseconds off = reported - expected(steady);
  const Milliseconds tolerance = Milliseconds(1'000) + drift(passed);
  if (off > tolerance) {
    base_ = Report{reported, steady};
    suspected_.reset();
    return off;
  }
  if (early && off < -tolerance && !suspected_ && steady >= slews_until_) suspected_ = Report{reported, steady};
  if (early) return Milliseconds(0);
  if (suspected_) return confirmed(reported, steady);
  const Milliseconds explained = steady < slews_until_ ? passed / 10 : drift(passed);
  if (off >= -explained) base_ = Report{reported, steady};
  return Milliseconds(0);
}

Milliseconds ServerJumps::confirmed(Timestamp reported, Milliseconds steady) noexcept {
  const Milliseconds passed = steady - suspected_->steady;
  if (passed < kTrial) return Milliseconds(0);
  const Milliseconds off = suspected_->time - expected(suspected_->steady);
  // Half of what is lacking if the clock was set: a tenth of the time, until the clock has caught up.
  const Milliseconds half = std::min(passed / 20, -off / 2);
  if (reported >= expected(steady) - half) {
    suspected_.reset();  // that report was only an old one
    return Milliseconds(0);
  }
  if (passed < kConfirmation) return Milliseconds(0);
  suspected_.reset();
  base_ = Report{reported, steady};
  slews_until_ = steady - off * 10;
  return off;
}

}  // namespace perdure::postgres
