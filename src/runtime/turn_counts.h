// TurnCounts: what a turn did beside its beginning and its end, for the metrics.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <perdure/types.h>
#include "replay/turn.h"

namespace perdure::runtime {

struct TurnCounts {
  std::vector<std::string> activities;  // scheduled, by name
  std::vector<std::string> retried;     // those of them that a RetryPolicy scheduled once more
  std::vector<std::string> children;    // scheduled, by name
  std::size_t timers = 0;               // scheduled
  std::vector<Milliseconds> fired;      // how late each timer was
  std::size_t events = 0;
  std::size_t queue_messages = 0;
  std::vector<IgnoreReason> ignored;
};

[[nodiscard]] TurnCounts count_turn(const TurnOutcome& outcome, Timestamp now);

}  // namespace perdure::runtime
