// Bytes as JSON: what is valid UTF-8 stays readable, the rest is base64.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace perdure::cli {

// "text", or {"base64": "..."}.
[[nodiscard]] nlohmann::ordered_json bytes_to_json(const std::string& bytes);
// Throws std::invalid_argument for anything else.
[[nodiscard]] std::string bytes_from_json(const nlohmann::ordered_json& value);

[[nodiscard]] std::string to_base64(std::string_view bytes);
// Throws std::invalid_argument.
[[nodiscard]] std::string from_base64(std::string_view text);

}  // namespace perdure::cli
