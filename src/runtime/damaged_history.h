// What can still be learned from a stored history of which some records cannot be read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/types.h>

namespace perdure::runtime {

// As much of it as can be read, in front of the first record that cannot.
[[nodiscard]] std::vector<Event> readable_front(const StoredHistory& history);

// Returns the children that records from `first` on scheduled and did not complete, by the event that scheduled them.
// They can be cancelled even if the rest of the history is lost.
[[nodiscard]] std::map<EventId, std::string> open_children_from(const StoredHistory& history, EventId first);

}  // namespace perdure::runtime
