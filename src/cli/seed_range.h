// Seeds as a user writes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace perdure::cli {

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t last = 1;  // included
};

// "1..1000", or "42" alone. Throws std::invalid_argument that names the option.
[[nodiscard]] SeedRange parse_seed_range(std::string_view text);

}  // namespace perdure::cli
