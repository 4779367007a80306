// The events of a history, for people and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <perdure/event.h>

namespace perdure::cli {

// {"event_id", "turn", "time", "kind", "class", "engine_version", "details": {what the kind has}}
[[nodiscard]] nlohmann::json event_json(const Event& event);

// What tells events of a kind apart, in one line: "'Charge' input=4200". Values are cut to `longest` bytes.
[[nodiscard]] std::string event_text(const EventBody& body, std::size_t longest);

// "input", "decision", "breadcrumb" or "terminal"
[[nodiscard]] std::string_view class_name(EventClass event_class);

}  // namespace perdure::cli
