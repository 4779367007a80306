// HistoryFacts: what a history says by itself, without the code: which operations are open, how it ended.
//
// It is kept for every live instance, and it is all there is when an execution must end without its code (poison,
// termination, a missing handler, diverging code).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/detail/slot.h>
#include <perdure/event.h>

namespace perdure {

class HistoryFacts {
 public:
  // Why the event cannot be the next of this history; nothing if it can.
  [[nodiscard]] std::optional<std::string> problem_with(const Event& event) const;
  void record(const Event& event);
  // The stored events from here on cannot be understood, up to the last one. Only the end of the execution may still be
  // recorded, behind them.
  void stop_at_damage(const Event& last_stored) noexcept;

  [[nodiscard]] bool started() const noexcept { return damaged_ || !states_.empty(); }
  [[nodiscard]] bool terminal() const noexcept { return terminal_; }
  [[nodiscard]] EventId next_event_id() const noexcept { return last_id_ + 1; }
  [[nodiscard]] TurnNumber last_turn() const noexcept { return last_turn_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::optional<SemanticVersion>& version() const noexcept { return version_; }
  [[nodiscard]] const std::optional<ParentLink>& parent() const noexcept { return parent_; }
  // The reason of the first cancel request.
  [[nodiscard]] const std::optional<std::string>& cancel_requested() const noexcept { return cancel_requested_; }

  enum class Match : std::uint8_t { kOpen, kResolved, kMissing, kOtherKind };
  // How a completion of that kind for that schedule stands to the history.
  [[nodiscard]] Match match(EventId schedule_id, detail::OperationKind kind) const noexcept;
  // The operation that an event scheduled, if it did.
  [[nodiscard]] std::optional<detail::OperationKind> operation(EventId id) const noexcept;

  // Ascending: scheduled, without outcome, and nobody asked for their cancellation.
  [[nodiscard]] std::vector<EventId> open_activities() const;
  // By schedule id, with the child's instance id.
  [[nodiscard]] const std::map<EventId, std::string>& open_children() const noexcept { return open_children_; }

  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  // One byte per event: what it scheduled (0: nothing), and what has become of that.
  static constexpr std::uint8_t kKindMask = 0x0f;
  static constexpr std::uint8_t kResolved = 0x40;
  static constexpr std::uint8_t kCancelAsked = 0x80;

  [[nodiscard]] const std::uint8_t* state(EventId id) const noexcept;
  [[nodiscard]] std::optional<std::string> problem_with_order(const Event& event) const;
  void resolve(EventId schedule_id, std::uint8_t flag);

  std::vector<std::uint8_t> states_;
  std::map<EventId, std::string> open_children_;
  std::string name_;
  std::optional<SemanticVersion> version_;
  std::optional<ParentLink> parent_;
  std::optional<std::string> cancel_requested_;
  EventId last_id_ = 0;
  TurnNumber last_turn_ = 0;
  bool terminal_ = false;
  bool damaged_ = false;
};

// "activity", "timer", ...: for messages to people.
[[nodiscard]] std::string_view to_string(detail::OperationKind kind) noexcept;

}  // namespace perdure
