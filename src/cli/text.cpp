#include "cli/text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/terminal_filter.h"
#include "model/utf8.h"

namespace perdure::cli {

namespace {

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kGood:
      return "32m";
    case Colour::kBad:
      return "31m";
    case Colour::kWarning:
      return "33m";
    case Colour::kQuiet:
      return "2m";
    case Colour::kStrong:
      return "1m";
  }
  return "0m";
}

// Characters on the screen: without the marks of colours, and UTF-8 sequences counted once.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool in_code = false;
  for (const char c : text) {
    if (c == '\x1b') in_code = true;
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!in_code && !continues) ++width;
    if (in_code && c == 'm') in_code = false;
  }
  return width;
}

// Whether this JSON is nested so deep that printing it, which recurses, could exhaust the stack.
bool is_deep(std::string_view json) {
  constexpr std::size_t kDeepest = 1'000;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '\\') ++at;  // only strings have escapes
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

std::string with_unit(double value, const char* unit) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g %s", value, unit);
  return text;
}

std::string in_two_units(std::int64_t value, std::int64_t ratio, const char* large, const char* small) {
  std::string text = std::to_string(value / ratio) + ' ' + large;
  if (value % ratio != 0) text += ' ' + std::to_string(value % ratio) + ' ' + small;
  return text;
}

}  // namespace

std::string painted(const Context& context, Colour colour, std::string_view text) {
  if (!context.colour) return std::string(text);
  return terminal_mark(context.mark_key, code_of(colour)).append(text) + terminal_mark(context.mark_key, "0m");
}

// The calendar of <chrono> ends long before the time of a timer that waits forever.
std::string time_text(Timestamp time) {
  using std::chrono::sys_days;
  using std::chrono::year;
  if (time >= sys_days(year(10'000) / 1 / 1)) return "after the year 9999";
  if (time < sys_days(year(0) / 1 / 1)) return "before the year 0";
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[64];
  (void)std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string duration_text(Milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const std::int64_t s = ms / 1'000;
  if (s < 60) return with_unit(static_cast<double>(ms) / 1'000, "s");
  if (s < 3'600) return in_two_units(s, 60, "min", "s");
  if (s < 86'400) return in_two_units(s / 60, 60, "h", "min");
  return in_two_units(s / 3'600, 24, "d", "h");
}

nlohmann::json payload_json(const Payload& payload) {
  if (!payload) return nullptr;
  if (!is_deep(*payload)) {
    auto value = nlohmann::json::parse(*payload, nullptr, false);
    if (!value.is_discarded()) return value;
  }
  // Through a dump, so that whoever prints it later need not think of it.
  const std::string valid = nlohmann::json(*payload).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(valid);
}

std::string json_text(const nlohmann::json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string payload_text(const Payload& payload, std::size_t longest) {
  if (!payload) return "-";
  std::string text = detail::printable(payload_json(payload).dump(), std::string::npos);  // JSON still
  if (text.size() <= longest) return text;
  const std::size_t length = text.size();
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  return text.substr(0, longest) + "... (" + std::to_string(length) + " bytes)";
}

void Table::print(const Context& context) const {
  std::vector<std::size_t> widths;
  widths.reserve(titles_.size());
  for (const std::string& title : titles_) widths.push_back(width_of(title));
  for (const auto& row : rows_) {
    for (std::size_t column = 0; column < row.size() && column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  const auto line = [&](const std::vector<std::string>& cells, bool title) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string& cell = cells[column];
      context.out << (title ? painted(context, Colour::kStrong, cell) : cell);
      if (column + 1 < cells.size()) context.out << std::string(widths[column] - width_of(cell) + 2, ' ');
    }
    context.out << '\n';
  };
  line(titles_, true);
  for (const auto& row : rows_) line(row, false);
}

}  // namespace perdure::cli
