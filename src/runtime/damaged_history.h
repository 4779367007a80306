// What can still be learned from a stored history of which some records cannot be read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/types.h>

namespace perdure::runtime {

// As much of it as can be read, in front of the first record that cannot.
[[nodiscard]] std::vector<Event> readable_front(const StoredHistory& history);

// From its start, if that can be read.
[[nodiscard]] std::optional<ParentLink> recorded_parent(const StoredHistory& history);

// Children that records from `first` on tell of, and of no end of theirs: whatever else is lost, these can be told to
// stop.
[[nodiscard]] std::vector<std::string> open_children_from(const StoredHistory& history, EventId first);

}  // namespace perdure::runtime
