// The store of a simulated cluster.
#pragma once

#include <memory>

#include <perdure/clock.h>
#include <perdure/provider.h>
#include "testing/simulation/simulation.h"

namespace perdure::testing::simulation {

[[nodiscard]] std::shared_ptr<Provider> make_simulated_store(StoreKind kind, const std::shared_ptr<Clock>& clock);

}  // namespace perdure::testing::simulation
