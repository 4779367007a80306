// Makes arbitrary bytes safe to put into log lines, JSON strings and metric text.
#pragma once

#include <string>
#include <string_view>

// Every function takes any bytes and returns valid UTF-8: each byte that is not part of it becomes U+FFFD. "Control"
// means the control characters, the line separators and the direction overrides: what ends a line somewhere, moves a
// terminal or makes text read as what it is not.
namespace perdure::observe {

[[nodiscard]] std::string valid_utf8(std::string_view text);

// Controls become \n, \r, \t or \uxxxx; quotes and backslashes stay.
[[nodiscard]] std::string escape_controls(std::string_view text);

// The inside of a JSON string literal: as escape_controls, and quotes and backslashes escaped too.
[[nodiscard]] std::string escape_json(std::string_view text);

}  // namespace perdure::observe
