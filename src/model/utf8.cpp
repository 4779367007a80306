// UTF-8 validation and escaping for display.
#include "model/utf8.h"

namespace perdure::detail {

namespace {

// What a first byte announces: how many bytes follow it, its own bits, and the smallest value that needs that length.
struct Lead {
  std::size_t length;
  char32_t bits;
  char32_t smallest;
};

Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return {2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return {3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

std::string escape(std::string_view bytes) {
  static constexpr std::string_view kHexDigits = "0123456789abcdef";
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  std::string escaped;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    escaped += "\\x";
    escaped += kHexDigits[byte >> 4U];
    escaped += kHexDigits[byte & 0x0FU];
  }
  return escaped;
}

}  // namespace

CodePoint first_code_point(std::string_view text) noexcept {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return {};
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < lead.smallest || surrogate || value > 0x10FFFF) return {};
  return {value, lead.length};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
  std::size_t offset = 0;
  while (offset < text.size()) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      ++offset;
      continue;
    }
    const CodePoint point = first_code_point(text.substr(offset));
    if (point.length == 0) return offset;
    offset += point.length;
  }
  return std::nullopt;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  std::size_t offset = 0;
  while (offset < text.size()) {
    const CodePoint point = first_code_point(text.substr(offset));
    const std::size_t length = point.length == 0 ? 1 : point.length;
    if (offset + length > limit) break;
    const std::string_view bytes = text.substr(offset, length);
    if (point.length != 0 && !is_control(point.value)) {
      shown += bytes;
    } else {
      shown += escape(bytes);
    }
    offset += length;
  }
  if (offset < text.size()) shown += "… (" + std::to_string(text.size()) + " bytes)";
  return shown;
}

}  // namespace perdure::detail
