#include "runtime/ending_turn.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "replay/history_facts.h"
#include "replay/intake.h"
#include "replay/turn_end.h"
#include "runtime/damaged_history.h"
#include "runtime/foreign_messages.h"

namespace perdure::runtime {

namespace {

constexpr std::string_view kParentCannotGoOn = "the history of the parent is corrupt";

// Whether the messages begin an execution. A later execution begins with its continuation only: a start beside it
// comes from another sender.
bool begins(const std::vector<Message>& messages, bool later) {
  return std::any_of(messages.begin(), messages.end(), [later](const Message& message) {
    return std::holds_alternative<messages::ContinueAsNew>(message.body) ||
           (!later && std::holds_alternative<messages::StartOrchestration>(message.body));
  });
}

// Any lost event may have scheduled an activity. The store ignores the ids that are not activities.
void cancel_lost_work(const EndingTurn& turn, EventId first_lost, TurnOutcome& outcome) {
  for (EventId id = first_lost; id <= turn.item.last_event_id; ++id) outcome.cancelled_activities.push_back(id);
  for (const auto& [id, child] : open_children_from(turn.stored, first_lost)) {
    const ParentLink link{turn.item.instance, turn.execution, id, turn.incarnation};
    outcome.messages.push_back(
        {child, std::nullopt, std::nullopt, messages::CancelInstance{std::string(kParentCannotGoOn), link}});
  }
}

// Refuses child starts that ask for the id of this instance, so that their parents do not wait for ever.
std::vector<Message> refusals_of(const EndingTurn& turn) {
  std::vector<Message> refusals;
  for (const Message& message : turn.messages) {
    if (auto refusal = refusal_of(message, turn.link)) refusals.push_back(std::move(*refusal));
  }
  return refusals;
}

// The messages that a turn after a damaged history discards, because it can record none. A cancel or terminate request
// is not among them: the turn ends the execution as requested.
std::vector<IgnoredMessage> discarded_messages(const EndingTurn& turn) {
  std::vector<IgnoredMessage> discarded;
  for (const Message& message : turn.messages) {
    IgnoreReason reason = IgnoreReason::kExecutionEnded;
    if (has_foreign_link(message, turn.link, turn.incarnation)) {
      reason = IgnoreReason::kForeignLink;
    } else if (std::holds_alternative<messages::StartOrchestration>(message.body)) {
      reason = IgnoreReason::kAlreadyStarted;
    } else if (std::holds_alternative<messages::CancelInstance>(message.body) ||
               std::holds_alternative<messages::TerminateInstance>(message.body)) {
      continue;
    }
    discarded.push_back({.what = std::string(kind_name(message.body)), .reason = reason});
  }
  return discarded;
}

}  // namespace

void add_end_requests(OrchestrationItem& item, DecodedMessages& decoded) {
  OrchestrationItem ends;
  ends.instance = item.instance;
  ends.metadata = item.metadata;
  ends.incarnation = item.incarnation;
  ends.messages = std::exchange(item.end_requests, {});
  DecodedMessages more = decode_messages_of(ends, link_of(item));
  std::erase_if(ends.messages, [&](const QueuedMessage& message) {
    return std::any_of(more.undecodable.begin(), more.undecodable.end(),
                       [&](const UndecodableMessage& each) { return each.id == message.id; });
  });
  std::move(ends.messages.begin(), ends.messages.end(), std::back_inserter(item.messages));
  std::move(more.messages.begin(), more.messages.end(), std::back_inserter(decoded.messages));
}

std::optional<ErrorDetails> requested_end(const std::vector<Message>& messages, const std::optional<ParentLink>& link) {
  std::optional<ErrorDetails> end;
  for (const Message& message : messages) {
    if (const auto* terminate = std::get_if<messages::TerminateInstance>(&message.body)) {
      return ApplicationError{ApplicationErrorKind::kTerminated, terminate->reason, false};
    }
    const auto* cancel = std::get_if<messages::CancelInstance>(&message.body);
    if (cancel && !end && !is_foreign(*cancel, link))
      end = ApplicationError{ApplicationErrorKind::kCancelled, cancel->reason, false};
  }
  return end;
}

TurnOutcome end_turn(EndingTurn turn, ErrorDetails error) {
  const OrchestrationItem& item = turn.item;
  std::vector<Event> known;
  if (!turn.begins_next) known = turn.history.error ? readable_front(turn.stored) : std::move(turn.history.events);
  HistoryFacts facts;
  bool damaged = turn.history.error.has_value();
  for (const Event& event : known) {
    if (facts.problem_with(event)) {
      damaged = true;
      break;
    }
    facts.record(event);
  }
  const EventId first_lost = facts.next_event_id();
  std::vector<Message> refusals;
  std::vector<IgnoredMessage> discarded;
  if (damaged) {
    refusals = refusals_of(turn);
    discarded = discarded_messages(turn);
    const TurnNumber last_turn = turn.stored.events.empty() ? 0 : turn.stored.events.back().turn;
    facts.stop_at_damage(
        Event{.id = item.last_event_id, .turn = last_turn, .time = {}, .engine_version = {}, .body = {}});
    turn.messages.clear();  // nothing but the end can be written behind damage
  } else if (turn.start_is_unreadable || (!facts.started() && !begins(turn.messages, turn.begins_next))) {
    // The start is lost or cannot be decoded. A start made of the known facts takes its place.
    turn.messages.insert(turn.messages.begin(),
                         Message{item.instance, std::nullopt, std::nullopt,
                                 messages::StartOrchestration{turn.name, std::nullopt, std::nullopt, turn.link}});
  }
  TurnOutcome outcome = end_without_code({.instance = item.instance,
                                          .execution = turn.execution,
                                          .incarnation = turn.incarnation,
                                          .now = turn.now,
                                          .messages = std::move(turn.messages),
                                          .error = std::move(error)},
                                         facts);
  if (!damaged) return outcome;
  std::move(discarded.begin(), discarded.end(), std::back_inserter(outcome.ignored));
  cancel_lost_work(turn, first_lost, outcome);
  if (turn.link && !facts.parent()) {
    outcome.messages.push_back(
        {turn.link->instance, turn.link->execution_id, std::nullopt,
         messages::SubOrchestrationFailed{turn.link->schedule_id, *outcome.error, turn.link->incarnation}});
  }
  std::move(refusals.begin(), refusals.end(), std::back_inserter(outcome.messages));
  return outcome;
}

}  // namespace perdure::runtime
