// Threads on a bare store: nothing is lost, nothing happens twice. Include it once in a test program, and instantiate
// it with the providers that this has.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <perdure/testing/provider_stress.h>
#include <perdure/testing/provider_validation.h>

namespace perdure::testing {

struct StressedStore {
  const char* name;
  std::unique_ptr<ProviderFactory> (*make)();
};

inline std::string stressed_name(const ::testing::TestParamInfo<StressedStore>& store) {
  return store.param.name;
}

class Stress : public ::testing::TestWithParam<StressedStore> {
 protected:
  // The clock of these stores stands still, so that no lock expires but by our doing.
  [[nodiscard]] static StressReport run(std::size_t deaths) {
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

}  // namespace perdure::testing
