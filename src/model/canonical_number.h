// Decimal integers with one spelling each, as stored bodies and history files have them.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace perdure::detail {

// All of `text` as an integer; nullopt if it does not fit, or is not what std::to_chars writes ("+1", "01", "-0", "").
template <std::integral Integer>
[[nodiscard]] std::optional<Integer> parse_canonical(std::string_view text) noexcept {
  Integer value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  const std::string_view digits = text.substr(text.front() == '-' ? 1 : 0);
  const bool leading_zero = digits.front() == '0' && text.size() > 1;
  if (leading_zero) return std::nullopt;
  return value;
}

}  // namespace perdure::detail
