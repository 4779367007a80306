// Times and durations as a user writes them.
#pragma once

#include <string_view>

#include <perdure/types.h>

namespace perdure::cli {

// "2h", "30m", "45s", "250ms", "7d", "2w", and several of them: "1d12h". Throws std::invalid_argument that names the
// option.
[[nodiscard]] Milliseconds parse_duration(std::string_view option, std::string_view text);

// "2026-05-01T09:30:00.250Z"; seconds, and all of the time, may be left out, and Z may be an offset like +02:00.
// Without either it is UTC. Or a duration: that long before `now`; the word "ago" may follow. Throws as parse_duration
// does.
[[nodiscard]] Timestamp parse_time(std::string_view option, std::string_view text, Timestamp now);

}  // namespace perdure::cli
