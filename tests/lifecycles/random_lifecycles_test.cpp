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

class RandomLifecycles : public OnAStore {
 protected:
  [[nodiscard]] LifecycleOptions options() const {
    LifecycleOptions options = LifecycleOptions::from_environment();
    options.address = address();
    return options;
  }
  TemporaryFolder folder_;
  LifeLedger ledger_{folder_.path()};
};
PERDURE_ON_EVERY_STORE(RandomLifecycles);

TEST(RandomLifecyclesInMemory, TwoNodes) {
  const TemporaryFolder folder;
  const LifeLedger ledger(folder.path());
  const auto store = open_life_store({});
  const auto nodes = start_life_threads(store, store, LifeNodeKind::kUncached, ledger);
  expect_no_problem(run_lifecycles(store, ledger, *nodes, LifecycleOptions::from_environment()));
}

TEST_P(RandomLifecycles, TwoNodes) {
  const auto store = open_life_store(address());
  const auto nodes =
      start_life_threads(open_life_store(address()), open_life_store(address()), LifeNodeKind::kPlain, ledger_);
  expect_no_problem(run_lifecycles(store, ledger_, *nodes, options()));
}

TEST_P(RandomLifecycles, KilledNodes) {
  const auto store = open_life_store(address());  // makes it, before processes open it
  const auto nodes = start_life_processes(address(), ledger_);
  LifecycleOptions with_kills = options();
  with_kills.kills = true;
  const LifecycleReport report = run_lifecycles(store, ledger_, *nodes, with_kills);
  expect_no_problem(report);
  EXPECT_GT(report.kills, 0U);
}

}  // namespace
}  // namespace perdure::test
