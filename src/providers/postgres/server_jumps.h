// ServerJumps: notices that the clock of the server was set, by the times that it reports to one node.
//
// The response or this process may be delayed, so a report that shows an early time may only be an old one. One that
// shows a later time than the steady clock explains cannot be.
//
//   the clock was set   is noticed when
//   forward             a report is later than the least delayed one before it explains
//   back                a report was too early, and 10 s later store time still lags in one that is not: since then it
//                       has advanced at nine tenths, as nodes propose
//
// Differences of up to a second plus a thousandth of the time since the last report are those of a clock that is
// disciplined. A clock that is set back and set right again within 10 s is not noticed: store time did not follow it.
#pragma once

#include <optional>

#include <perdure/types.h>

namespace perdure::postgres {

// Not thread-safe. `steady` is the time of the steady clock at the call.
class ServerJumps {
 public:
  // Takes note of a time that the server has reported. `early`: it is earlier than the proposals of this node allow.
  // Returns by how much the clock was set, or zero.
  [[nodiscard]] Milliseconds seen(Timestamp reported, Milliseconds steady, bool early) noexcept;

 private:
  struct Report {
    Timestamp time{};
    Milliseconds steady{0};
  };

  [[nodiscard]] Milliseconds confirmed(Timestamp reported, Milliseconds steady) noexcept;
  // Where the server's clock is, if it was not set since the least delayed report.
  [[nodiscard]] Timestamp expected(Milliseconds steady) const noexcept {
    return base_->time + (steady - base_->steady);
  }

  std::optional<Report> base_;       // the least delayed one
  std::optional<Report> suspected_;  // the first one of a clock that may have been set back
  Milliseconds slews_until_{0};      // store time advances at nine tenths until then at most
};

}  // namespace perdure::postgres
