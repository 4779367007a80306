// UTF-8, one code point at a time: for texts that must be valid (JSON) and for showing bytes that may not be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace perdure::detail {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // bytes that it takes; 0: the text does not start with valid UTF-8
};

// The code point at the start of `text`, which is not empty. Overlong forms, surrogates and values beyond U+10FFFF are
// invalid.
[[nodiscard]] CodePoint first_code_point(std::string_view text) noexcept;

// The offset of the first byte that is not part of valid UTF-8; nullopt if all are.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

// What ends a line somewhere, moves a terminal or makes text read as what it is not: control characters, line
// separators and direction overrides.
[[nodiscard]] constexpr bool is_control(char32_t value) noexcept {
  return value < 0x20 || (value >= 0x7F && value <= 0x9F) || (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

// Returns `text` with U+FFFD in place of every byte that is not part of valid UTF-8.
[[nodiscard]] std::string repaired_utf8(std::string_view text);

// The escape of a control: \n, \t, \r or \u001b. JSON reads it as that control.
[[nodiscard]] std::string control_escape(char32_t control);
// The escape of a byte that is not part of valid UTF-8: \xff.
[[nodiscard]] std::string byte_escape(char byte);

// `text` as one printable line: controls and invalid bytes are escaped. More than `limit` bytes are cut at a code point
// and end in "… (1234 bytes)".
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit);

}  // namespace perdure::detail
