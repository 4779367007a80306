// What a validation test says: expectations that throw ValidationFailure with the place and both values.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/provider_error.h>
#include <perdure/testing/provider_validation.h>
#include <perdure/types.h>

namespace perdure::testing {

[[noreturn]] void fail(std::string_view what, std::source_location where = std::source_location::current());

inline void expect(bool condition, std::string_view what,
                   std::source_location where = std::source_location::current()) {
  if (!condition) fail(what, where);
}

namespace detail {
template <class T>
std::string shown(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return "'" + std::string(std::string_view(value)) + "'";
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::same_as<T, Timestamp>) {
    return std::to_string(value.time_since_epoch().count()) + " ms";
  } else if constexpr (requires(std::ostream& out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    return value.has_value() ? shown(*value) : "nothing";
  } else if constexpr (requires {
                         value.begin();
                         value.end();
                       }) {
    std::string text = "[";
    for (const auto& element : value) text += (text.size() > 1 ? ", " : "") + shown(element);
    return text + "]";
  } else {
    return "a value that cannot be shown";
  }
}
}  // namespace detail

template <class Actual, class Expected>
void expect_equal(const Actual& actual, const Expected& expected, std::string_view what,
                  std::source_location where = std::source_location::current()) {
  if (actual == expected) return;
  fail(std::string(what) + ": expected " + detail::shown(expected) + ", got " + detail::shown(actual), where);
}

// The value of a call that must succeed.
template <class T>
T take(ProviderResult<T> result, std::source_location where = std::source_location::current()) {
  if (!result) fail("the call failed: " + result.error().to_string(), where);
  return std::move(result).value();
}

inline void take(const ProviderResult<void>& result, std::source_location where = std::source_location::current()) {
  if (!result) fail("the call failed: " + result.error().to_string(), where);
}

template <class T>
void expect_error(const ProviderResult<T>& result, ProviderErrorKind kind,
                  std::source_location where = std::source_location::current()) {
  if (result) fail("the call succeeded; expected the error '" + std::string(to_string(kind)) + "'", where);
  if (result.error().kind() != kind) {
    fail("expected the error '" + std::string(to_string(kind)) + "', got " + result.error().to_string(), where);
  }
  expect(!result.error().message().empty(), "the error says nothing", where);
}

}  // namespace perdure::testing
