// From what a turn decided to what a store is told.
#pragma once

#include <optional>

#include <perdure/turn_commit.h>
#include <perdure/version.h>
#include "replay/turn.h"

namespace perdure::runtime {

// Fills everything of the commit that follows from the outcome: events, messages, status, custom status, key-values and
// metadata. `pin` stands in for the engine version of the event that starts the execution.
void add_outcome(TurnCommit& commit, const TurnOutcome& outcome, const std::optional<SemanticVersion>& pin);

}  // namespace perdure::runtime
