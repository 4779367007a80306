// Writing and reading of history files.
#include "model/history_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/canonical_number.h"
#include "model/event_codec.h"
#include "model/names.h"
#include "model/utf8.h"

namespace perdure {

namespace {

constexpr std::string_view kFirstLine = "perdure history 1";
constexpr std::size_t kShownOfLine = 80;

std::optional<std::uint16_t> kind_code(std::string_view name) noexcept {
  const auto& kinds = detail::kEventKinds;
  const auto found = std::find_if(kinds.begin(), kinds.end(), [name](const auto& kind) { return kind.name == name; });
  if (found == kinds.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - kinds.begin() + 1);
}

// Exactly nine words, one space apart.
std::optional<std::array<std::string_view, 9>> split_event_line(std::string_view line) noexcept {
  std::array<std::string_view, 9> words;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    words[i] = line.substr(0, space);
    line.remove_prefix(space + 1);
  }
  words.back() = line;
  return words;
}

// ---- bodies that would move a terminal ----

// Line ends are part of every body; other controls and bytes that are not UTF-8 are not for a terminal.
bool is_plain_body(std::string_view body) noexcept {
  while (!body.empty()) {
    const detail::CodePoint point = detail::first_code_point(body);
    if (point.length == 0 || (point.value != U'\n' && detail::is_control(point.value))) return false;
    body.remove_prefix(point.length);
  }
  return true;
}

// Each byte of a control or of invalid UTF-8 becomes \x1b, a backslash becomes two.
std::string escaped_body(std::string_view body) {
  std::string text;
  text.reserve(body.size() * 2);
  while (!body.empty()) {
    const detail::CodePoint point = detail::first_code_point(body);
    const std::string_view bytes = body.substr(0, std::max<std::size_t>(point.length, 1));
    if (point.length != 0 && (point.value == U'\n' || !detail::is_control(point.value))) {
      if (point.value == U'\\') text += '\\';
      text += bytes;
    } else {
      for (const char byte : bytes) text += detail::byte_escape(byte);
    }
    body.remove_prefix(bytes.size());
  }
  return text;
}

std::optional<unsigned> hex_digit(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  return std::nullopt;
}

// The body that `escaped_body` turned into `text`. Returns `std::nullopt` if there is none.
std::optional<std::string> unescaped_body(std::string_view text) {
  std::string body;
  body.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      body += text[at];
    } else if (text.substr(at, 2) == "\\\\") {
      body += '\\';
      ++at;
    } else {
      const auto high = at + 3 < text.size() && text[at + 1] == 'x' ? hex_digit(text[at + 2]) : std::nullopt;
      const auto low = high ? hex_digit(text[at + 3]) : std::nullopt;
      if (!low) return std::nullopt;
      body += static_cast<char>(*high << 4U | *low);
      at += 3;
    }
  }
  if (escaped_body(body) != text) return std::nullopt;
  return body;
}

// An event line; the body is still to be read.
struct EventLine {
  EventRecord record;
  std::size_t body_size = 0;  // in the file
  bool escaped = false;
};

EventLine parse_event_line(std::string_view line) {
  const auto words = split_event_line(line);
  if (!words || (*words)[0] != "event" || (*words)[3] != "turn" || (*words)[5] != "time" ||
      ((*words)[7] != "bytes" && (*words)[7] != "escaped")) {
    throw DecodeError("expected 'event <id> <kind> turn <n> time <ms> bytes <n>', got '" +
                      detail::printable(line, kShownOfLine) + "'");
  }
  const auto id = detail::parse_canonical<EventId>((*words)[1]);
  const auto kind = kind_code((*words)[2]);
  const auto turn = detail::parse_canonical<TurnNumber>((*words)[4]);
  const auto time = detail::parse_canonical<std::int64_t>((*words)[6]);
  const auto size = detail::parse_canonical<std::size_t>((*words)[8]);
  if (!kind) throw DecodeError("unknown event kind '" + detail::printable((*words)[2], kShownOfLine) + "'");
  if (!id || !turn || !time || !size) {
    throw DecodeError("a number is not canonical or too large in '" + detail::printable(line, kShownOfLine) + "'");
  }
  return {{*id, *kind, *turn, Timestamp(Milliseconds(*time)), {}}, *size, (*words)[7] == "escaped"};
}

// Walks over the file; on an error its position tells the line.
class HistoryReader {
 public:
  explicit HistoryReader(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] std::vector<Event> read() {
    if (take_line() != kFirstLine) throw DecodeError("expected '" + std::string(kFirstLine) + "'");
    while (rest().starts_with('#')) take_line();
    std::vector<Event> events;
    while (!rest().empty()) events.push_back(take_event());
    return events;
  }

  // Of the line that was read last; the first is 1.
  [[nodiscard]] std::size_t line_number() const noexcept {
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + line_start_, '\n'));
  }

 private:
  [[nodiscard]] std::string_view rest() const noexcept { return text_.substr(position_); }

  std::string_view take_line() {
    line_start_ = static_cast<std::ptrdiff_t>(position_);
    const std::size_t size = rest().find('\n');
    if (size == std::string_view::npos) throw DecodeError("the line does not end");
    const std::string_view line = rest().substr(0, size);
    position_ += size + 1;
    return line;
  }

  [[nodiscard]] Event take_event() {
    EventLine line = parse_event_line(take_line());
    if (line.body_size >= rest().size() || rest()[line.body_size] != '\n') {
      throw DecodeError("event " + std::to_string(line.record.event_id) + ": no newline after its " +
                        std::to_string(line.body_size) + " bytes, of which " +
                        std::to_string(std::min(line.body_size, rest().size())) + " are present");
    }
    const std::string_view body = rest().substr(0, line.body_size);
    line.record.body = line.escaped ? unescape(body, line.record.event_id) : std::string(body);
    position_ += line.body_size + 1;
    return decode_event(line.record);
  }

  [[nodiscard]] static std::string unescape(std::string_view text, EventId event) {
    std::optional<std::string> body = unescaped_body(text);
    if (!body) throw DecodeError("event " + std::to_string(event) + ": its body is not escaped canonically");
    return std::move(*body);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::ptrdiff_t line_start_ = 0;
};

}  // namespace

std::string write_history_text(std::span<const Event> events) {
  std::string text(kFirstLine);
  text += '\n';
  for (const Event& event : events) {
    const EventRecord record = encode_event(event);
    text += "event " + std::to_string(record.event_id) + ' ';
    text += kind_name(event.body);
    text += " turn " + std::to_string(record.turn);
    text += " time " + std::to_string(record.time.time_since_epoch().count());
    const bool plain = is_plain_body(record.body);
    const std::string body = plain ? record.body : escaped_body(record.body);
    text += (plain ? " bytes " : " escaped ") + std::to_string(body.size()) + '\n';
    text += body;
    text += '\n';
  }
  return text;
}

std::vector<Event> read_history_text(std::string_view text) {
  HistoryReader reader(text);
  try {
    return reader.read();
  } catch (const DecodeError& error) {
    throw DecodeError("line " + std::to_string(reader.line_number()) + ": " + error.what());
  }
}

}  // namespace perdure
