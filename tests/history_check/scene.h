// What the tests of the deployment check share: a store with instances that real nodes made, and the check of changed
// code.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/history_check.h>
#include <perdure/perdure.h>
#include "history_check/watched_store.h"
#include "scenarios/stepped_cluster.h"

namespace perdure {

inline void PrintTo(const HistoryFinding& finding, std::ostream* out) {
  *out << finding.to_string();
}

}  // namespace perdure

namespace perdure::test {

using Ctx = OrchestrationContext;
using Kind = HistoryFindingKind;

class HistoryCheckScene : public ::testing::TestWithParam<WorldKind> {
 protected:
  // Runs nodes with that code until nothing can be done, and stops them.
  void run(const Registry& registry, const RuntimeOptions& options = {}) {
    auto& node = cluster.start_node(registry, options);
    cluster.settle();
    cluster.stop_node(node);
  }
  template <class... Input>
  void start(const std::string& instance, const std::string& name, const Input&... input) {
    cluster.client().start_orchestration(instance, name, input...);
  }
  // The watched store fails the test if the check writes.
  [[nodiscard]] HistoryCheckResult check(const Registry& registry, const HistoryCheckOptions& options = {}) {
    return check_histories(*store, registry, options);
  }
  [[nodiscard]] HistoryCheckResult check_stored(const Registry& registry) {
    HistoryCheckOptions options;
    options.live_only = false;
    return check(registry, options);
  }
  [[nodiscard]] InstanceInfo info(const std::string& instance) const {
    return cluster.client().get_instance_info(instance);
  }

  SteppedCluster cluster{GetParam()};
  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>(cluster.store());
};

#define PERDURE_ON_EVERY_STORE(suite)                                                                                 \
  INSTANTIATE_TEST_SUITE_P(Stores, suite,                                                                             \
                           ::testing::Values(WorldKind{.seed = 1}, WorldKind{.store = StoreKind::kSqlite, .seed = 2}, \
                                             WorldKind{.store = StoreKind::kPostgres, .seed = 3}),                    \
                           [](const auto& store) { return store.param.name(); })

// One orchestration of that code.
template <class F>
[[nodiscard]] Registry code(const std::string& name, F function) {
  Registry registry;
  registry.add_orchestration(name, function);
  return registry;
}

// Activities that answer their input.
[[nodiscard]] inline Registry echoes(const std::vector<std::string>& names) {
  Registry registry;
  for (const auto& name : names) registry.add_activity(name, [](ActivityContext&, int n) { return n; });
  return registry;
}

// A finding of that kind about that execution.
MATCHER_P3(IsFinding, kind, instance, execution, "") {
  return arg.kind == kind && arg.instance == instance && arg.execution == static_cast<ExecutionId>(execution);
}

}  // namespace perdure::test
