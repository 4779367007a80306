// Damages a history in ways that a replay of its code must notice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/event.h>
#include "support/dice.h"

namespace perdure::test {

struct Damage {
  std::string what;
  std::vector<Event> history;
};

// Nothing when there is nothing in this history that could be damaged so.
[[nodiscard]] std::optional<Damage> damaged(const std::vector<Event>& history, Dice& dice);

}  // namespace perdure::test
