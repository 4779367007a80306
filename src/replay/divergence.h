// Divergence: whether a decision equals the recorded one, and what to tell people when it does not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <perdure/event.h>

namespace perdure {

// The determinism contract. Not compared: a timer's time, a status's value, a child's instance id, versions, timeouts.
[[nodiscard]] bool same_decision(const EventBody& recorded, const EventBody& decided);

struct DivergencePlace {
  std::span<const Event> turn;  // the recorded turn that was being replayed
  std::size_t position = 0;     // in it; its size: behind its last event
};

// Like a diff: some recorded events before the place, then what history recorded (-) and what the code did (+).
[[nodiscard]] std::string divergence_report(const std::string& headline, const DivergencePlace& place,
                                            const std::optional<std::string>& recorded,
                                            const std::optional<std::string>& done);

}  // namespace perdure
