// Rules of turns: what may stand in a history, and what must leave with it.
#include "support/turn_rules.h"

#include <algorithm>

namespace perdure::test {

namespace {

std::string at(const Event& event) {
  return "event " + std::to_string(event.id) + " " + summarize(event.body) + ": ";
}

std::optional<EventId> settled_by(const EventBody& body) {
  if (const auto* e = std::get_if<events::ActivityCompleted>(&body)) return e->source;
  if (const auto* e = std::get_if<events::ActivityFailed>(&body)) return e->source;
  if (const auto* e = std::get_if<events::TimerFired>(&body)) return e->source;
  if (const auto* e = std::get_if<events::SubOrchestrationCompleted>(&body)) return e->source;
  if (const auto* e = std::get_if<events::SubOrchestrationFailed>(&body)) return e->source;
  return std::nullopt;
}

struct Breadcrumb {
  EventId source;
  CancelReason reason;
};
std::optional<Breadcrumb> breadcrumb(const EventBody& body) {
  return std::visit(
      [](const auto& event) -> std::optional<Breadcrumb> {
        if constexpr (requires { event.source, event.reason; }) return Breadcrumb{event.source, event.reason};
        return std::nullopt;
      },
      body);
}

// The place of an event in its turn: inputs, decisions, drops, open subscriptions, the end, activities in flight.
int phase_of(const EventBody& body) {
  switch (classify(body)) {
    case EventClass::kInput:
      return 0;
    case EventClass::kDecision:
      return 1;
    case EventClass::kTerminal:
      return 4;
    case EventClass::kBreadcrumb:
      break;
  }
  switch (breadcrumb(body)->reason) {
    case CancelReason::kDroppedFuture:
      return 2;
    case CancelReason::kOrchestrationTerminal:
      return 3;
    default:
      return 5;
  }
}

bool dropped_in(const std::vector<Event>& turn, EventId id) {
  return std::any_of(turn.begin(), turn.end(), [&](const Event& event) {
    const auto crumb = breadcrumb(event.body);
    return crumb && crumb->source == id;
  });
}

}  // namespace

bool ended_without_code(const std::vector<Event>& turn) {
  for (const Event& event : turn) {
    const auto* failed = std::get_if<events::OrchestrationFailed>(&event.body);
    if (!failed) continue;
    const auto* error = std::get_if<ApplicationError>(&failed->error);
    return !error || error->kind == ApplicationErrorKind::kTerminated ||
           error->kind == ApplicationErrorKind::kLimitExceeded || error->kind == ApplicationErrorKind::kMisuse;
  }
  return false;
}

Broken difference(const TurnOutcome& one, const TurnOutcome& other) {
  if (one.status != other.status) {
    return "status " + std::string(to_string(one.status)) + " against " + std::string(to_string(other.status));
  }
  for (std::size_t i = 0; i < std::max(one.events.size(), other.events.size()); ++i) {
    const bool both = i < one.events.size() && i < other.events.size();
    if (both && one.events[i] == other.events[i]) continue;
    const auto text = [i](const TurnOutcome& outcome) {
      return i < outcome.events.size() ? std::to_string(outcome.events[i].id) + " " + summarize(outcome.events[i].body)
                                       : std::string("(nothing)");
    };
    return "event " + text(one) + " against " + text(other);
  }
  if (one.messages != other.messages) return "messages";
  if (one.activities != other.activities) return "activities";
  if (one.cancelled_activities != other.cancelled_activities) return "cancelled activities";
  if (one.ignored != other.ignored) return "ignored messages";
  if (one.output != other.output || one.error != other.error) return "output";
  return std::nullopt;
}

Broken TurnRules::check(const TurnRequest& request, const TurnOutcome& outcome, bool has_parent) {
  const EventId first_new = history_.size() + kFirstEventId;
  if (auto broken = check_order(request, outcome)) return broken;
  if (auto broken = check_inputs(request, outcome)) return broken;
  if (auto broken = check_cancelled(outcome, first_new)) return broken;
  Sent sent;
  for (const Message& message : outcome.activities) {
    sent.activities.insert(std::get<messages::ExecuteActivity>(message.body).schedule_id);
  }
  for (const Message& message : outcome.messages) {
    if (const auto* timer = std::get_if<messages::TimerFired>(&message.body)) {
      sent.timers.insert(timer->schedule_id);
      if (message.visible_at != timer->fire_at) return "a timer's message is visible at another time than it fires";
    } else if (const auto* start = std::get_if<messages::StartOrchestration>(&message.body)) {
      if (start->parent) {
        sent.children.insert(start->parent->schedule_id);
      } else {
        sent.detached.insert(message.instance);
      }
    } else if (const auto* next = std::get_if<messages::ContinueAsNew>(&message.body)) {
      ++sent.continued;
      if (next->initial_custom_status != custom_status_) return "continue-as-new carries another custom status";
      if (next->parent.has_value() != has_parent) return "continue-as-new forgets the parent";
    } else if (std::holds_alternative<messages::CancelInstance>(message.body)) {
      if (auto broken = check_cancelled_child(message.instance, first_new)) return broken;
    } else {
      ++sent.to_parent;
    }
  }
  return check_sent(outcome, sent, has_parent);
}

Broken TurnRules::check_order(const TurnRequest& request, const TurnOutcome& outcome) {
  const TurnNumber turn = history_.empty() ? kFirstTurn : history_.back().turn + 1;
  int phase = 0;
  EventId last_source = 0;
  for (const Event& event : outcome.events) {
    if (event.id != history_.size() + kFirstEventId) return at(event) + "ids are not contiguous";
    if (event.turn != turn) return at(event) + "does not have the turn's number " + std::to_string(turn);
    if (event.time != request.now) return at(event) + "does not have the turn's time";
    const int its_phase = phase_of(event.body);
    if (its_phase < phase) return at(event) + "stands behind events that must follow it";
    const auto crumb = breadcrumb(event.body);
    // Open waits come before open dequeues, each ascending; the other groups ascend as a whole.
    if (crumb && its_phase == phase && its_phase != 3 && crumb->source <= last_source) {
      return at(event) + "breadcrumbs do not ascend";
    }
    last_source = crumb ? crumb->source : 0;
    phase = its_phase;
    if (auto broken = check_sources(event)) return broken;
    const auto* start = std::get_if<events::OrchestrationStarted>(&event.body);
    if (start) custom_status_ = start->initial_custom_status;
    const auto* status = std::get_if<events::CustomStatusUpdated>(&event.body);
    if (status) custom_status_ = status->status;
    history_.push_back(event);
  }
  const bool ended = std::any_of(outcome.events.begin(), outcome.events.end(),
                                 [](const Event& event) { return classify(event.body) == EventClass::kTerminal; });
  if (ended != (outcome.status != ExecutionStatus::kRunning)) return "the status does not agree with the events";
  return std::nullopt;
}

Broken TurnRules::check_sources(const Event& event) {
  if (const auto source = settled_by(event.body)) {
    if (*source >= event.id) return at(event) + "is the outcome of something later";
    if (!settled_.insert(*source).second) return at(event) + "is a second outcome";
  }
  if (const auto crumb = breadcrumb(event.body)) {
    if (crumb->source >= event.id) return at(event) + "cancels something later";
    if (!cancel_requested_.insert(crumb->source).second) return at(event) + "is a second cancellation";
    if (phase_of(event.body) == 5 && settled_.contains(crumb->source)) return at(event) + "cancels what is over";
  }
  return std::nullopt;
}

// Every event and queue message of the batch is in the history, in order.
Broken TurnRules::check_inputs(const TurnRequest& request, const TurnOutcome& outcome) const {
  if (outcome.events.empty()) return std::nullopt;
  std::vector<std::pair<std::string, Payload>> wanted;
  std::vector<std::pair<std::string, Payload>> found;
  if (const auto* start = std::get_if<events::OrchestrationStarted>(&outcome.events.front().body)) {
    for (const auto& carried : start->carry_forward) wanted.emplace_back("queue " + carried.queue, carried.data);
  }
  for (const Message& message : request.messages) {
    if (const auto* raised = std::get_if<messages::ExternalRaised>(&message.body)) {
      wanted.emplace_back("event " + raised->name, raised->data);
    } else if (const auto* queued = std::get_if<messages::QueueMessage>(&message.body)) {
      wanted.emplace_back("queue " + queued->queue, queued->data);
    }
  }
  for (const Event& event : outcome.events) {
    if (const auto* raised = std::get_if<events::ExternalEvent>(&event.body)) {
      found.emplace_back("event " + raised->name, raised->data);
    } else if (const auto* queued = std::get_if<events::QueueEventDelivered>(&event.body)) {
      found.emplace_back("queue " + queued->queue, queued->data);
    }
  }
  if (wanted != found) return "the events and queue messages of the batch are not those of the history";
  return std::nullopt;
}

Broken TurnRules::check_sent(const TurnOutcome& outcome, const Sent& sent, bool has_parent) const {
  const bool running = outcome.status == ExecutionStatus::kRunning;
  const bool continued = outcome.status == ExecutionStatus::kContinuedAsNew;
  std::multiset<std::string> detached;
  std::size_t activities = 0;
  std::size_t children = 0;
  std::size_t timers = 0;
  for (const Event& event : outcome.events) {
    if (const auto* start = std::get_if<events::OrchestrationChained>(&event.body)) detached.insert(start->instance);
    const bool withheld = dropped_in(outcome.events, event.id);
    const auto may_be_sent = [&](const std::set<EventId>& ids, std::size_t& count) -> Broken {
      if (ids.contains(event.id)) ++count;
      if (ids.contains(event.id) && withheld) return at(event) + "was sent although it was given up";
      if (!ids.contains(event.id) && running && !withheld) return at(event) + "was not sent";
      return std::nullopt;
    };
    Broken broken;
    if (std::holds_alternative<events::ActivityScheduled>(event.body))
      broken = may_be_sent(sent.activities, activities);
    if (std::holds_alternative<events::TimerCreated>(event.body)) broken = may_be_sent(sent.timers, timers);
    if (std::holds_alternative<events::SubOrchestrationScheduled>(event.body)) {
      broken = may_be_sent(sent.children, children);
    }
    if (broken) return broken;
  }
  if (activities != sent.activities.size() || children != sent.children.size() || timers != sent.timers.size()) {
    return "something was sent that this turn did not schedule";
  }
  if (activities != outcome.activities.size()) return "an activity was sent twice";
  if (detached != sent.detached) return "the detached starts that were sent are not those that were decided";
  if (sent.continued != (continued ? 1 : 0)) return "a continue-as-new sends its one message, and nothing else does";
  if (sent.to_parent != (has_parent && !running && !continued ? 1 : 0)) return "the parent is told once, at the end";
  return std::nullopt;
}

Broken TurnRules::check_cancelled_child(const std::string& child, EventId first_new) const {
  for (std::size_t i = 0; i + kFirstEventId < first_new; ++i) {
    const auto* scheduled = std::get_if<events::SubOrchestrationScheduled>(&history_[i].body);
    if (scheduled && scheduled->instance == child && !settled_.contains(history_[i].id)) return std::nullopt;
  }
  return "'" + child + "' is cancelled, which is no running child of an earlier turn";
}

Broken TurnRules::check_cancelled(const TurnOutcome& outcome, EventId first_new) const {
  for (std::size_t i = 0; i < outcome.cancelled_activities.size(); ++i) {
    const EventId id = outcome.cancelled_activities[i];
    const std::string what = "cancelled activity " + std::to_string(id) + ": ";
    if (id >= first_new) return what + "was not scheduled by an earlier turn";
    if (i > 0 && outcome.cancelled_activities[i - 1] >= id) return what + "out of order or twice";
    if (!std::holds_alternative<events::ActivityScheduled>(history_[id - kFirstEventId].body)) return what + "is none";
    if (settled_.contains(id)) return what + "is over";
    if (!dropped_in(outcome.events, id)) return what + "has no breadcrumb";
  }
  // And the other way round: what was given up, and is not over, is withdrawn.
  for (const Event& event : outcome.events) {
    const auto* crumb = std::get_if<events::ActivityCancelRequested>(&event.body);
    if (!crumb || crumb->source >= first_new || settled_.contains(crumb->source)) continue;
    const auto& ids = outcome.cancelled_activities;
    if (std::find(ids.begin(), ids.end(), crumb->source) == ids.end()) return at(event) + "was not withdrawn";
  }
  return std::nullopt;
}

}  // namespace perdure::test
