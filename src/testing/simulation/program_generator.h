// Random programs.
#pragma once

#include <cstddef>
#include <string>

#include "testing/dice.h"
#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

// The program of a root instance, with about `size` steps of its own and children that are smaller.
[[nodiscard]] Program random_program(Dice& dice, const std::string& path, std::size_t size);

}  // namespace perdure::testing::simulation
