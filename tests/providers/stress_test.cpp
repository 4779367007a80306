// Threads on a bare store: nothing is lost, nothing happens twice.
#include <memory>

#include <gtest/gtest.h>

#include <perdure/testing/provider_stress.h>
#include "providers/factories.h"

namespace perdure::testing {
namespace {

struct Store {
  const char* name;
  std::unique_ptr<ProviderFactory> (*make)();
};

class Stress : public ::testing::TestWithParam<Store> {
 protected:
  // The clock of these stores stands still, so that no lock expires but by our doing.
  StressReport run(std::size_t deaths) {
    const std::unique_ptr<ProviderFactory> factory = GetParam().make();
    StressOptions options;
    options.instances = 200;
    options.deaths = deaths;
    options.advance = [&](Milliseconds by) { factory->advance(by); };
    return run_provider_stress(factory->create(), options);
  }
};

TEST_P(Stress, EveryInstanceCompletesOnce) {
  const StressReport report = run(0);
  EXPECT_TRUE(report.problems.empty()) << report.to_string();
  EXPECT_GE(report.turns, 400U);
  EXPECT_GT(report.instances_per_second, 0);
}

TEST_P(Stress, WorkOfTheDeadIsDoneByOthers) {
  const StressReport report = run(23);
  EXPECT_TRUE(report.problems.empty()) << report.to_string();
  EXPECT_GT(report.deaths, 0U);
}

INSTANTIATE_TEST_SUITE_P(Providers, Stress,
                         ::testing::Values(Store{"Memory", make_memory_factory},
                                           Store{"SqliteFile", make_sqlite_file_factory},
                                           Store{"SqliteMemory", make_sqlite_memory_factory}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace perdure::testing
