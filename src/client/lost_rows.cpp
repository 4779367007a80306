#include "client/lost_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
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

// Reading the history of every idle instance must not take long.
constexpr std::uint64_t kMostEvents = 10'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

// What an execution has scheduled that has no outcome, and that nobody cancelled, by the ids.
struct OpenWaits {
  std::map<EventId, std::string> activities;  // names
  std::map<EventId, std::string> children;    // instance ids
  std::map<EventId, Timestamp> timers;

  explicit OpenWaits(const std::vector<Event>& events) {
    for (const Event& event : events) {
      std::visit([&](const auto& body) { add(event.id, body); }, event.body);
    }
  }

 private:
  void add(EventId id, const events::ActivityScheduled& scheduled) { activities.emplace(id, scheduled.name); }
  void add(EventId /*id*/, const events::ActivityCompleted& completed) { activities.erase(completed.source); }
  void add(EventId /*id*/, const events::ActivityFailed& failed) { activities.erase(failed.source); }
  void add(EventId /*id*/, const events::ActivityCancelRequested& asked) { activities.erase(asked.source); }
  void add(EventId id, const events::SubOrchestrationScheduled& scheduled) { children.emplace(id, scheduled.instance); }
  void add(EventId /*id*/, const events::SubOrchestrationCompleted& completed) { children.erase(completed.source); }
  void add(EventId /*id*/, const events::SubOrchestrationFailed& failed) { children.erase(failed.source); }
  void add(EventId /*id*/, const events::SubOrchestrationCancelRequested& asked) { children.erase(asked.source); }
  void add(EventId id, const events::TimerCreated& created) { timers.emplace(id, created.fire_at); }
  void add(EventId /*id*/, const events::TimerFired& fired) { timers.erase(fired.source); }
  template <class Body>
  void add(EventId /*id*/, const Body& /*other*/) {}
};

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

constexpr const char* kRemedy = "; terminate the instance, or restore the store from a backup";

// Returns a child that neither exists nor will start, or that has ended, although no outcome of it is recorded. The
// queue is read first: a start that it no longer has was processed or refused before.
std::optional<std::string> lost_child(ProviderAdmin& admin, const InstanceInfo& parent,
                                      const std::map<EventId, std::string>& children) {
  for (const auto& [id, child] : children) {
    const auto queue = admin.instance_queue(child);
    if (!queue) return std::nullopt;
    const auto info = admin.instance_info(child);
    const std::string name = "child '" + child + "' (" + std::to_string(id) + ")";
    if (!info) {
      if (info.error().kind() != ProviderErrorKind::kNotFound || queue->ready_at) continue;
      return name + " neither exists nor has a queued start";
    }
    if (queue->messages > 0) continue;
    if (info->parent != parent.id) return name + " was neither started nor rejected";
    if (ends_instance(info->status)) return name + " has ended, but its outcome is not in the queue";
  }
  return std::nullopt;
}

std::optional<std::string> lost_timer(const InstanceQueue& queue, const std::map<EventId, Timestamp>& timers) {
  if (timers.empty()) return std::nullopt;
  const auto first = std::min_element(timers.begin(), timers.end(),
                                      [](const auto& one, const auto& other) { return one.second < other.second; });
  if (!queue.first_message_at || first->second < *queue.first_message_at) {
    return "timer (" + std::to_string(first->first) + ") has no message in the queue";
  }
  if (queue.messages >= timers.size()) return std::nullopt;
  std::string ids;
  for (const auto& [id, fire_at] : timers) ids += (ids.empty() ? "(" : ", (") + std::to_string(id) + ")";
  return "one of the timers " + ids + " has no message in the queue";
}

// Whether the instance is still what it was at the beginning of all reads. If not, they may have described different
// executions or incarnations.
bool is_still(Provider& store, const std::string& instance, const InstanceStatus& before) {
  const auto now = store.read_status(instance);
  return now && *now && (*now)->incarnation == before.incarnation && (*now)->execution_id == before.execution_id;
}

// Returns the reason if the store has lost what the execution waits for. Outcomes move from the worker queue, or from
// the child, to the orchestrator queue and then into the history. A turn since `events` were read has left a longer
// history, and one that is to come has a visible message.
std::optional<std::string> reason_for_lost_row(ProviderAdmin& admin, const InstanceInfo& instance,
                                               const std::vector<Event>& events) {
  OpenWaits open(events);
  std::optional<std::string> lost;
  if (!open.activities.empty() && remove_queued(admin, instance, open.activities) && !open.activities.empty()) {
    const auto& [id, name] = *open.activities.begin();
    lost = "activity '" + name + "' (" + std::to_string(id) + ") is not in the worker queue";
  }
  if (!lost) lost = lost_child(admin, instance, open.children);
  const auto queue = admin.instance_queue(instance.id);
  if (!queue || queue->visible_messages > 0) return std::nullopt;
  if (!lost) lost = lost_timer(*queue, open.timers);
  if (!lost) return std::nullopt;
  const auto more = admin.read_history(instance.id, std::nullopt, events.back().id);
  if (!more || !more->empty()) return std::nullopt;
  return *lost + " although the history has no outcome for it" + kRemedy;
}

bool is_short(Provider& store, const std::string& instance) {
  const auto stats = store.read_stats(instance);
  return stats && *stats && (*stats)->history_events <= kMostEvents && (*stats)->history_bytes <= kMostBytes;
}

bool is_endless(const std::optional<Timestamp>& time) {
  return time && *time > kLastTime;
}

}  // namespace

std::optional<std::string> reason_for_endless_delay(ProviderAdmin& admin, const std::string& instance) {
  const auto queue = admin.instance_queue(instance);
  if (!queue || !is_endless(queue->ready_at)) return std::nullopt;
  return std::string(
      "its next turn is scheduled for a time after 9999; raise an event to reschedule it, or delete the "
      "instance");
}

// An orchestration may wait for an event next to a timer without end.
std::optional<std::string> reason_for_endless_wait(Provider& store, ProviderAdmin& admin,
                                                   const InstanceInfo& instance) {
  const auto status = store.read_status(instance.id);
  if (!status || !*status || (*status)->execution_id != instance.execution_id) return std::nullopt;
  const auto queue = admin.instance_queue(instance.id);
  if (!queue) return std::nullopt;
  const bool is_late = is_endless(queue->ready_at);
  if (queue->visible_messages > 0 && !is_late) return std::nullopt;
  if (is_late && !is_endless(queue->first_message_at)) {
    return "its next turn is scheduled for a time after 9999, and no message is the cause; raise an event to "
           "reschedule it, or terminate the instance";
  }
  if (!is_short(store, instance.id)) return std::nullopt;
  const auto events = read_events_of(admin, instance.id, instance.execution_id);
  if (!events || events->empty()) return std::nullopt;
  std::optional<std::string> reason;
  if (is_late && !may_have_endless_timer(admin, instance, *events)) {
    reason = std::string("its next message is queued for a time after 9999, although no timer is") + kRemedy;
  } else if (queue->visible_messages == 0) {
    reason = reason_for_lost_row(admin, instance, *events);
  }
  if (reason && !is_still(store, instance.id, **status)) return std::nullopt;
  return reason;
}

}  // namespace perdure
