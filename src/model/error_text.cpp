#include "model/error_text.h"

#include <string_view>
#include <utility>
#include <variant>

#include <perdure/detail/thrown.h>
#include <perdure/limits.h>
#include "model/utf8.h"

namespace perdure {

namespace {

constexpr std::string_view kReplacedNote = " (bytes that are not UTF-8 were replaced)";
constexpr std::string_view kCutNote = " (cut at Limits::max_error_text_bytes)";

// Cuts the text to at most `limit` bytes, not inside a code point. Returns whether it was longer.
bool cut(std::string_view& text, std::size_t limit) {
  if (text.size() <= limit) return false;
  const auto is_continuation = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
  std::size_t end = limit;
  while (end > 0 && limit - end < 3 && is_continuation(end)) --end;
  text = text.substr(0, end);
  return true;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

// A text takes several boundaries on its way. Its notes do not count and are written anew, so that the second boundary
// changes nothing. No more is copied than is kept: a text may be longer than the memory that is left.
std::string storable_error_text(std::string_view text, std::size_t limit) {
  bool was_cut = remove_suffix(text, kCutNote);
  bool was_repaired = remove_suffix(text, kReplacedNote);
  was_cut = cut(text, limit) || was_cut;  // before the repair, whose time depends on the length
  std::string repaired;
  if (detail::find_invalid_utf8(text)) {
    repaired = detail::repaired_utf8(text);
    text = repaired;
    was_repaired = true;
    was_cut = cut(text, limit) || was_cut;  // a byte becomes three
  }
  std::string kept(text);
  if (was_repaired) kept += kReplacedNote;
  if (was_cut) kept += kCutNote;
  return kept;
}

bool is_stored_form(std::string_view stored, std::string_view text) {
  if (stored == text) return true;
  std::string_view kept = stored;
  if (!remove_suffix(kept, kCutNote)) return false;
  remove_suffix(kept, kReplacedNote);
  return storable_error_text(text, kept.size()) == stored;
}

ErrorDetails with_storable_text(ErrorDetails error, std::size_t limit) {
  std::visit([limit](auto& any) { any.message = storable_error_text(any.message, limit); }, error);
  return error;
}

namespace detail {

std::string text_of(const std::exception& error) {
  const char* const text = error.what();
  return storable_error_text(text == nullptr ? "an exception was thrown whose what() returns null" : text,
                             kMaxErrorTextBytes);
}

}  // namespace detail

}  // namespace perdure
