// Random programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "testing/dice.h"
#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

// The program of a root instance, with about `size` steps of its own and children that are smaller.
[[nodiscard]] Program random_program(Dice& dice, const std::string& path, std::size_t size);

// Additional features of the program of a lifecycle.
struct LifeSetting {
  std::string id;                       // of its instance
  std::vector<std::string> shared_ids;  // ids that its children may be given, taken or not
  bool reads_queue = true;              // messages of clients reach it
};

// The same for one incarnation in a lifecycle. Nothing in it depends on signals of clients.
[[nodiscard]] Program random_life_program(Dice& dice, const std::string& path, std::size_t size,
                                          const LifeSetting& setting);

}  // namespace perdure::testing::simulation
