// Names that belong to the engine.
#pragma once

#include <string_view>

namespace perdure {

// No user activity may begin with it.
inline constexpr std::string_view kReservedPrefix = "__perdure:";
// {"instance", "key"} -> the value or null. Served by every worker, whatever its tags.
inline constexpr std::string_view kReadKeyValueActivity = "__perdure:get_kv_value";

}  // namespace perdure
