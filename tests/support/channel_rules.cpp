// The account of events, queue messages and races.
#include <algorithm>
#include <iterator>

#include "support/turn_rules.h"

namespace perdure::test {

namespace {

// Payloads of the tests are JSON strings without escapes.
std::string unquoted(const Payload& data) {
  return data && data->size() >= 2 ? data->substr(1, data->size() - 2) : std::string();
}

// Messages are numbered in the order in which they were sent.
unsigned long number_of(const std::string& message) {
  return std::stoul(message.substr(1));
}

bool was_ignored(const TurnOutcome& outcome, const Event& event) {
  return std::any_of(outcome.ignored.begin(), outcome.ignored.end(), [&](const IgnoredMessage& ignored) {
    return ignored.reason == IgnoreReason::kNobodyWaits && ignored.event_id == event.id;
  });
}

}  // namespace

Broken ChannelRules::check(const TurnOutcome& outcome, const Observations& seen) {
  if (seen.went_on_after_its_end) return "the code went on after continue_as_new";
  if (auto broken = check_events(outcome, seen)) return broken;
  if (auto broken = check_joins(outcome, seen)) return broken;
  return check_queues(outcome, seen);
}

Broken ChannelRules::check_joins(const TurnOutcome& outcome, const Observations& seen) {
  for (const Event& event : outcome.events) {
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.source; } && !requires { body.reason; }) settled_.insert(body.source);
        },
        event.body);
  }
  for (; joined_seen_ < seen.joined.size(); ++joined_seen_) {
    const EventId part = seen.joined[joined_seen_];
    if (!settled_.contains(part)) return "a join is over, but its part " + std::to_string(part) + " is not";
  }
  return std::nullopt;
}

// ---- events -------------------------------------------------------------------------------------------------------

Broken ChannelRules::check_events(const TurnOutcome& outcome, const Observations& seen) {
  if (ended_without_code(outcome.events)) return std::nullopt;
  std::map<std::string, std::vector<Arrival>> arrivals;
  std::set<std::string> dropped;
  std::set<EventId> dropped_ids;
  for (const Event& event : outcome.events) {
    if (const auto* raised = std::get_if<events::ExternalEvent>(&event.body)) {
      arrivals[raised->name].push_back(
          {unquoted(raised->data), !was_ignored(outcome, event), event.id == outcome.events.front().id});
    } else if (const auto* wait = std::get_if<events::ExternalSubscribed>(&event.body)) {
      open_waits_[wait->name].insert(event.id);
      wait_names_[event.id] = wait->name;
    } else if (const auto* crumb = std::get_if<events::ExternalSubscriptionCancelled>(&event.body)) {
      if (crumb->reason != CancelReason::kDroppedFuture) continue;
      dropped.insert(wait_names_[crumb->source]);
      dropped_ids.insert(crumb->source);
    }
  }
  // Code that has ended waits for nothing; and a wait of this turn may have come behind the event.
  const bool running = outcome.status == ExecutionStatus::kRunning;
  waited_before_ = running && !outcome.events.empty() ? outcome.events.front().id : 0;
  for (const auto& [name, raised] : arrivals) {
    if (auto broken = give(name, raised, dropped.contains(name))) return broken;
  }
  for (const EventId id : dropped_ids) {
    if (open_waits_[wait_names_[id]].erase(id) == 0 && !unknown_.contains(wait_names_[id])) {
      return "wait " + std::to_string(id) + " was dropped although it had received its event";
    }
  }
  for (const auto& [id, value] : seen.events) {
    const auto expected = expected_.find(id);
    if (expected == expected_.end() ? !unknown_.contains(wait_names_[id]) : expected->second != value) {
      return "wait " + std::to_string(id) + " received " + value + ", which was not meant for it";
    }
  }
  return std::nullopt;
}

// The i-th event that was taken goes to the i-th open wait. If waits were dropped in the same turn, only the first
// event of the batch is certain.
Broken ChannelRules::give(const std::string& name, const std::vector<Arrival>& arrivals, bool dropped) {
  auto& open = open_waits_[name];
  for (const Arrival& arrival : arrivals) {
    if (unknown_.contains(name)) return std::nullopt;
    if (dropped && !arrival.first_input) {
      unknown_.insert(name);
      continue;
    }
    if (arrival.taken) {
      if (open.empty()) return "event " + arrival.data + " of '" + name + "' was taken although nobody waits";
      expected_[*open.begin()] = arrival.data;
      open.erase(open.begin());
    } else if (!open.empty() && *open.begin() < waited_before_) {
      return "event " + arrival.data + " of '" + name + "' was ignored although somebody waits";
    }
  }
  return std::nullopt;
}

// ---- queues -------------------------------------------------------------------------------------------------------

Broken ChannelRules::check_queues(const TurnOutcome& outcome, const Observations& seen) {
  std::map<std::string, int> unread;
  for (const Event& event : outcome.events) {
    if (const auto* message = std::get_if<events::QueueEventDelivered>(&event.body)) {
      delivered_.emplace_back(message->queue, unquoted(message->data));
    }
  }
  for (; reads_seen_ < seen.reads.size(); ++reads_seen_) {
    const auto& read = seen.reads[reads_seen_];
    const std::string queue = queue_name(read.queue);
    if (std::find(delivered_.begin(), delivered_.end(), std::pair(queue, read.message)) == delivered_.end()) {
      return "message " + read.message + " was read but not delivered to '" + queue + "'";
    }
    if (!read_.insert(read.message).second) return "message " + read.message + " was read twice";
    if (!read.first_in_line) continue;
    for (const auto& [other_queue, other] : delivered_) {
      if (other_queue == queue && !read_.contains(other) && number_of(other) < number_of(read.message)) {
        return "message " + read.message + " was read before " + other + ", which is older and unread";
      }
    }
  }
  for (const auto& [queue, message] : delivered_) {
    if (!read_.contains(message)) ++unread[queue];
  }
  if (outcome.status == ExecutionStatus::kContinuedAsNew) return check_carried(outcome);
  const auto* error = outcome.error ? std::get_if<ApplicationError>(&*outcome.error) : nullptr;
  if (error && error->kind == ApplicationErrorKind::kLimitExceeded && may_be_carried(this->unread())) {
    return "the unread messages could be carried, but: " + error->message;
  }
  if (outcome.status != ExecutionStatus::kRunning) return std::nullopt;
  for (std::size_t i = 0; i < kNames; ++i) {
    const int without_message = std::max(0, seen.queue_futures.at(i) - unread[queue_name(i)]);
    if (seen.queue_awaits.at(i) > without_message) {
      return "the code waits for '" + queue_name(i) + "', which has a message that nobody else holds";
    }
  }
  return std::nullopt;
}

ChannelRules::Unread ChannelRules::unread() const {
  Unread unread;
  std::copy_if(delivered_.begin(), delivered_.end(), std::back_inserter(unread),
               [&](const auto& each) { return !read_.contains(each.second); });
  return unread;
}

bool ChannelRules::may_be_carried(const Unread& unread) const {
  constexpr std::size_t kQuotes = 2;  // around the data, as it is stored
  std::size_t bytes = 0;
  for (const auto& [queue, data] : unread) bytes += queue.size() + data.size() + kQuotes;
  return bytes <= limits_.max_carry_forward_bytes && unread.size() <= limits_.max_carry_forward;
}

// What was delivered is what was read and what goes along, in order of arrival.
Broken ChannelRules::check_carried(const TurnOutcome& outcome) const {
  const Unread unread = this->unread();
  if (!may_be_carried(unread)) {
    return "continue-as-new carries " + std::to_string(unread.size()) + " messages, more than the limits allow";
  }
  for (const Message& message : outcome.messages) {
    const auto* next = std::get_if<messages::ContinueAsNew>(&message.body);
    if (!next) continue;
    std::vector<std::pair<std::string, std::string>> carried;
    for (const auto& each : next->carry_forward) carried.emplace_back(each.queue, unquoted(each.data));
    if (carried == unread) return std::nullopt;
    return "continue-as-new carries " + std::to_string(carried.size()) + " messages, but " +
           std::to_string(unread.size()) + " are unread";
  }
  return "continue-as-new without its message";
}

// ---- races --------------------------------------------------------------------------------------------------------

Broken check_selections(const std::vector<Event>& history, const Observations& seen) {
  std::map<EventId, EventId> settled;      // by source
  std::map<std::string, EventId> arrived;  // by value
  for (const Event& event : history) {
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.source; } && !requires { body.reason; }) settled.emplace(body.source, event.id);
          if constexpr (requires { body.data; }) arrived.emplace(unquoted(body.data), event.id);
        },
        event.body);
  }
  for (const auto& selection : seen.selections) {
    EventId won = 0;
    if (const auto found = settled.find(selection.parts[selection.winner]); found != settled.end()) won = found->second;
    if (const auto found = arrived.find(selection.value); won == 0 && found != arrived.end()) won = found->second;
    if (won == 0) continue;
    std::vector<EventId> others;
    for (const EventId part : selection.parts) {
      if (const auto other = settled.find(part); other != settled.end()) others.push_back(other->second);
    }
    for (const std::string& loser : selection.losers) {
      if (const auto other = arrived.find(loser); other != arrived.end()) others.push_back(other->second);
    }
    for (const EventId other : others) {
      if (other >= won) continue;
      return "part " + std::to_string(selection.winner) + " won a select by event " + std::to_string(won) +
             ", but another was done since event " + std::to_string(other);
    }
  }
  return std::nullopt;
}

}  // namespace perdure::test
