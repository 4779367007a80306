// A turn as an engine would commit it, most of the time.
#pragma once

#include "testing/comparison/run.h"

namespace perdure::testing::comparison {

// For the instance at `index` of the turns in flight. One in a few has something wrong with it.
[[nodiscard]] Both<TurnCommit> invent_commit(Run& run, std::size_t index);

}  // namespace perdure::testing::comparison
