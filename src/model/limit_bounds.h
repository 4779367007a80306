// The greatest limits that the stores can keep.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <perdure/limits.h>

namespace perdure {

// Returns what is wrong with limits that are greater than the stores accept, or std::nullopt.
[[nodiscard]] inline std::optional<std::string> problem_with_limits(const Limits& limits) {
  std::string text;
  const auto at_most = [&text](const char* name, std::size_t value, std::size_t bound) {
    if (value <= bound) return;
    text += (text.empty() ? "limits." : "; limits.") + std::string(name) + " must not be more than " +
            std::to_string(bound) + ", the limit of the stores";
  };
  at_most("max_name_bytes", limits.max_name_bytes, Limits::kGreatestNameBytes);
  at_most("max_tag_bytes", limits.max_tag_bytes, Limits::kGreatestTagBytes);
  at_most("max_payload_bytes", limits.max_payload_bytes, Limits::kGreatestPayloadBytes);
  at_most("max_carry_forward_bytes", limits.max_carry_forward_bytes, Limits().max_carry_forward_bytes);
  at_most("max_turn_bytes", limits.max_turn_bytes, Limits().max_turn_bytes);
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace perdure
