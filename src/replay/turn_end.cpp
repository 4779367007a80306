#include "replay/turn_end.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <perdure/limits.h>
#include <perdure/version.h>
#include "model/check.h"
#include "model/error_text.h"
#include "model/planted_fault.h"

namespace perdure {

using detail::OperationKind;

namespace {

bool contains(const std::vector<EventId>& ascending, EventId id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

// Ended by its own code, as against by a request or by the engine: only then detached operations live on.
bool is_normal_end(const Verdict& verdict) {
  const auto* failed = std::get_if<verdicts::Failed>(&verdict);
  if (!failed) return true;
  const auto* error = std::get_if<ApplicationError>(&failed->error);
  return error &&
         (error->kind == ApplicationErrorKind::kOrchestrationFailed || error->kind == ApplicationErrorKind::kPanicked);
}

ExecutionStatus status_of(const Verdict& verdict) {
  if (std::holds_alternative<verdicts::Continue>(verdict)) return ExecutionStatus::kRunning;
  if (std::holds_alternative<verdicts::Completed>(verdict)) return ExecutionStatus::kCompleted;
  if (std::holds_alternative<verdicts::ContinuedAsNew>(verdict)) return ExecutionStatus::kContinuedAsNew;
  const auto* error = std::get_if<ApplicationError>(&std::get<verdicts::Failed>(verdict).error);
  if (error && error->kind == ApplicationErrorKind::kCancelled) return ExecutionStatus::kCancelled;
  if (error && error->kind == ApplicationErrorKind::kTerminated) return ExecutionStatus::kTerminated;
  return ExecutionStatus::kFailed;
}

class Closing {
 public:
  Closing(TurnEnd end, HistoryFacts& facts) : end_(std::move(end)), facts_(facts) {
    turn_ = end_.inputs.empty() ? facts_.last_turn() + 1 : end_.inputs.front().turn;
    first_new_id_ = end_.inputs.empty() ? facts_.next_event_id() : end_.inputs.front().id;
  }

  TurnOutcome run() {
    out_.status = status_of(end_.verdict);
    out_.ignored = std::move(end_.ignored);
    out_.events = std::move(end_.inputs);
    out_.events.reserve(out_.events.size() + end_.decisions.size() + end_.dropped.size() + 1);
    decisions_begin_ = out_.events.size();
    for (auto& decision : end_.decisions) {
      PERDURE_CHECK(decision.id == facts_.next_event_id(), "decisions are numbered after the inputs of their turn");
      facts_.record(decision);
      out_.events.push_back(std::move(decision));
    }
    decisions_end_ = out_.events.size();
    for (const EventId id : end_.dropped) cancel_dropped(id);
    if (out_.status == ExecutionStatus::kRunning) {
      send_decisions();
    } else {
      finish();
    }
    out_.messages.insert(out_.messages.end(), std::make_move_iterator(cancels_.begin()),
                         std::make_move_iterator(cancels_.end()));
    out_.messages.insert(out_.messages.end(), std::make_move_iterator(end_.replies.begin()),
                         std::make_move_iterator(end_.replies.end()));
    return std::move(out_);
  }

 private:
  void append(EventBody body) {
    Event event{facts_.next_event_id(), turn_, end_.now, engine_version(), std::move(body)};
    facts_.record(event);
    out_.events.push_back(std::move(event));
  }
  [[nodiscard]] bool scheduled_before_this_turn(EventId id) const { return id < first_new_id_; }

  // What was scheduled and given up in the same turn never leaves: nothing to start, nothing to withdraw.
  void cancel_dropped(EventId id) {
    const auto kind = facts_.operation(id);
    PERDURE_CHECK(kind.has_value(), "a dropped future belongs to an operation of this history");
    switch (*kind) {
      case OperationKind::kActivity:
        // It may have completed in the batch, behind the event that led to the drop: then there is nothing to withdraw.
        if (scheduled_before_this_turn(id) && facts_.match(id, *kind) == HistoryFacts::Match::kOpen &&
            !planted(PlantedFault::kDroppedActivityRunsOn)) {
          out_.cancelled_activities.push_back(id);
        }
        append(events::ActivityCancelRequested{id, CancelReason::kDroppedFuture});
        break;
      case OperationKind::kSubOrchestration:
        if (const auto child = facts_.open_children().find(id);
            child != facts_.open_children().end() && !planted(PlantedFault::kDroppedChildLivesOn)) {
          cancel_child(id, child->second, "parent dropped sub-orchestration future");
        }
        append(events::SubOrchestrationCancelRequested{id, CancelReason::kDroppedFuture});
        break;
      case OperationKind::kExternal:
        append(events::ExternalSubscriptionCancelled{id, CancelReason::kDroppedFuture});
        break;
      case OperationKind::kQueue:
        append(events::QueueSubscriptionCancelled{id, CancelReason::kDroppedFuture});
        break;
      case OperationKind::kTimer:
      case OperationKind::kRetriedActivity:
        PERDURE_CHECK(false, "timers and retry loops have no cancellation event");
    }
  }
  void cancel_child(EventId id, const std::string& child, std::string_view reason) {
    if (!scheduled_before_this_turn(id)) return;
    cancels_.push_back({child, std::nullopt, std::nullopt, messages::CancelInstance{std::string(reason), link_of(id)}});
  }

  // The link to the child that this event scheduled.
  [[nodiscard]] ParentLink link_of(EventId id) const { return {end_.instance, end_.execution, id, end_.incarnation}; }

  // ---- the messages of decisions ---------------------------------------------------------------------------------

  [[nodiscard]] bool withheld(EventId id) const { return contains(end_.dropped, id); }

  void send_decisions() {
    for (std::size_t i = decisions_begin_; i < decisions_end_; ++i) {
      const Event& event = out_.events[i];
      if (withheld(event.id)) continue;
      if (const auto* activity = std::get_if<events::ActivityScheduled>(&event.body)) {
        send_activity(event.id, *activity);
      } else if (const auto* timer = std::get_if<events::TimerCreated>(&event.body)) {
        out_.messages.push_back(
            {end_.instance, end_.execution, timer->fire_at, messages::TimerFired{event.id, timer->fire_at}});
      } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
        send_child(event.id, *child);
      } else if (const auto* chained = std::get_if<events::OrchestrationChained>(&event.body)) {
        send_chained(*chained);
      }
    }
  }
  // In the last turn only what does not depend on this execution leaves: detached starts, always, and detached
  // operations, if the code ended normally.
  void send_last_decisions() {
    const bool normal = is_normal_end(end_.verdict);
    for (std::size_t i = decisions_begin_; i < decisions_end_; ++i) {
      const Event& event = out_.events[i];
      const auto* chained = std::get_if<events::OrchestrationChained>(&event.body);
      if (chained && !planted(PlantedFault::kLastDetachedStartLost)) send_chained(*chained);
      if (!normal || withheld(event.id) || !contains(end_.detached, event.id)) continue;
      if (const auto* activity = std::get_if<events::ActivityScheduled>(&event.body)) {
        send_activity(event.id, *activity);
      } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body);
                 child && !planted(PlantedFault::kLastDetachedChildLost)) {
        send_child(event.id, *child);
      }
    }
  }
  void send_activity(EventId id, const events::ActivityScheduled& activity) {
    messages::ExecuteActivity execute{id,
                                      activity.name,
                                      activity.input,
                                      activity.session_id,
                                      activity.tag,
                                      activity.timeouts,
                                      facts_.name(),
                                      facts_.version(),
                                      activity.progress,
                                      activity.earlier,
                                      incarnation()};
    out_.activities.push_back({end_.instance, end_.execution, std::nullopt, std::move(execute)});
  }
  [[nodiscard]] std::optional<std::uint64_t> incarnation() const {
    return end_.incarnation == 0 ? std::nullopt : std::optional(end_.incarnation);
  }
  void send_child(EventId id, const events::SubOrchestrationScheduled& child) {
    out_.messages.push_back({child.instance, std::nullopt, std::nullopt,
                             messages::StartOrchestration{child.name, child.version, child.input, link_of(id)}});
  }
  void send_chained(const events::OrchestrationChained& start) {
    out_.messages.push_back({start.instance, std::nullopt, std::nullopt,
                             messages::StartOrchestration{start.name, start.version, start.input, std::nullopt}});
  }

  // ---- the end ---------------------------------------------------------------------------------------------------

  void finish() {
    for (const EventId id : end_.open_waits) {
      append(events::ExternalSubscriptionCancelled{id, CancelReason::kOrchestrationTerminal});
    }
    for (const EventId id : end_.open_dequeues) {
      append(events::QueueSubscriptionCancelled{id, CancelReason::kOrchestrationTerminal});
    }
    send_last_decisions();
    const bool normal = is_normal_end(end_.verdict);
    const auto spared = [&](EventId id) { return normal && contains(end_.detached, id); };
    std::visit([this](auto& verdict) { end_with(verdict); }, end_.verdict);
    for (const EventId id : facts_.open_activities()) {
      if (spared(id)) continue;
      if (!planted(PlantedFault::kEndWithoutBreadcrumbs)) {
        append(events::ActivityCancelRequested{id, activity_reason()});
      }
      if (scheduled_before_this_turn(id)) out_.cancelled_activities.push_back(id);
    }
    std::sort(out_.cancelled_activities.begin(), out_.cancelled_activities.end());
    for (const auto& [id, child] : facts_.open_children()) {
      const bool forgotten =
          planted(PlantedFault::kTerminateForgetsChildren) && out_.status == ExecutionStatus::kTerminated;
      if (!spared(id) && !forgotten) cancel_child(id, child, child_reason());
    }
  }
  void end_with(verdicts::Continue&) {}
  void end_with(verdicts::Completed& completed) {
    out_.output = completed.output;
    if (const auto& parent = facts_.parent()) {
      tell_parent(messages::SubOrchestrationCompleted{parent->schedule_id, completed.output, parent->incarnation});
    }
    append(events::OrchestrationCompleted{std::move(completed.output)});
  }
  void end_with(verdicts::Failed& failed) {
    // The text of the code has been cut already, perhaps at a smaller limit. A client's reason is as long as a payload.
    failed.error = with_storable_text(std::move(failed.error), kMaxErrorTextBytes);
    out_.error = failed.error;
    if (const auto& parent = facts_.parent()) {
      tell_parent(messages::SubOrchestrationFailed{parent->schedule_id, failed.error, parent->incarnation});
    }
    append(events::OrchestrationFailed{std::move(failed.error)});
  }
  void end_with(verdicts::ContinuedAsNew& next) {
    out_.output = next.input;
    if (planted(PlantedFault::kStatusLostAtContinueAsNew)) next.custom_status.reset();
    const bool orphaned = planted(PlantedFault::kParentLostAtContinueAsNew);
    out_.messages.push_back(
        {end_.instance, std::nullopt, std::nullopt,
         messages::ContinueAsNew{facts_.name(), next.version, next.input, orphaned ? std::nullopt : facts_.parent(),
                                 std::move(next.carry_forward), std::move(next.custom_status)}});
    append(events::OrchestrationContinuedAsNew{std::move(next.input), next.version});
  }
  void tell_parent(MessageBody body) {
    const ParentLink& parent = *facts_.parent();
    out_.messages.push_back({parent.instance, parent.execution_id, std::nullopt, std::move(body)});
  }
  [[nodiscard]] CancelReason activity_reason() const {
    switch (out_.status) {
      case ExecutionStatus::kCompleted:
        return CancelReason::kOrchestrationTerminalCompleted;
      case ExecutionStatus::kContinuedAsNew:
        return CancelReason::kOrchestrationTerminalContinuedAsNew;
      default:
        return CancelReason::kOrchestrationTerminalFailed;
    }
  }
  [[nodiscard]] std::string_view child_reason() const {
    switch (out_.status) {
      case ExecutionStatus::kCompleted:
        return "parent completed";
      case ExecutionStatus::kContinuedAsNew:
        return "parent continued as new";
      case ExecutionStatus::kCancelled:
        return "parent cancelled";
      case ExecutionStatus::kTerminated:
        return "parent terminated";
      default:
        return "parent failed";
    }
  }

  TurnEnd end_;
  HistoryFacts& facts_;
  TurnNumber turn_ = 0;
  EventId first_new_id_ = 0;
  std::size_t decisions_begin_ = 0;
  std::size_t decisions_end_ = 0;
  std::vector<Message> cancels_;
  TurnOutcome out_;
};

}  // namespace

TurnOutcome close_turn(TurnEnd end, HistoryFacts& facts) {
  return Closing(std::move(end), facts).run();
}

TurnOutcome end_without_code(const EndWithoutCode& request, HistoryFacts& facts) {
  const auto start = find_start(request.messages);
  Intake intake = take_in(
      {request.messages, request.execution, request.incarnation, start ? start->version : std::nullopt, request.now},
      facts);
  TurnEnd end;
  end.instance = request.instance;
  end.execution = request.execution;
  end.incarnation = request.incarnation;
  end.now = request.now;
  end.verdict = verdicts::Failed{request.error};
  end.inputs = std::move(intake.inputs);
  end.ignored = std::move(intake.ignored);
  end.replies = std::move(intake.replies);
  return close_turn(std::move(end), facts);
}

}  // namespace perdure
