// The escapes, one code point at a time.
#include "observe/text_escape.h"

#include <algorithm>
#include <cstddef>

#include "model/utf8.h"

namespace perdure::observe {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

enum class Escape { kNothing, kControls, kJson };

std::string escaped(std::string_view text, Escape what) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const detail::CodePoint point = detail::first_code_point(text);
    if (point.length == 0) {
      out += kReplacement;
    } else if (what != Escape::kNothing && detail::is_control(point.value)) {
      out += detail::control_escape(point.value);
    } else {
      if (what == Escape::kJson && (point.value == U'"' || point.value == U'\\')) out += '\\';
      out += text.substr(0, point.length);
    }
    text.remove_prefix(std::max<std::size_t>(point.length, 1));
  }
  return out;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  return escaped(text, Escape::kNothing);
}

std::string escape_controls(std::string_view text) {
  return escaped(text, Escape::kControls);
}

std::string escape_json(std::string_view text) {
  return escaped(text, Escape::kJson);
}

}  // namespace perdure::observe
