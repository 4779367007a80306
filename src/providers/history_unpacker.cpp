#include "providers/history_unpacker.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "providers/event_packing.h"

namespace perdure {

namespace {

bool are_consecutive(std::span<const EventRecord> events, EventId first) {
  return std::all_of(events.begin(), events.end(),
                     [&first](const EventRecord& event) { return event.event_id == first++; });
}

}  // namespace

void HistoryUnpacker::add(EventId first, std::uint64_t count, std::string_view data) {
  if (damaged_) return;
  const std::size_t before = history_.events.size();
  const bool readable = unpack_events(data, history_.events);
  const std::span<const EventRecord> added = std::span(history_.events).subspan(before);
  damaged_ = !readable || added.empty() || added.size() != count || !are_consecutive(added, first) ||
             (next_ != 0 && first != next_);
  if (damaged_) {
    damaged_from_ = next_ != 0 ? next_ : first;
  } else {
    next_ = added.back().event_id + 1;
  }
}

StoredHistory HistoryUnpacker::finish(const std::string& instance, ExecutionId execution,
                                      std::optional<EventId> last) && {
  const EventId read = history_.events.empty() ? 0 : history_.events.back().event_id;
  if (!damaged_ && last && *last != read) {
    damaged_ = true;
    damaged_from_ = read + 1;
  }
  if (damaged_) {
    return {.events = {},
            .key_values = {},
            .error = "instance '" + instance + "', execution " + std::to_string(execution) +
                     ": the stored events from " + std::to_string(damaged_from_) + " on are corrupt"};
  }
  const auto behind = std::find_if(history_.events.begin(), history_.events.end(),
                                   [this](const EventRecord& event) { return event.event_id > after_; });
  history_.events.erase(history_.events.begin(), behind);
  return std::move(history_);
}

}  // namespace perdure
