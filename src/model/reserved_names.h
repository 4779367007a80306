// Names that belong to the engine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <perdure/fetch.h>

namespace perdure {

// No name of a user's activity and no tag may begin with it.
inline constexpr std::string_view kReservedPrefix = "__perdure:";
// {"instance", "key"} -> the value, or an absent payload. A key that is not UTF-8 is a list of bytes. Every node serves
// it, whatever its tag filter.
inline constexpr std::string_view kReadKeyValueActivity = "__perdure:get_kv_value";
// The tag of the engine's own activities in the worker queue. Histories do not have it.
inline constexpr std::string_view kEngineTag = "__perdure:engine";

// Returns why `name` must not be used by workflows, beginning with `what` ("an activity's name"), or std::nullopt.
[[nodiscard]] inline std::optional<std::string> problem_with_reserved_name(std::string_view what,
                                                                           std::string_view name) {
  if (!name.starts_with(kReservedPrefix)) return std::nullopt;
  return std::string(what) + " must not begin with " + std::string(kReservedPrefix) +
         ", which is reserved for the engine, but is '" + std::string(name) + "'";
}

[[nodiscard]] inline bool is_engine_activity(std::string_view name) noexcept {
  return name.starts_with(kReservedPrefix);
}
// The tags that a node with this filter fetches.
[[nodiscard]] inline TagFilter served_tags(const TagFilter& filter) {
  return filter.with(std::string(kEngineTag));
}

}  // namespace perdure
