#include "replay/intake.h"

#include <type_traits>
#include <utility>
#include <variant>

#include <perdure/version.h>
#include "model/planted_fault.h"

namespace perdure {

using detail::OperationKind;

namespace {

template <class T>
inline constexpr bool is_start =
    std::is_same_v<T, messages::StartOrchestration> || std::is_same_v<T, messages::ContinueAsNew>;

class Converter {
 public:
  Converter(const IntakeRequest& request, HistoryFacts& facts)
      : request_(request), facts_(facts), turn_(facts.last_turn() + 1) {}

  Intake run() {
    result_.inputs.reserve(request_.messages.size() + 1);
    const bool was_started = facts_.started();
    if (!was_started) begin();
    const std::size_t chosen = was_started ? request_.messages.size() : start_index(request_.messages);
    for (std::size_t i = 0; i < request_.messages.size(); ++i) {
      if (i == chosen) continue;
      const Message& message = request_.messages[i];
      std::visit([&](const auto& body) { convert(message, body); }, message.body);
    }
    return std::move(result_);
  }

  static std::size_t start_index(std::span<const Message> messages) {
    std::size_t found = messages.size();
    for (std::size_t i = messages.size(); i-- > 0;) {
      if (std::holds_alternative<messages::StartOrchestration>(messages[i].body)) found = i;
    }
    for (std::size_t i = messages.size(); i-- > 0;) {
      if (std::holds_alternative<messages::ContinueAsNew>(messages[i].body)) found = i;
    }
    return found;
  }

 private:
  void begin() {
    auto start = find_start(request_.messages);
    if (!start) return;
    auto carried = start->carry_forward;
    append(events::OrchestrationStarted{std::move(start->name), request_.version, std::move(start->input),
                                        std::move(start->parent), std::move(start->carry_forward),
                                        std::move(start->initial_custom_status)});
    if (planted(PlantedFault::kOneMessageCarried) && carried.size() > 1) carried.resize(1);
    for (auto& message : carried)
      append(events::QueueEventDelivered{std::move(message.queue), std::move(message.data)});
  }

  template <class Body>
  void convert(const Message& message, const Body& body) {
    if (!facts_.started()) return ignore(message, IgnoreReason::kNotStarted);
    if constexpr (is_start<Body>) {
      if (auto refusal = refusal_of(message, facts_.parent())) result_.replies.push_back(std::move(*refusal));
      ignore(message, IgnoreReason::kAlreadyStarted);
    } else if constexpr (std::is_same_v<Body, messages::ActivityCompleted>) {
      if (accept(message, body.schedule_id, OperationKind::kActivity))
        append(events::ActivityCompleted{body.schedule_id, body.result});
    } else if constexpr (std::is_same_v<Body, messages::ActivityFailed>) {
      if (accept(message, body.schedule_id, OperationKind::kActivity))
        append(events::ActivityFailed{body.schedule_id, body.error, body.progress, body.attempts});
    } else if constexpr (std::is_same_v<Body, messages::TimerFired>) {
      if (accept(message, body.schedule_id, OperationKind::kTimer))
        append(events::TimerFired{body.schedule_id, body.fire_at});
    } else if constexpr (std::is_same_v<Body, messages::SubOrchestrationCompleted>) {
      if (accept_child(message, body.schedule_id, body.parent_incarnation))
        append(events::SubOrchestrationCompleted{body.schedule_id, body.result});
    } else if constexpr (std::is_same_v<Body, messages::SubOrchestrationFailed>) {
      if (!accept_child(message, body.schedule_id, body.parent_incarnation)) return;
      append(events::SubOrchestrationFailed{body.schedule_id, body.error});
    } else if constexpr (std::is_same_v<Body, messages::ExternalRaised>) {
      append(events::ExternalEvent{body.name, body.data});
    } else if constexpr (std::is_same_v<Body, messages::QueueMessage>) {
      append(events::QueueEventDelivered{body.queue, body.data});
    } else if constexpr (std::is_same_v<Body, messages::CancelInstance>) {
      if (is_foreign(body, facts_.parent())) return ignore(message, IgnoreReason::kForeignLink);
      if (facts_.cancel_requested()) return ignore(message, IgnoreReason::kAlreadyCancelled);
      append(events::OrchestrationCancelRequested{body.reason});
    } else if constexpr (std::is_same_v<Body, messages::TerminateInstance>) {
      if (!result_.terminate) result_.terminate = body.reason;
    } else {
      static_assert(std::is_same_v<Body, messages::ExecuteActivity>, "every message kind is handled");
      ignore(message, IgnoreReason::kNotForOrchestrations);
    }
  }

  // Whether a completion belongs to an operation that is still open. One that can belong to none is an error of the
  // whole execution: its history and the message cannot both be true.
  bool accept(const Message& message, EventId schedule_id, OperationKind kind) {
    const bool any_execution = planted(PlantedFault::kCompletionOfAnotherExecution);
    if (message.execution != request_.execution && !any_execution)
      return ignore(message, IgnoreReason::kOtherExecution), false;
    const std::string id = std::to_string(schedule_id);
    switch (facts_.match(schedule_id, kind)) {
      case HistoryFacts::Match::kOpen:
        return true;
      case HistoryFacts::Match::kResolved:
        return ignore(message, IgnoreReason::kDuplicate), false;
      case HistoryFacts::Match::kMissing:
        abort("no matching schedule for " + std::string(kind_name(message.body)) + " id=" + id);
        return false;
      case HistoryFacts::Match::kOtherKind:
        abort("completion kind mismatch for id=" + id + ": " + std::string(kind_name(message.body)) + ", but event " +
              id + " scheduled no " + std::string(to_string(kind)));
        return false;
    }
    return false;
  }

  // An instance that was deleted and started again has schedules with the same ids, but not the same children.
  bool accept_child(const Message& message, EventId schedule_id, std::uint64_t incarnation) {
    if (incarnation != request_.incarnation && !planted(PlantedFault::kOutcomeOfAnotherIncarnation))
      return ignore(message, IgnoreReason::kForeignLink), false;
    return accept(message, schedule_id, OperationKind::kSubOrchestration);
  }

  void append(EventBody body) {
    Event event{facts_.next_event_id(), turn_, request_.now, engine_version(), std::move(body)};
    facts_.record(event);
    result_.inputs.push_back(std::move(event));
  }
  void ignore(const Message& message, IgnoreReason reason) {
    result_.ignored.push_back({std::string(kind_name(message.body)), reason});
  }
  void abort(std::string text) {
    if (!result_.abort) {
      result_.abort = ConfigurationError{ConfigurationErrorKind::kNondeterminism, facts_.name(), std::move(text)};
    }
  }

  const IntakeRequest& request_;
  HistoryFacts& facts_;
  TurnNumber turn_;
  Intake result_;
};

}  // namespace

std::optional<messages::ContinueAsNew> find_start(std::span<const Message> messages) {
  const std::size_t index = Converter::start_index(messages);
  if (index == messages.size()) return std::nullopt;
  if (const auto* next = std::get_if<messages::ContinueAsNew>(&messages[index].body)) {
    return *next;
  }
  const auto& start = std::get<messages::StartOrchestration>(messages[index].body);
  return messages::ContinueAsNew{.name = start.name,
                                 .version = start.version,
                                 .input = start.input,
                                 .parent = start.parent,
                                 .carry_forward = {},
                                 .initial_custom_status = {}};
}

std::optional<Message> refusal_of(const Message& start, const std::optional<ParentLink>& own_parent) {
  const auto* body = std::get_if<messages::StartOrchestration>(&start.body);
  if (!body || !body->parent || body->parent == own_parent) return std::nullopt;
  const ParentLink& parent = *body->parent;
  ApplicationError error{ApplicationErrorKind::kOrchestrationFailed,
                         "sub-orchestration '" + body->name + "' cannot start: instance id '" + start.instance +
                             "' is taken; choose another, or let the engine choose",
                         false};
  return Message{parent.instance, parent.execution_id, std::nullopt,
                 messages::SubOrchestrationFailed{parent.schedule_id, std::move(error), parent.incarnation}};
}

bool is_foreign(const messages::CancelInstance& cancel, const std::optional<ParentLink>& own_parent) {
  return cancel.parent && cancel.parent != own_parent && !planted(PlantedFault::kCancelIgnoresLink);
}

Intake take_in(const IntakeRequest& request, HistoryFacts& facts) {
  return Converter(request, facts).run();
}

}  // namespace perdure
