#include "client/lost_rows.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <perdure/event.h>
#include "model/event_codec.h"
#include "model/time_range.h"

namespace perdure {

namespace {

// Returns the events of an execution, none if one is damaged, which has other reports. Returns std::nullopt if the
// store cannot say.
std::optional<std::vector<Event>> read_events_of(ProviderAdmin& admin, const std::string& instance,
                                                 ExecutionId execution) {
  const auto history = admin.read_history(instance, execution);
  if (!history) return std::nullopt;
  std::vector<Event> events;
  events.reserve(history->size());
  for (const EventRecord& record : *history) {
    try {
      events.push_back(decode_event(record));
    } catch (const DecodeError&) {
      return std::vector<Event>();
    }
  }
  return events;
}

// The names of activities that were scheduled and neither ended nor were cancelled, by their ids.
std::map<EventId, std::string> open_activities(const std::vector<Event>& events) {
  std::map<EventId, std::string> open;
  for (const Event& event : events) {
    if (const auto* scheduled = std::get_if<events::ActivityScheduled>(&event.body)) {
      open.emplace(event.id, scheduled->name);
    } else if (const auto* completed = std::get_if<events::ActivityCompleted>(&event.body)) {
      open.erase(completed->source);
    } else if (const auto* failed = std::get_if<events::ActivityFailed>(&event.body)) {
      open.erase(failed->source);
    } else if (const auto* cancelled = std::get_if<events::ActivityCancelRequested>(&event.body)) {
      open.erase(cancelled->source);
    }
  }
  return open;
}

// Removes those that the worker queue has. Returns false if the store cannot say.
bool remove_queued(ProviderAdmin& admin, const InstanceInfo& instance, std::map<EventId, std::string>& open) {
  ActivityQuery query;
  query.instance = instance.id;
  do {
    const auto page = admin.list_activities(query);
    if (!page) return false;
    for (const QueuedActivity& activity : page->activities) {
      if (activity.execution == instance.execution_id) open.erase(activity.activity_id);
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return true;
}

// Whether a timer is to fire after 9999.
bool has_endless_timer(const std::vector<Event>& events) {
  return std::any_of(events.begin(), events.end(), [](const Event& event) {
    const auto* created = std::get_if<events::TimerCreated>(&event.body);
    return created != nullptr && created->fire_at > kLastTime;
  });
}

// The message of a timer stays in the queue when its future is dropped, and when its execution continues as new.
// Returns true if executions were pruned.
bool may_have_endless_timer(ProviderAdmin& admin, const InstanceInfo& instance, const std::vector<Event>& events) {
  if (has_endless_timer(events)) return true;
  const auto executions = admin.list_executions(instance.id);
  if (!executions || executions->size() < instance.execution_id) return true;
  return std::any_of(executions->begin(), executions->end(), [&](ExecutionId execution) {
    if (execution == instance.execution_id) return false;
    const auto earlier = read_events_of(admin, instance.id, execution);
    return !earlier || has_endless_timer(*earlier);
  });
}

// Returns why a turn that is scheduled for a time after 9999 is a mistake, if it is: an orchestration may wait for an
// event next to a timer without end.
std::optional<std::string> reason_for_endless_delay(ProviderAdmin& admin, const InstanceInfo& instance,
                                                    const InstanceQueue& queue, const std::vector<Event>& events) {
  if (!queue.ready_at || *queue.ready_at <= kLastTime) return std::nullopt;
  if (!queue.first_message_at || *queue.first_message_at <= kLastTime) {
    return "its next turn is scheduled for a time after 9999, and no message is the cause; raise an event to "
           "reschedule "
           "it, or terminate the instance";
  }
  if (may_have_endless_timer(admin, instance, events)) return std::nullopt;
  return "its next message is queued for a time after 9999, although no timer is; terminate the instance, or restore "
         "the store from a backup";
}

// Returns the reason if the store has lost an activity. Completions move from the worker queue to the orchestrator
// queue and then into the history. A turn since `events` were read has left a longer history, and one that is to come
// has a visible message.
std::optional<std::string> reason_for_lost_activity(ProviderAdmin& admin, const InstanceInfo& instance,
                                                    const std::vector<Event>& events) {
  std::map<EventId, std::string> open = open_activities(events);
  if (open.empty() || !remove_queued(admin, instance, open) || open.empty()) return std::nullopt;
  const auto queue = admin.instance_queue(instance.id);
  if (!queue || queue->visible_messages > 0) return std::nullopt;
  const auto more = admin.read_history(instance.id, std::nullopt, events.back().id);
  const auto info = admin.instance_info(instance.id);
  if (!more || !more->empty() || !info || info->execution_id != instance.execution_id) return std::nullopt;
  return "activity '" + open.begin()->second + "' (" + std::to_string(open.begin()->first) +
         ") is not in the worker queue although the history has no completion for it; terminate the instance, or "
         "restore the store from a backup";
}

}  // namespace

std::optional<std::string> reason_for_endless_wait(ProviderAdmin& admin, const InstanceInfo& instance) {
  const auto queue = admin.instance_queue(instance.id);
  if (!queue || (queue->visible_messages > 0 && queue->ready_at <= kLastTime)) return std::nullopt;
  const auto events = read_events_of(admin, instance.id, instance.execution_id);
  if (!events) return std::nullopt;
  if (auto reason = reason_for_endless_delay(admin, instance, *queue, *events)) return reason;
  if (queue->visible_messages > 0) return std::nullopt;
  return reason_for_lost_activity(admin, instance, *events);
}

}  // namespace perdure
