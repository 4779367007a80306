// A whole history as one text file: for people, for tests, for export and import.
//
//   perdure history 1
//   # a comment, before any event
//   event 1 OrchestrationStarted turn 1 time 1700000000000 bytes 27
//   1 0.1.0
//   name:5:Order
//
//   event 2 …
//
// After each event line come exactly that many bytes of body (field_codec.h has their format) and a newline.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/event.h>
#include "model/decode_error.h"

namespace perdure {

[[nodiscard]] std::string write_history_text(std::span<const Event> events);

// Throws DecodeError: "line 3: event 1 (OrchestrationStarted): field 'name' is missing". Like decode_history, it does
// not judge the order of the events.
[[nodiscard]] std::vector<Event> read_history_text(std::string_view text);

}  // namespace perdure
