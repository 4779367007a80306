#include "cli/time_argument.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace perdure::cli {

namespace {

struct DurationUnit {
  std::string_view name;
  std::int64_t milliseconds;
};
// "ms" before "m": the first that fits is taken.
constexpr std::array<DurationUnit, 6> kDurationUnits{
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000}}};

// Takes a text apart from its beginning.
class TimeScanner {
 public:
  explicit TimeScanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Exactly so many digits.
  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (const char c : rest_.substr(0, count)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  std::optional<std::int64_t> number() {
    if (rest_.starts_with('-')) return std::nullopt;  // -0 too
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // What follows a decimal point, as milliseconds; further digits are dropped.
  std::optional<int> fraction() {
    int value = 0;
    int place = 100;
    std::size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      value += (rest_[count] - '0') * place;
      place /= 10;
    }
    rest_.remove_prefix(count);
    return count > 0 ? std::optional(value) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::optional<Milliseconds> scan_duration(std::string_view text) {
  TimeScanner scanner(text);
  std::int64_t sum = 0;
  do {
    const auto count = scanner.number();
    if (!count) return std::nullopt;
    const DurationUnit* unit = nullptr;
    for (const DurationUnit& candidate : kDurationUnits) {
      if (unit == nullptr && scanner.skip(candidate.name)) unit = &candidate;
    }
    if (unit == nullptr) return std::nullopt;
    // Far from the end of what the type holds: it is added to times.
    constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1'000;
    if (*count > (kLongest - sum) / unit->milliseconds) return std::nullopt;
    sum += *count * unit->milliseconds;
  } while (!scanner.at_end());
  return Milliseconds(sum);
}

// "+02:00", "-0530", "Z" or nothing.
std::optional<std::chrono::minutes> scan_offset(TimeScanner& scanner) {
  if (scanner.at_end() || scanner.skip("Z") || scanner.skip("z")) return std::chrono::minutes(0);
  const bool east = scanner.skip("+");
  if (!east && !scanner.skip("-")) return std::nullopt;
  const auto hours = scanner.digits(2);
  scanner.skip(":");
  const auto minutes = scanner.digits(2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const auto offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return east ? offset : -offset;
}

std::optional<Milliseconds> scan_clock(TimeScanner& scanner) {
  const auto hour = scanner.digits(2);
  if (!hour || *hour > 23 || !scanner.skip(":")) return std::nullopt;
  const auto minute = scanner.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  Milliseconds clock = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  if (!scanner.skip(":")) return clock;
  const auto second = scanner.digits(2);
  if (!second || *second > 59) return std::nullopt;
  clock += std::chrono::seconds(*second);
  if (!scanner.skip(".")) return clock;
  const auto fraction = scanner.fraction();
  if (!fraction) return std::nullopt;
  return clock + Milliseconds(*fraction);
}

std::optional<Timestamp> scan_date(std::string_view text) {
  TimeScanner scanner(text);
  const auto year = scanner.digits(4);
  if (!year || !scanner.skip("-")) return std::nullopt;
  const auto month = scanner.digits(2);
  if (!month || !scanner.skip("-")) return std::nullopt;
  const auto day = scanner.digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  Timestamp time = std::chrono::sys_days(date);
  if (scanner.at_end()) return time;
  if (!scanner.skip("T") && !scanner.skip("t") && !scanner.skip(" ")) return std::nullopt;
  const auto clock = scan_clock(scanner);
  if (!clock) return std::nullopt;
  const auto offset = scan_offset(scanner);
  if (!offset || !scanner.at_end()) return std::nullopt;
  return time + *clock - *offset;
}

[[noreturn]] void refuse_time_argument(std::string_view option, std::string_view text, const char* instead) {
  throw std::invalid_argument(std::string(option) + ": '" + std::string(text) + "' is not a " + instead);
}

}  // namespace

Milliseconds parse_duration(std::string_view option, std::string_view text) {
  const auto duration = scan_duration(text);
  if (!duration) refuse_time_argument(option, text, "duration; write 250ms, 30s, 5m, 2h, 7d, or 1d12h");
  return *duration;
}

Timestamp parse_time(std::string_view option, std::string_view text, Timestamp now) {
  if (const auto time = scan_date(text)) return *time;
  std::string_view past = text;
  if (past.ends_with(" ago")) past.remove_suffix(4);
  if (const auto duration = scan_duration(past)) return now - *duration;
  refuse_time_argument(option, text,
                       "time; write 2026-05-01T09:30:00Z or 2026-05-01, or 2h for two hours ago (also 30m, 7d)");
}

}  // namespace perdure::cli
