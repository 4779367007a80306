#include "cli/terminal_filter.h"

#include <cstddef>
#include <random>

#include "model/utf8.h"

namespace perdure::cli {

namespace {

constexpr std::string_view kMarkDigits = "0123456789";  // no letter: the first one ends a mark
constexpr std::size_t kKeyLength = 20;

bool is_plain(char c) noexcept {
  return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
}

// Whether more bytes could make a character of this, which is not one yet.
bool may_be_completed(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead >= 0xF0 && lead < 0xF8 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (lead >= 0xF8 || text.size() >= length) return false;
  for (const char c : text.substr(1)) {
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) return false;
  }
  return true;
}

}  // namespace

std::string fresh_mark_key() {
  std::random_device random;
  std::string key;
  key.reserve(kKeyLength);
  std::uniform_int_distribution<std::size_t> digit(0, kMarkDigits.size() - 1);
  while (key.size() < kKeyLength) key += kMarkDigits[digit(random)];
  return key;
}

std::string terminal_mark(std::string_view key, std::string_view code) {
  return std::string("\x1b").append(key).append(code);
}

void TerminalFilter::finish() {
  for (const char byte : incomplete_) target_ << detail::byte_escape(byte);
  incomplete_.clear();
}

TerminalFilter::int_type TerminalFilter::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const char c = traits_type::to_char_type(character);
  return accept({&c, 1}) ? character : traits_type::eof();
}

std::streamsize TerminalFilter::xsputn(const char* text, std::streamsize size) {
  return accept({text, static_cast<std::size_t>(size)}) ? size : 0;
}

int TerminalFilter::sync() {
  return target_.flush() ? 0 : -1;
}

bool TerminalFilter::accept(std::string_view text) {
  std::string joined;
  if (!incomplete_.empty()) {
    joined = std::move(incomplete_.append(text));
    incomplete_.clear();
    text = joined;
  }
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    safe += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t letter = marks_ && text.starts_with(mark_) ? text.find_first_of("GKm") : std::string_view::npos;
    if (letter != std::string_view::npos) {
      safe.append("\x1b[").append(text.substr(mark_.size(), letter + 1 - mark_.size()));
      text.remove_prefix(letter + 1);
      continue;
    }
    const detail::CodePoint point = detail::first_code_point(text);
    if (point.length == 0 && may_be_completed(text)) {
      incomplete_ = text;
      break;
    }
    if (point.length == 0) {
      safe += detail::byte_escape(text.front());
    } else if (detail::is_control(point.value)) {
      safe += detail::control_escape(point.value);
    } else {
      safe += text.substr(0, point.length);
    }
    text.remove_prefix(point.length == 0 ? 1 : point.length);
  }
  return static_cast<bool>(target_.write(safe.data(), static_cast<std::streamsize>(safe.size())));
}

}  // namespace perdure::cli
