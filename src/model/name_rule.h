// The rule for names, checked at every entry point. It is the same for all stores: a workflow may move between them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perdure {

// Instance ids, names of orchestrations, activities, events and queues, tags, sessions and node ids are text: valid
// UTF-8, not empty, without control characters. Returns why `name` is invalid, beginning with `what` ("an instance
// id"), or std::nullopt if it is valid.
[[nodiscard]] std::optional<std::string> problem_with_name(std::string_view what, std::string_view name);

}  // namespace perdure
