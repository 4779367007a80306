#include "providers/postgres/versions.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace perdure::postgres {

namespace {

constexpr std::size_t kDigits = 10;  // of the largest part

std::string padded(std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - digits.size(), '0') + digits;
}

}  // namespace

std::string sortable(const SemanticVersion& version) {
  return padded(version.major) + "." + padded(version.minor) + "." + padded(version.patch);
}

std::optional<std::string> sortable(const std::optional<SemanticVersion>& version) {
  if (!version) return std::nullopt;
  return sortable(*version);
}

std::optional<SemanticVersion> stored_version(const std::optional<std::string>& text) {
  if (!text || text->size() != 3 * kDigits + 2) return std::nullopt;
  std::array<std::uint32_t, 3> parts{};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::string_view digits = std::string_view(*text).substr(part * (kDigits + 1), kDigits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parts[part]);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  }
  return SemanticVersion{parts[0], parts[1], parts[2]};
}

}  // namespace perdure::postgres
