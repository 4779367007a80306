// Names of log levels, written and read.
#include <perdure/log_level.h>

#include <algorithm>
#include <array>

namespace perdure {
namespace {

constexpr std::array kLevels{LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                             LogLevel::kWarn,  LogLevel::kError, LogLevel::kOff};

// Not std::tolower: the meaning of a setting must not depend on the locale of the process.
constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view text, std::string_view lower_case) noexcept {
  return std::ranges::equal(text, lower_case, {}, ascii_lower);
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off";
  }
  return "unknown";
}

std::optional<LogLevel> parse_log_level(std::string_view text) noexcept {
  for (LogLevel level : kLevels) {
    if (equal_ignoring_case(text, to_string(level))) return level;
  }
  return std::nullopt;
}

}  // namespace perdure
