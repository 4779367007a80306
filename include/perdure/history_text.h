// A whole history as one text file: for people, for tests that keep recorded histories in a repository, for export and
// import. docs/format.md has the fields of the bodies.
//
//   perdure history 1
//   # a comment, before any event
//   event 1 OrchestrationStarted turn 1 time 1700000000000 bytes 27
//   1 0.1.0
//   name:5:Order
//
//   event 2 …
//
// After each event line come exactly that many bytes of body and a newline, so a file must not be reformatted: no
// conversion of line ends, no trimming. A body with control characters or bytes that are not UTF-8 has the word
// `escaped` in place of `bytes`: these bytes are \x1b in it, a backslash is two, and the number counts the escaped
// text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/event.h>

namespace perdure {

[[nodiscard]] std::string write_history_text(std::span<const Event> events);

// Throws std::runtime_error: "line 3: event 1 (OrchestrationStarted): field 'name' is missing". It does not judge the
// order of the events: replay does.
[[nodiscard]] std::vector<Event> read_history_text(std::string_view text);

}  // namespace perdure
