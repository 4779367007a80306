// Where and how a history is damaged.
#include "support/history_damage.h"

#include <algorithm>
#include <utility>

namespace perdure::test {

namespace {

// The last turn of an execution that did not end by itself is not compared: its code may not have run.
bool is_compared(const std::vector<Event>& turn) {
  return std::none_of(turn.begin(), turn.end(), [](const Event& event) {
    const auto* failed = std::get_if<events::OrchestrationFailed>(&event.body);
    const auto* error = failed ? std::get_if<ApplicationError>(&failed->error) : nullptr;
    return failed && !(error && (error->kind == ApplicationErrorKind::kOrchestrationFailed ||
                                 error->kind == ApplicationErrorKind::kPanicked));
  });
}

// What the code itself did: decisions, drops, its end. Missing or changed, it must be noticed.
bool is_done_by_code(const Event& event) {
  if (classify(event.body) == EventClass::kDecision || classify(event.body) == EventClass::kTerminal) return true;
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.reason == CancelReason::kDroppedFuture; }) {
          return body.reason == CancelReason::kDroppedFuture;
        }
        return false;
      },
      event.body);
}

// Another value in a place that is compared.
bool alter(EventBody& body) {
  return std::visit(
      [](auto& event) {
        using Body = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<Body, events::ActivityScheduled> ||
                      std::is_same_v<Body, events::SubOrchestrationScheduled> ||
                      std::is_same_v<Body, events::OrchestrationContinuedAsNew>) {
          event.input = event.input.value_or("") + "x";
        } else if constexpr (std::is_same_v<Body, events::OrchestrationChained>) {
          event.instance += "x";
        } else if constexpr (std::is_same_v<Body, events::ExternalSubscribed>) {
          event.name += "x";
        } else if constexpr (std::is_same_v<Body, events::QueueSubscribed>) {
          event.queue += "x";
        } else if constexpr (std::is_same_v<Body, events::KeyValueSet>) {
          event.value += "x";
        } else if constexpr (std::is_same_v<Body, events::KeyValueCleared>) {
          event.key += "x";
        } else if constexpr (std::is_same_v<Body, events::OrchestrationCompleted>) {
          event.output = "\"x\"";
        } else if constexpr (std::is_same_v<Body, events::ValueRecorded>) {
          event.kind = event.kind == RecordedValueKind::kGuid ? RecordedValueKind::kRandom : RecordedValueKind::kGuid;
        } else {
          return false;
        }
        return true;
      },
      body);
}

// The breadcrumb of a dropped future, for an event that schedules an operation which can have one.
std::optional<EventBody> drop_of(const Event& event) {
  constexpr auto kReason = CancelReason::kDroppedFuture;
  if (std::holds_alternative<events::ActivityScheduled>(event.body)) {
    return events::ActivityCancelRequested{event.id, kReason};
  }
  if (std::holds_alternative<events::SubOrchestrationScheduled>(event.body)) {
    return events::SubOrchestrationCancelRequested{event.id, kReason};
  }
  if (std::holds_alternative<events::ExternalSubscribed>(event.body)) {
    return events::ExternalSubscriptionCancelled{event.id, kReason};
  }
  if (std::holds_alternative<events::QueueSubscribed>(event.body)) {
    return events::QueueSubscriptionCancelled{event.id, kReason};
  }
  return std::nullopt;
}

std::string describe_event(const Event& event) {
  return std::to_string(event.id) + " " + summarize(event.body);
}

// The history up to the end of a turn, with something in it that the code did not do: a decision, or the drop of a
// future that it kept.
std::optional<Damage> with_invention(const std::vector<Event>& history, Dice& dice) {
  const std::size_t somewhere = dice.below(history.size());
  const Event& last = history[somewhere];
  std::vector<Event> cut;
  for (const Event& event : history) {
    if (event.turn <= last.turn) cut.push_back(event);
  }
  std::vector<EventBody> inventions{events::KeyValuesCleared{}};
  for (const Event& event : cut) {
    if (classify(event.body) == EventClass::kTerminal) return std::nullopt;
    if (auto drop = drop_of(event)) inventions.push_back(*drop);
  }
  std::erase_if(inventions, [&](const EventBody& drop) {
    return classify(drop) == EventClass::kBreadcrumb &&
           std::any_of(cut.begin(), cut.end(), [&](const Event& event) { return event.body == drop; });
  });
  Event invented = cut.back();
  ++invented.id;
  invented.body = inventions[dice.below(inventions.size())];
  cut.push_back(invented);
  return Damage{"added " + describe_event(invented), std::move(cut)};
}

}  // namespace

std::optional<Damage> damaged(const std::vector<Event>& history, Dice& dice) {
  if (dice.chance(30)) {
    if (auto damage = with_invention(history, dice)) return damage;
  }
  std::vector<std::size_t> candidates;
  for (std::size_t first = 0; first < history.size();) {
    const auto end = std::find_if(history.begin() + static_cast<std::ptrdiff_t>(first), history.end(),
                                  [&](const Event& event) { return event.turn != history[first].turn; });
    const auto last = static_cast<std::size_t>(end - history.begin());
    const std::vector<Event> turn(history.begin() + static_cast<std::ptrdiff_t>(first), end);
    for (std::size_t i = first; i < last && is_compared(turn); ++i) {
      if (is_done_by_code(history[i])) candidates.push_back(i);
    }
    first = last;
  }
  if (candidates.empty()) return std::nullopt;
  const std::size_t chosen = candidates[dice.below(candidates.size())];
  if (dice.chance(50)) {
    Damage damage{"altered " + describe_event(history[chosen]), history};
    if (alter(damage.history[chosen].body)) return damage;
  }
  // The last turn is cut in the middle, which no commit can do.
  return Damage{"cut before " + describe_event(history[chosen]),
                {history.begin(), history.begin() + static_cast<std::ptrdiff_t>(chosen)}};
}

}  // namespace perdure::test
