// Parsing and printing of versions, and the version that the build gives this engine.
#include <perdure/version.h>

#include <limits>
#include <stdexcept>

#ifndef PERDURE_VERSION
#error "PERDURE_VERSION is not defined: the build must pass the project's version, e.g. -DPERDURE_VERSION=\"0.1.0\""
#endif

namespace perdure {

namespace {

// Takes one canonical decimal number off the front of `rest`, so that every version has exactly one spelling.
struct NumberParse {
  std::optional<std::uint32_t> number;
  std::string_view rest;
};

constexpr NumberParse parse_number(std::string_view text) noexcept {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    number = number * 10 + static_cast<std::uint64_t>(text[digits] - '0');
    if (number > std::numeric_limits<std::uint32_t>::max()) return {};
    ++digits;
  }
  const bool leading_zero = digits > 1 && text[0] == '0';
  if (digits == 0 || leading_zero) return {};
  return {static_cast<std::uint32_t>(number), text.substr(digits)};
}

constexpr std::optional<SemanticVersion> parse_version(std::string_view text) noexcept {
  const NumberParse major = parse_number(text);
  if (!major.number || !major.rest.starts_with('.')) return std::nullopt;
  const NumberParse minor = parse_number(major.rest.substr(1));
  if (!minor.number || !minor.rest.starts_with('.')) return std::nullopt;
  const NumberParse patch = parse_number(minor.rest.substr(1));
  if (!patch.number || !patch.rest.empty()) return std::nullopt;
  return SemanticVersion{*major.number, *minor.number, *patch.number};
}

constexpr std::optional<SemanticVersion> kEngineVersion = parse_version(PERDURE_VERSION);
static_assert(kEngineVersion.has_value(), "PERDURE_VERSION must look like \"0.1.0\"");

}  // namespace

std::optional<SemanticVersion> SemanticVersion::parse(std::string_view text) noexcept {
  return parse_version(text);
}

SemanticVersion SemanticVersion::of(std::string_view text) {
  if (const auto version = parse_version(text)) return *version;
  throw std::invalid_argument("not a version: '" + std::string(text) + "'; expected three numbers like 1.2.3");
}

std::string SemanticVersion::to_string() const {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

std::string VersionRange::to_string() const {
  return min.to_string() + " to " + max.to_string();
}

SemanticVersion engine_version() noexcept {
  return kEngineVersion.value_or(SemanticVersion{});
}

}  // namespace perdure
