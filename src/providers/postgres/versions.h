// Versions as this store writes them: with leading zeros, so that they sort as text.
#pragma once

#include <optional>
#include <string>

#include <perdure/version.h>

namespace perdure::postgres {

[[nodiscard]] std::string sortable(const SemanticVersion& version);
[[nodiscard]] std::optional<std::string> sortable(const std::optional<SemanticVersion>& version);
[[nodiscard]] std::optional<SemanticVersion> stored_version(const std::optional<std::string>& text);

}  // namespace perdure::postgres
