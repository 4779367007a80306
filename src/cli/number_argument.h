// Numbers that users write.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

namespace perdure::cli {

// For ->check(). CLI11's own takes -1 for a very large number.
[[nodiscard]] inline CLI::Validator at_least(std::uint64_t least) {
  const auto check = [least](const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && value >= least) return std::string();
    return "'" + text + "' is not a whole number of at least " + std::to_string(least);
  };
  return CLI::Validator(check, "NUMBER");
}

}  // namespace perdure::cli
