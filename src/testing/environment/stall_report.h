// What to tell somebody whose test waits for what will never come.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include <perdure/client.h>
#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/types.h>
#include "testing/environment/plan.h"

namespace perdure::testing {

// The surroundings of an instance that does not go on.
struct StallScene {
  Timestamp start{};  // of the environment
  Timestamp now{};
  TagFilter tags;                        // that its node serves
  std::set<ActivityIdentity> under_way;  // activities that have been started and have not ended
};

// Why the instance has not ended, from its history and those of its children, with what would help.
[[nodiscard]] std::string describe_stall(const Client& client, const std::string& instance, const StallScene& scene);

// A line for each event: the time since `start`, the turn, the id, and what it is.
[[nodiscard]] std::string draw_timeline(std::span<const Event> history, Timestamp start);

// "2d 03:00:00.000"
[[nodiscard]] std::string to_text(Milliseconds duration);

}  // namespace perdure::testing
