// The store of a simulated cluster.
#pragma once

#include <memory>

#include <perdure/clock.h>
#include <perdure/provider.h>
#include "testing/simulation/simulation.h"

namespace perdure::testing::simulation {

[[nodiscard]] std::shared_ptr<Provider> make_simulated_store(StoreKind kind, const std::shared_ptr<Clock>& clock);

// Sets the clock by `by`, or by a second more if store time follows. Returns by how much store time jumps.
[[nodiscard]] Milliseconds set_clock_of(Provider& store, ManualClock& clock, Milliseconds by);

}  // namespace perdure::testing::simulation
