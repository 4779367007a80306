// Dice: the simulator's, under a short name for the tests.
#pragma once

#include "testing/dice.h"

namespace perdure::test {

using testing::Dice;

}  // namespace perdure::test
