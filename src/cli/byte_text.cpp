#include "cli/byte_text.h"

#include <cstdint>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "model/utf8.h"

namespace perdure::cli {

namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t first = 0; first < bytes.size(); first += 3) {
    std::uint32_t group = 0;
    const std::string_view part = bytes.substr(first, 3);
    for (std::size_t place = 0; place < 3; ++place) {
      group = group << 8U | (place < part.size() ? static_cast<unsigned char>(part[place]) : 0U);
    }
    for (std::size_t place = 0; place < 4; ++place) {
      text += place <= part.size() ? kBase64Digits[group >> (18 - 6 * place) & 0x3FU] : '=';
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  const auto refuse_base64 = [] { throw std::invalid_argument("the text is not base64"); };
  if (text.size() % 4 != 0) refuse_base64();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t first = 0; first < text.size(); first += 4) {
    const std::string_view part = text.substr(first, 4);
    const bool is_last = first + 4 == text.size();
    const std::size_t digits = is_last && part.ends_with("==") ? 2 : is_last && part.ends_with('=') ? 3 : 4;
    std::uint32_t group = 0;
    for (std::size_t place = 0; place < 4; ++place) {
      const std::size_t digit = place < digits ? kBase64Digits.find(part[place]) : 0;
      if (digit == std::string_view::npos) refuse_base64();
      group = group << 6U | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t place = 0; place + 1 < digits; ++place) bytes += static_cast<char>(group >> (16 - 8 * place));
  }
  return bytes;
}

nlohmann::ordered_json bytes_to_json(const std::string& bytes) {
  if (!detail::find_invalid_utf8(bytes)) return bytes;
  return {{"base64", to_base64(bytes)}};
}

std::string bytes_from_json(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.size() == 1 && value.contains("base64")) {
    return from_base64(value.at("base64").get_ref<const std::string&>());
  }
  throw std::invalid_argument("neither a text nor {\"base64\": ...}");
}

}  // namespace perdure::cli
