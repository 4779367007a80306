#include "replay/history_facts.h"

#include <algorithm>
#include <variant>

namespace perdure {

using detail::OperationKind;

namespace {

struct Outcome {
  EventId source;
  OperationKind kind;
};

// Which operation an event is the outcome of.
std::optional<Outcome> outcome_of(const EventBody& body) {
  if (const auto* e = std::get_if<events::ActivityCompleted>(&body))
    return Outcome{e->source, OperationKind::kActivity};
  if (const auto* e = std::get_if<events::ActivityFailed>(&body)) return Outcome{e->source, OperationKind::kActivity};
  if (const auto* e = std::get_if<events::TimerFired>(&body)) return Outcome{e->source, OperationKind::kTimer};
  if (const auto* e = std::get_if<events::SubOrchestrationCompleted>(&body))
    return Outcome{e->source, OperationKind::kSubOrchestration};
  if (const auto* e = std::get_if<events::SubOrchestrationFailed>(&body))
    return Outcome{e->source, OperationKind::kSubOrchestration};
  return std::nullopt;
}

std::optional<Outcome> cancelled_by(const EventBody& body) {
  if (const auto* e = std::get_if<events::ActivityCancelRequested>(&body))
    return Outcome{e->source, OperationKind::kActivity};
  if (const auto* e = std::get_if<events::SubOrchestrationCancelRequested>(&body))
    return Outcome{e->source, OperationKind::kSubOrchestration};
  if (const auto* e = std::get_if<events::ExternalSubscriptionCancelled>(&body))
    return Outcome{e->source, OperationKind::kExternal};
  if (const auto* e = std::get_if<events::QueueSubscriptionCancelled>(&body))
    return Outcome{e->source, OperationKind::kQueue};
  return std::nullopt;
}

// 0: it schedules nothing.
std::uint8_t scheduled_by(const EventBody& body) {
  const auto code = [](OperationKind kind) { return static_cast<std::uint8_t>(static_cast<unsigned>(kind) + 1); };
  if (std::holds_alternative<events::ActivityScheduled>(body)) return code(OperationKind::kActivity);
  if (std::holds_alternative<events::TimerCreated>(body)) return code(OperationKind::kTimer);
  if (std::holds_alternative<events::ExternalSubscribed>(body)) return code(OperationKind::kExternal);
  if (std::holds_alternative<events::QueueSubscribed>(body)) return code(OperationKind::kQueue);
  if (std::holds_alternative<events::SubOrchestrationScheduled>(body)) return code(OperationKind::kSubOrchestration);
  return 0;
}

std::string at(const Event& event) {
  return "event " + std::to_string(event.id) + " (" + std::string(kind_name(event.body)) + ")";
}

}  // namespace

std::string_view to_string(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kActivity:
    case OperationKind::kRetriedActivity:
      return "activity";
    case OperationKind::kTimer:
      return "timer";
    case OperationKind::kExternal:
      return "event subscription";
    case OperationKind::kQueue:
      return "queue subscription";
    case OperationKind::kSubOrchestration:
      return "sub-orchestration";
  }
  return "operation";
}

const std::uint8_t* HistoryFacts::state(EventId id) const noexcept {
  if (id < kFirstEventId || id - kFirstEventId >= states_.size()) return nullptr;
  return &states_[static_cast<std::size_t>(id - kFirstEventId)];
}

std::optional<OperationKind> HistoryFacts::operation(EventId id) const noexcept {
  const auto* found = state(id);
  if (!found || (*found & kKindMask) == 0) return std::nullopt;
  return static_cast<OperationKind>((*found & kKindMask) - 1);
}

HistoryFacts::Match HistoryFacts::match(EventId schedule_id, OperationKind kind) const noexcept {
  const auto* found = state(schedule_id);
  if (!found) return Match::kMissing;
  if (operation(schedule_id) != kind) return Match::kOtherKind;
  return (*found & kResolved) != 0 ? Match::kResolved : Match::kOpen;
}

std::optional<std::string> HistoryFacts::problem_with_order(const Event& event) const {
  if (event.id != next_event_id()) {
    return at(event) + " is at the position of event " + std::to_string(next_event_id()) +
           ": events are missing or repeated";
  }
  if (event.turn < last_turn_ || event.turn < kFirstTurn) {
    return at(event) + " has turn " + std::to_string(event.turn) + " after turn " + std::to_string(last_turn_);
  }
  const bool is_start = std::holds_alternative<events::OrchestrationStarted>(event.body);
  if (!started() && !is_start) return at(event) + ": the first event must be OrchestrationStarted";
  if (started() && is_start) return at(event) + ": the execution has started already";
  if (!terminal_) return std::nullopt;
  const bool closing = std::holds_alternative<events::ActivityCancelRequested>(event.body) && event.turn == last_turn_;
  if (!closing) return at(event) + " follows the end of the execution";
  return std::nullopt;
}

std::optional<std::string> HistoryFacts::problem_with(const Event& event) const {
  if (auto problem = problem_with_order(event)) return problem;
  const auto outcome = outcome_of(event.body);
  const auto cancelled = outcome ? std::nullopt : cancelled_by(event.body);
  if (!outcome && !cancelled) return std::nullopt;
  const auto [source, kind] = outcome ? *outcome : *cancelled;
  const std::string of = at(event) + ": ";
  switch (match(source, kind)) {
    case Match::kMissing:
      return of + "there is no event " + std::to_string(source) + " that it could belong to";
    case Match::kOtherKind:
      return of + "event " + std::to_string(source) + " is no " + std::string(to_string(kind));
    case Match::kResolved:
      if (outcome)
        return of + "the " + std::string(to_string(kind)) + " of event " + std::to_string(source) +
               " has its outcome already";
      break;
    case Match::kOpen:
      break;
  }
  if (cancelled && (*state(source) & kCancelAsked) != 0) {
    return of + "the cancellation of event " + std::to_string(source) + " was requested already";
  }
  return std::nullopt;
}

void HistoryFacts::resolve(EventId schedule_id, std::uint8_t flag) {
  states_[static_cast<std::size_t>(schedule_id - kFirstEventId)] |= flag;
  open_children_.erase(schedule_id);
}

void HistoryFacts::stop_at_damage(const Event& last_stored) noexcept {
  damaged_ = true;
  last_id_ = std::max(last_id_, last_stored.id);
  last_turn_ = std::max(last_turn_, last_stored.turn);
}

void HistoryFacts::record(const Event& event) {
  if (!damaged_)
    states_.push_back(scheduled_by(event.body));  // by position; behind damage nothing is looked up any more
  last_id_ = event.id;
  last_turn_ = event.turn;
  if (const auto outcome = outcome_of(event.body)) {
    resolve(outcome->source, kResolved);
  } else if (const auto cancelled = cancelled_by(event.body)) {
    resolve(cancelled->source, kCancelAsked);
  } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
    open_children_.emplace(event.id, child->instance);
  } else if (const auto* start = std::get_if<events::OrchestrationStarted>(&event.body)) {
    name_ = start->name;
    version_ = start->version;
    parent_ = start->parent;
  } else if (const auto* cancel = std::get_if<events::OrchestrationCancelRequested>(&event.body)) {
    if (!cancel_requested_) cancel_requested_ = cancel->reason;
  } else if (classify(event.body) == EventClass::kTerminal) {
    terminal_ = true;
  }
}

std::vector<EventId> HistoryFacts::open_activities() const {
  std::vector<EventId> open;
  constexpr auto kOpenActivity = static_cast<std::uint8_t>(static_cast<unsigned>(OperationKind::kActivity) + 1);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == kOpenActivity) open.push_back(i + kFirstEventId);
  }
  return open;
}

std::size_t HistoryFacts::memory_bytes() const noexcept {
  constexpr std::size_t kMapNode = 96;  // a tree node with an id and a short string, allocator overhead included
  return states_.capacity() + name_.capacity() + open_children_.size() * kMapNode;
}

}  // namespace perdure
