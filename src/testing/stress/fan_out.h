// The workflow of the stress test, by hand: a first turn that schedules everything, later ones that count.
#pragma once

#include <cstddef>
#include <string>

#include <perdure/fetch.h>
#include <perdure/turn_commit.h>

namespace perdure::testing::stress {

[[nodiscard]] std::string instance_name(std::size_t number);

// The next turn of a fetched instance. Each activity leaves two events, scheduled and completed, so that the last event
// id says how many completions there were.
[[nodiscard]] TurnCommit next_turn(const OrchestrationItem& item, std::size_t fan_out, CommitId commit_id);

// Events of an instance that has completed: started, two for each activity, completed.
[[nodiscard]] constexpr std::size_t events_of_completed(std::size_t fan_out) noexcept {
  return 2 + 2 * fan_out;
}

}  // namespace perdure::testing::stress
