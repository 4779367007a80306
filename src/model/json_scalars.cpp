// JSON text of scalars: numbers by <charconv>, strings that need no escape by a copy, other strings by nlohmann.
#include <perdure/detail/json_scalars.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "model/utf8.h"

namespace perdure::detail {

namespace {

// What it seems to be.
std::string_view kind_of(std::string_view json) noexcept {
  switch (json.front()) {
    case '"':
      return "a string";
    case '[':
      return "an array";
    case '{':
      return "an object";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return json.front() == '-' || (json.front() >= '0' && json.front() <= '9') ? "a number" : "something else";
  }
}

// Errors are logged, and payloads are not for logs: so the text itself is not quoted.
[[noreturn]] void fail(std::string_view expected, std::string_view json) {
  throw std::invalid_argument(
      "expected " + std::string(expected) +
      (json.empty() ? ", got nothing"
                    : ", got " + std::string(kind_of(json)) + " of " + std::to_string(json.size()) + " bytes"));
}

std::string_view trim(std::string_view json) noexcept {
  constexpr std::string_view kWhitespace = " \t\r\n";
  const std::size_t first = json.find_first_not_of(kWhitespace);
  if (first == std::string_view::npos) return {};
  return json.substr(first, json.find_last_not_of(kWhitespace) - first + 1);
}

bool needs_escape(std::string_view text) noexcept {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') return true;
  }
  return false;
}

std::size_t count_digits(std::string_view text) noexcept {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  return digits;
}

// The grammar of RFC 8259: -? (0 | [1-9][0-9]*) for an integer, which a number may follow with a fraction and exponent.
struct NumberShape {
  bool valid = false;
  bool integer = false;
};

NumberShape number_shape(std::string_view text) noexcept {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t whole = count_digits(text);
  if (whole == 0 || (whole > 1 && text[0] == '0')) return {};
  text.remove_prefix(whole);
  if (text.empty()) return {.valid = true, .integer = true};
  if (text.starts_with('.')) {
    const std::size_t fraction = count_digits(text.substr(1));
    if (fraction == 0) return {};
    text.remove_prefix(1 + fraction);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    const std::size_t exponent = count_digits(text);
    if (exponent == 0) return {};
    text.remove_prefix(exponent);
  }
  return {.valid = text.empty(), .integer = false};
}

template <class Number>
std::string number_to_json(Number value) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

// `text` has the shape of a number, so that the range is all that can be wrong.
template <class Number>
Number number_in_range(std::string_view text, std::string_view expected) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) fail(expected, text);
  return value;
}

}  // namespace

std::string json_from_string(std::string_view text) {
  if (const auto invalid = find_invalid_utf8(text)) {
    throw std::invalid_argument("a string must be UTF-8 to become JSON; byte " + std::to_string(*invalid) + " of " +
                                std::to_string(text.size()) + " is not");
  }
  if (needs_escape(text)) return nlohmann::json(text).dump();
  std::string json;
  json.reserve(text.size() + 2);
  json += '"';
  json += text;
  json += '"';
  return json;
}

std::string string_from_json(std::string_view json) {
  constexpr std::string_view kExpected = "a JSON string";
  const std::string_view text = trim(json);
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) fail(kExpected, text);
  const std::string_view content = text.substr(1, text.size() - 2);
  if (!needs_escape(content)) {
    if (find_invalid_utf8(content)) fail("a JSON string in UTF-8", text);
    return std::string(content);
  }
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_string()) fail(kExpected, text);
  return std::move(parsed.get_ref<std::string&>());
}

std::string json_from_integer(std::int64_t value) {
  return number_to_json(value);
}
std::string json_from_integer(std::uint64_t value) {
  return number_to_json(value);
}

std::int64_t int64_from_json(std::string_view json) {
  const std::string_view text = trim(json);
  if (!number_shape(text).integer) fail("a JSON integer", text);
  return number_in_range<std::int64_t>(text, "a JSON integer from -9223372036854775808 to 9223372036854775807");
}

std::uint64_t uint64_from_json(std::string_view json) {
  const std::string_view text = trim(json);
  if (!number_shape(text).integer) fail("a JSON integer", text);
  if (text == "-0") return 0;
  return number_in_range<std::uint64_t>(text, "a JSON integer from 0 to 18446744073709551615");
}

std::string json_from_double(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("JSON has no NaN and no infinity: a double must be finite");
  return number_to_json(value);
}

double double_from_json(std::string_view json) {
  const std::string_view text = trim(json);
  if (!number_shape(text).valid) fail("a JSON number", text);
  return number_in_range<double>(text, "a JSON number within the range of a double");
}

bool bool_from_json(std::string_view json) {
  const std::string_view text = trim(json);
  if (text != "true" && text != "false") fail("a JSON boolean", text);
  return text == "true";
}

}  // namespace perdure::detail
