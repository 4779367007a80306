// A history as bars: when each operation began and ended, and how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/types.h>
#include "cli/context.h"

namespace perdure::cli {

enum class OperationEnd : std::uint8_t { kOpen, kCompleted, kFailed, kGivenUp };

// An activity, a timer, a wait for an event or for a queue, a child. Or the whole execution, which is the first.
struct TimelineRow {
  EventId event = 0;
  std::string label;
  Timestamp begin{};
  std::optional<Timestamp> end;
  OperationEnd how = OperationEnd::kOpen;
  bool operator==(const TimelineRow&) const = default;
};

// In the order in which they began. Empty if the history is.
[[nodiscard]] std::vector<TimelineRow> timeline_of(std::span<const Event> history);

// `width`: of the bars, in characters. `now`: where the bars of open operations end.
void print_timeline(const Context& context, std::span<const TimelineRow> rows, Timestamp now, std::size_t width = 50);

}  // namespace perdure::cli
