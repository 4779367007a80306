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

constexpr std::string_view kEscapeDigits = "0123456789abcdef";

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

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    repaired += point.length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, point.length);
    text.remove_prefix(point.length == 0 ? 1 : point.length);
  }
  return repaired;
}

// Every control lies below U+10000, so four digits and no surrogate pair.
std::string control_escape(char32_t control) {
  if (control == U'\n') return "\\n";
  if (control == U'\r') return "\\r";
  if (control == U'\t') return "\\t";
  std::string escape = "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) escape += kEscapeDigits[(control >> shift) & 0xFU];
  return escape;
}

std::string byte_escape(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return {'\\', 'x', kEscapeDigits[value >> 4U], kEscapeDigits[value & 0x0FU]};
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  std::size_t offset = 0;
  while (offset < text.size()) {
    const CodePoint point = first_code_point(text.substr(offset));
    const std::size_t length = point.length == 0 ? 1 : point.length;
    if (offset + length > limit) break;
    const std::string_view bytes = text.substr(offset, length);
    if (point.length == 0) {
      shown += byte_escape(bytes.front());
    } else if (is_control(point.value)) {
      shown += control_escape(point.value);
    } else {
      shown += bytes;
    }
    offset += length;
  }
  if (offset < text.size()) shown += "… (" + std::to_string(text.size()) + " bytes)";
  return shown;
}

}  // namespace perdure::detail
