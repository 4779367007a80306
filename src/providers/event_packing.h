// The events of one commit as one blob. For each event a line and its body:
//
//   <event id> <kind> <turn> <time in ms> <bytes of the body>\n<body>\n
//
// all numbers decimal. Readable in a database tool, and the lengths make any body safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/records.h>

namespace perdure {

[[nodiscard]] std::string pack_events(std::span<const EventRecord> events);

// Appends to `events`. False if the bytes are not what pack_events writes; then `events` has what came before.
[[nodiscard]] bool unpack_events(std::string_view data, std::vector<EventRecord>& events);

}  // namespace perdure
