// Seeds that failed once. What they found has a test of its own; here stands the whole run, because what happened once
// in such company may come back in it.
#include <optional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/simulation/trial.h"

namespace perdure::testing::simulation {
namespace {

struct Regression {
  std::uint64_t seed;
  const char* faults;
  std::optional<std::size_t> nodes;
  std::optional<std::size_t> max_faults;
  const char* what;
  std::optional<StoreKind> store = std::nullopt;
  std::optional<bool> fast_path = std::nullopt;
};

const Regression kRegressions[] = {
    {664, "all", {}, {}, "children that only events behind a damaged one told of ran on for ever"},
    {664, "damage", 4, 1, "the same, alone"},
    {851, "crash,slow-call,damage", 3, 9, "the same, after a crash"},
    {1822, "damage", 2, 2, "the same, one level below"},
    {2794, "all", {}, {}, "the same, with lost answers"},
    {45639,
     "repeated,time-jump,upgrade",
     4,
     {},
     "a commit that was carried out twice kept its activities waiting for their lock",
     StoreKind::kMemory,
     true},
    {100386,
     "lost-answer",
     {},
     {},
     "a turn that was fetched while a commit was in doubt was committed first, and what that one had claimed waited "
     "too",
     StoreKind::kMemory,
     true},
};

TEST(Regressions, HoldNow) {
  for (const Regression& regression : kRegressions) {
    Trial trial;
    trial.seed = regression.seed;
    trial.lifecycles = false;  // the run that failed had none
    trial.options.faults = parse_faults(regression.faults);
    trial.options.nodes = regression.nodes;
    trial.options.max_faults = regression.max_faults;
    trial.options.store = regression.store;
    trial.options.fast_path = regression.fast_path;
    EXPECT_THAT(run_trial(trial).problems, ::testing::IsEmpty()) << command_of(trial) << ": " << regression.what;
  }
}

}  // namespace
}  // namespace perdure::testing::simulation
