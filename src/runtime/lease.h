// Lease: a lock with its time, and when to ask for more of it.
#pragma once

#include <algorithm>
#include <utility>

#include <perdure/fetch.h>
#include <perdure/types.h>
#include "model/planted_fault.h"
#include "providers/times.h"

namespace perdure::runtime {

class Lease {
 public:
  Lease(LockToken token, Timestamp until, Milliseconds timeout) : token_(std::move(token)), timeout_(timeout) {
    renewed(until);
  }

  [[nodiscard]] const LockToken& token() const noexcept { return token_; }
  [[nodiscard]] Timestamp until() const noexcept { return until_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  // When it is to be renewed; never, once it is lost.
  [[nodiscard]] Timestamp renew_at() const noexcept { return lost_ ? Timestamp::max() : renew_at_; }

  void renewed(Timestamp until) noexcept {
    until_ = until;
    renew_at_ = planted(PlantedFault::kRenewalAtTheEnd) ? until : until - timeout_ / 2;
  }
  // The call failed. There is time for some more tries before the lock expires, and for none after that.
  void renew_failed(Timestamp now) noexcept {
    renew_at_ = now < until_ ? now + std::max(timeout_ / 16, Milliseconds(1)) : Timestamp::max();
  }
  // Whether the store still has it is in doubt.
  void renew_by(Timestamp time) noexcept { renew_at_ = std::min(renew_at_, time); }
  void lose() noexcept { lost_ = true; }
  // The clock was set forward by this much. A lock lasts for a duration, so its end moves along. The lock is renewed at
  // once, which shows whether the store still has it.
  void clock_jumped(Milliseconds by) noexcept { until_ = shifted(until_, by); }

 private:
  LockToken token_;
  Milliseconds timeout_;
  Timestamp until_{};
  Timestamp renew_at_{};
  bool lost_ = false;
};

}  // namespace perdure::runtime
