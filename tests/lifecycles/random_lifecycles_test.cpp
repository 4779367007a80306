// Random lifecycles with real threads on every store, and with processes that are killed. Runs for some seconds;
// longer, by number of seeds or from another seed: see LifecycleOptions.
#include "lifecycles/random_lifecycles.h"

#include <iostream>

#include <gtest/gtest.h>

#include "cluster/cluster_store.h"

namespace perdure::test {
namespace {

void expect_no_problem(const LifecycleReport& report) {
  constexpr std::size_t kShown = 20;
  std::cout << report.seeds << " seeds, " << report.calls << " calls, " << report.kills << " kills\n";
  for (std::size_t i = 0; i < std::min(report.problems.size(), kShown); ++i) ADD_FAILURE() << report.problems[i];
  EXPECT_TRUE(report.problems.empty()) << report.problems.size() << " problems";
  EXPECT_GT(report.seeds, 0U);
}

class RandomLifecycles : public OnAStore {};
PERDURE_ON_EVERY_STORE(RandomLifecycles);

TEST(RandomLifecyclesInMemory, TwoNodes) {
  const auto store = open_life_store({});
  const auto nodes = start_life_threads({store, store});
  expect_no_problem(run_lifecycles(store, *nodes, LifecycleOptions::from_environment()));
}

TEST_P(RandomLifecycles, TwoNodes) {
  const auto nodes = start_life_threads({open_life_store(address()), open_life_store(address())});
  expect_no_problem(run_lifecycles(open_life_store(address()), *nodes, LifecycleOptions::from_environment()));
}

TEST_P(RandomLifecycles, KilledNodes) {
  const auto store = open_life_store(address());  // makes it, before processes open it
  const auto nodes = start_life_processes(address());
  LifecycleOptions options = LifecycleOptions::from_environment();
  options.kills = true;
  expect_no_problem(run_lifecycles(store, *nodes, options));
}

}  // namespace
}  // namespace perdure::test
