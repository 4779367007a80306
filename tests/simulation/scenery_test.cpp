// What seeds decide before a run begins.
#include "testing/simulation/scenery.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace perdure::testing::simulation {
namespace {

TEST(Scenery, SetsSomeClocksBackAndThenForwardAndViceVersa) {
  std::size_t back_then_forward = 0;
  std::size_t forward_then_back = 0;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    const Scenery scenery(seed, RunOptions{});
    for (std::size_t i = 1; i < scenery.clock_steps.size(); ++i) {
      const Milliseconds first = scenery.clock_steps[i - 1].by;
      const Milliseconds second = scenery.clock_steps[i].by;
      if (scenery.clock_steps[i].step <= scenery.clock_steps[i - 1].step) continue;
      if (first.count() < 0 && second.count() > 0) ++back_then_forward;
      if (first.count() > 0 && second.count() < 0) ++forward_then_back;
    }
  }
  EXPECT_GT(back_then_forward, 20U);
  EXPECT_GT(forward_then_back, 20U);
}

}  // namespace
}  // namespace perdure::testing::simulation
