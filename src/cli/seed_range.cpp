#include "cli/seed_range.h"

#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

namespace perdure::cli {

namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("--seeds: '" + std::string(text) + "' is not a number; write 1..1000, or 42");
  }
  if (value == std::numeric_limits<std::uint64_t>::max()) {  // behind which there is none
    throw std::invalid_argument("--seeds: the largest is " + std::to_string(value - 1));
  }
  return value;
}

}  // namespace

SeedRange parse_seed_range(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) return {.first = number(text), .last = number(text)};
  const SeedRange range{.first = number(text.substr(0, dots)), .last = number(text.substr(dots + 2))};
  if (range.first > range.last) throw std::invalid_argument("--seeds: the first seed is greater than the last");
  return range;
}

}  // namespace perdure::cli
