#include "model/error_text.h"

#include <string_view>
#include <utility>
#include <variant>

#include "model/utf8.h"

namespace perdure {

namespace {

// The longest prefix of at most `limit` bytes that does not end inside a code point.
std::size_t cut_position(std::string_view text, std::size_t limit) {
  const auto is_continuation = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
  std::size_t end = limit;
  while (end > 0 && limit - end < 3 && is_continuation(end)) --end;
  return end;
}

}  // namespace

std::string storable_error_text(std::string text, std::size_t limit) {
  const std::size_t length = text.size();
  if (length > limit) text.resize(cut_position(text, limit));
  if (detail::find_invalid_utf8(text)) text = detail::repaired_utf8(text) + " (bytes that are not UTF-8 were replaced)";
  if (length > limit) text += " (cut at max_payload_bytes)";
  return text;
}

ErrorDetails with_storable_text(ErrorDetails error, std::size_t limit) {
  std::visit([limit](auto& any) { any.message = storable_error_text(std::move(any.message), limit); }, error);
  return error;
}

}  // namespace perdure
