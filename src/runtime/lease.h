// Lease: a lock with its time, and when to ask for more of it.
#pragma once

#include <algorithm>
#include <utility>

#include <perdure/fetch.h>
#include <perdure/types.h>
#include "model/planted_fault.h"

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
  // The store could not be asked; there is time for some more tries before the lock ends.
  void renew_failed(Timestamp now) noexcept { renew_at_ = now + std::max(timeout_ / 16, Milliseconds(1)); }
  void lose() noexcept { lost_ = true; }

 private:
  LockToken token_;
  Milliseconds timeout_;
  Timestamp until_{};
  Timestamp renew_at_{};
  bool lost_ = false;
};

}  // namespace perdure::runtime
