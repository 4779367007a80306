// ServerTime: the time of the store as one node knows it, by what the server has reported.
//
//   state     means                                                     left when
//   in step   the store's time runs with the server's clock             a report is earlier than it can be
//   behind    the server's clock was set back, or the server changed:   the server's own clock has reached a proposal
//             this node proposes a time before each call
//
// Responses overtake each other, so a report may be earlier than the latest one. It cannot be earlier than the latest
// one at the beginning of its call, because the server computes it after that: then the clock was set back, however
// little. A report that is early by more than the tolerance shows the same without the beginning of its call.
//
// A time that the server can report is at least the latest one plus nine tenths of the steady time since. While the
// server is behind, nodes propose that time, and the store keeps the greatest. So store time never runs backwards or
// stands still.
//
// A late report alone does not end the second state: it may be the proposal of another node, which may end at any time.
// For the same reason a report that lags never lowers the time that the next one must reach.
#pragma once

#include <optional>

#include <perdure/types.h>
#include "providers/postgres/server_jumps.h"

namespace perdure::postgres {

// Not thread-safe. `steady` is the time of the steady clock at the call.
class ServerTime {
 public:
  // `tolerance`: see PostgresOptions::time_tolerance.
  explicit ServerTime(Milliseconds tolerance) noexcept : tolerance_(tolerance) {}

  struct Report {
    Timestamp time{};      // the reported one, or the latest that any caller has seen
    Milliseconds jump{0};  // by how much the clock was set, if this shows it; each jump once
  };
  // Takes note of a time that the server has reported. `known`: latest() at the beginning of the call that reports it.
  Report report(Timestamp reported, Milliseconds steady, std::optional<Timestamp> known = std::nullopt) noexcept;
  // Returns the time by the reports so far, or std::nullopt if there is none or the last one is older than the
  // tolerance. Reports that are too early do not count.
  [[nodiscard]] std::optional<Timestamp> recent(Milliseconds steady) noexcept;
  // Returns the same, however old the last report is.
  [[nodiscard]] Timestamp estimate(Milliseconds steady) noexcept;
  // Returns the time to report to the store before the next call, or std::nullopt if its own is right. Until the store
  // has a first proposal, every call reports one, because it would see an earlier time otherwise.
  [[nodiscard]] std::optional<Timestamp> proposal(Milliseconds steady) noexcept;
  // `caught_up`: the server's own clock has reached the proposal.
  void proposal_stored(bool caught_up) noexcept;
  // The server could not store a time, so its clock has not reached it.
  void proposal_refused() noexcept;
  // Returns the latest time that any caller has seen; std::nullopt before the first report.
  [[nodiscard]] std::optional<Timestamp> latest() const noexcept;

 private:
  [[nodiscard]] Timestamp least(Milliseconds steady) const noexcept;

  Milliseconds tolerance_;
  Timestamp latest_{};           // that any caller has seen
  Timestamp heard_{};            // the report that demands most of later ones,
  Milliseconds heard_at_{0};     // and when it came
  Milliseconds reported_at_{0};  // when the last report came that was not too early
  Timestamp proposed_{};         // last
  ServerJumps jumps_;
  bool behind_ = false;
  bool stored_ = false;  // the store has a proposal that was made since then
};

}  // namespace perdure::postgres
