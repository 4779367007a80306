#include "runtime/turn_counts.h"

#include <algorithm>
#include <variant>

namespace perdure::runtime {

TurnCounts count_turn(const TurnOutcome& outcome, Timestamp now) {
  TurnCounts counts;
  for (const Event& event : outcome.events) {
    if (const auto* activity = std::get_if<events::ActivityScheduled>(&event.body)) {
      counts.activities.push_back(activity->name);
    } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
      counts.children.push_back(child->name);
    } else if (const auto* fired = std::get_if<events::TimerFired>(&event.body)) {
      // Code may ask for the first Timestamp there is, and the difference would overflow: nothing was due before 1970.
      const Timestamp due = std::min(std::max(fired->fire_at, Timestamp()), now);
      counts.fired.push_back(now - due);
    } else if (std::holds_alternative<events::TimerCreated>(event.body)) {
      ++counts.timers;
    } else if (std::holds_alternative<events::ExternalEvent>(event.body)) {
      ++counts.events;
    } else if (std::holds_alternative<events::QueueEventDelivered>(event.body)) {
      ++counts.queue_messages;
    }
  }
  counts.retried = outcome.retried;
  counts.ignored.reserve(outcome.ignored.size());
  for (const IgnoredMessage& message : outcome.ignored) counts.ignored.push_back(message.reason);
  return counts;
}

}  // namespace perdure::runtime
