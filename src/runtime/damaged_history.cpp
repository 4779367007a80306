#include "runtime/damaged_history.h"

#include <optional>
#include <variant>

#include "model/decode_error.h"
#include "model/event_codec.h"

namespace perdure::runtime {

namespace {

std::optional<Event> readable(const EventRecord& record) {
  try {
    return decode_event(record);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Event> readable_front(const StoredHistory& history) {
  std::vector<Event> events;
  for (const EventRecord& record : history.events) {
    auto event = readable(record);
    if (!event) break;
    events.push_back(std::move(*event));
  }
  return events;
}

std::map<EventId, std::string> open_children_from(const StoredHistory& history, EventId first) {
  std::map<EventId, std::string> open;
  for (const EventRecord& record : history.events) {
    if (record.event_id < first) continue;
    const auto event = readable(record);
    if (!event) continue;
    if (const auto* scheduled = std::get_if<events::SubOrchestrationScheduled>(&event->body)) {
      open.emplace(event->id, scheduled->instance);
    } else if (const auto* completed = std::get_if<events::SubOrchestrationCompleted>(&event->body)) {
      open.erase(completed->source);
    } else if (const auto* failed = std::get_if<events::SubOrchestrationFailed>(&event->body)) {
      open.erase(failed->source);
    } else if (const auto* cancelled = std::get_if<events::SubOrchestrationCancelRequested>(&event->body)) {
      open.erase(cancelled->source);
    }
  }
  return open;
}

}  // namespace perdure::runtime
