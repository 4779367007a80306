#include "client/lost_rows.h"

#include <map>
#include <utility>
#include <vector>

#include <perdure/event.h>
#include "model/event_codec.h"
#include "model/time_range.h"

namespace perdure {

namespace {

// Returns the events that can be read; a history with damage has other reports.
std::vector<Event> read_events_of(ProviderAdmin& admin, const std::string& instance, ExecutionId execution) {
  std::vector<Event> events;
  const auto history = admin.read_history(instance, execution);
  if (!history) return events;
  events.reserve(history->size());
  for (const EventRecord& record : *history) {
    try {
      events.push_back(decode_event(record));
    } catch (const DecodeError&) {
      return {};
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

}  // namespace

std::optional<std::string> reason_for_endless_wait(ProviderAdmin& admin, const InstanceInfo& instance) {
  const auto queue = admin.instance_queue(instance.id);
  if (!queue) return std::nullopt;
  if (queue->ready_at && !is_within_range(*queue->ready_at)) {
    return "its next turn is scheduled for a time outside 1970 to 9999; raise an event to reschedule it, or terminate "
           "the instance";
  }
  if (queue->messages > 0) return std::nullopt;
  const std::vector<Event> events = read_events_of(admin, instance.id, instance.execution_id);
  std::map<EventId, std::string> open = open_activities(events);
  if (open.empty() || !remove_queued(admin, instance, open) || open.empty()) return std::nullopt;
  // Completions move from the worker queue to the orchestrator queue and then into the history: a turn since then has
  // left a longer history, and one that is to come has a message.
  const auto later = admin.instance_queue(instance.id);
  if (!later || later->messages > 0) return std::nullopt;
  const auto more = admin.read_history(instance.id, std::nullopt, events.back().id);
  const auto info = admin.instance_info(instance.id);
  if (!more || !more->empty() || !info || info->execution_id != instance.execution_id) return std::nullopt;
  return "activity '" + open.begin()->second + "' (" + std::to_string(open.begin()->first) +
         ") is not in the worker queue although the history has no completion for it; terminate the instance, or "
         "restore the store from a backup";
}

}  // namespace perdure
