// Turns a record into text. The three shapes, for a warning with one field:
//
//   kPretty   2024-05-06T07:08:09.123456Z WARN  perdure::runtime: lock lost
//                 instance_id: order-42
//   kCompact  2024-05-06T07:08:09.123456Z WARN  perdure::runtime: lock lost instance_id=order-42
//   kJson     {"timestamp":"2024-05-06T07:08:09.123456Z","level":"warn","target":"perdure::runtime",
//              "message":"lock lost","fields":{"instance_id":"order-42"}}                              (on one line)
#include <array>
#include <cstddef>

#include <perdure/log.h>
#include "text_escape.h"

namespace perdure {
namespace {

using observe::escape_controls;
using observe::escape_json;

// UTC with microseconds. Not gmtime, which is not thread-safe.
std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::microseconds>(time - day));
  std::array<char, 64> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                    static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

// Padded to one width so that targets stand in a column.
std::string_view column(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kTrace:
      return "TRACE";
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO ";
    case LogLevel::kWarn:
      return "WARN ";
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kOff:
      break;
  }
  return "-    ";
}

std::string head(const LogRecord& record, std::chrono::system_clock::time_point time) {
  return timestamp(time) + " " + std::string(column(record.level)) + " " + escape_controls(record.target) + ": ";
}

// Keeps line breaks, but no continuation line can be taken for a record: each is indented.
std::string indented(std::string_view text, std::string_view indent) {
  std::string out;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out += escape_controls(text.substr(0, end));
    out += '\n';
    out += indent;
    text.remove_prefix(end + 1);
  }
  return out + escape_controls(text);
}

std::string pretty(const LogRecord& record, std::chrono::system_clock::time_point time) {
  std::string out = head(record, time) + indented(record.message, "    ");
  for (const LogField& field : record.fields) {
    out += "\n    " + escape_controls(field.key) + ": " + indented(field.value, "        ");
  }
  return out + "\n";
}

// Bare where that is unambiguous, else quoted with the escapes of JSON.
std::string word(std::string_view text) {
  std::string escaped = escape_json(text);
  const bool bare = !text.empty() && escaped == text && text.find_first_of(" =") == std::string_view::npos;
  return bare ? escaped : "\"" + escaped + "\"";
}

std::string compact(const LogRecord& record, std::chrono::system_clock::time_point time) {
  return head(record, time) + format_log_text(record) + "\n";
}

std::string json_string(std::string_view text) {
  return "\"" + escape_json(text) + "\"";
}

std::string json(const LogRecord& record, std::chrono::system_clock::time_point time) {
  std::string out = "{\"timestamp\":" + json_string(timestamp(time));
  out += ",\"level\":" + json_string(to_string(record.level));
  out += ",\"target\":" + json_string(record.target);
  out += ",\"message\":" + json_string(record.message);
  out += ",\"fields\":{";
  std::string_view separator;
  for (const LogField& field : record.fields) {
    out += separator;
    out += json_string(field.key) + ":" + json_string(field.value);
    separator = ",";
  }
  return out + "}}\n";
}

}  // namespace

std::string format_log_text(const LogRecord& record) {
  std::string out = escape_controls(record.message);
  for (const LogField& field : record.fields) out += " " + word(field.key) + "=" + word(field.value);
  return out;
}

std::string format_log_record(const LogRecord& record, LogFormat format, std::chrono::system_clock::time_point time) {
  switch (format) {
    case LogFormat::kPretty:
      return pretty(record, time);
    case LogFormat::kCompact:
      return compact(record, time);
    case LogFormat::kJson:
      return json(record, time);
  }
  return compact(record, time);
}

}  // namespace perdure
