#include "model/name_rule.h"

#include <cstddef>

#include "model/utf8.h"

namespace perdure {

std::optional<std::string> problem_with_name(std::string_view what, std::string_view name) {
  constexpr std::size_t kShownBytes = 100;
  const std::string subject(what);
  if (name.empty()) return subject + " must not be empty";
  for (std::size_t offset = 0; offset < name.size();) {
    const detail::CodePoint point = detail::first_code_point(name.substr(offset));
    const bool valid = point.length > 0;
    if (!valid || detail::is_control(point.value)) {
      return subject + (valid ? " must not contain control characters" : " must be valid UTF-8") + ", but is '" +
             detail::printable(name, kShownBytes) + "'";
    }
    offset += point.length;
  }
  return std::nullopt;
}

}  // namespace perdure
