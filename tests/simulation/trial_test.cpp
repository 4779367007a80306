// Whole runs: that a seed decides everything, that faults strike, that a failing seed is made smaller and can be
// repeated.
#include "testing/simulation/trial.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure::testing::simulation {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Trial trial(std::uint64_t seed) {
  Trial one;
  one.seed = seed;
  one.lifecycles = false;
  one.options.log = true;
  return one;
}

// The first line in which two logs differ; empty: none.
std::string difference(const RunReport& one, const RunReport& other) {
  const auto [left, right] = std::mismatch(one.log.begin(), one.log.end(), other.log.begin(), other.log.end());
  if (left == one.log.end() && right == other.log.end()) return "";
  return (left == one.log.end() ? "(end)" : *left) + "\n" + (right == other.log.end() ? "(end)" : *right);
}

TEST(Trials, AreTheSameEachTime) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Trial one = trial(seed);
    if (seed % 4 == 0) one.options.store = StoreKind::kSqlite;
    const RunReport first = run_trial(one);
    const RunReport second = run_trial(one);
    EXPECT_EQ(difference(first, second), "") << "seed " << seed;
    EXPECT_EQ(first.faults, second.faults) << "seed " << seed;
    EXPECT_THAT(first.problems, IsEmpty()) << "seed " << seed;
  }
}

TEST(Trials, GiveTheSameRunOnBothStores) {
  for (std::uint64_t seed = 100; seed <= 110; ++seed) {
    Trial one = trial(seed);
    one.options.store = StoreKind::kMemory;
    Trial other = one;
    other.options.store = StoreKind::kSqlite;
    EXPECT_EQ(difference(run_trial(one), run_trial(other)), "") << "seed " << seed;
  }
}

TEST(Trials, AreRoughEnough) {
  constexpr std::uint64_t kSeeds = 200;
  Trial like;
  like.lifecycles = false;
  const Campaign campaign = run_seeds(1, kSeeds, like, 1, [](const RunReport&, const Campaign&) { return true; });
  EXPECT_EQ(campaign.seeds, kSeeds);
  EXPECT_THAT(campaign.failed, IsEmpty());
  EXPECT_GE(campaign.requests, 200 * kSeeds);
  EXPECT_GE(campaign.fault_count(), 3 * kSeeds);
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) {
    EXPECT_GE(campaign.faults[kind], kSeeds / 20) << to_string(static_cast<Fault>(kind));
  }
  EXPECT_GE(campaign.sqlite, kSeeds / 20);
  EXPECT_GE(campaign.fast_path, kSeeds / 4);
}

TEST(Trials, StopWhenTheyAreTold) {
  std::size_t seen = 0;
  const Campaign campaign = run_seeds(1, 1'000, {}, 1, [&](const RunReport&, const Campaign&) { return ++seen < 3; });
  EXPECT_EQ(campaign.seeds, 3U);
}

// A run that may take so few steps comes never to rest, whatever else is left out.
TEST(Trials, ThatFailAreMadeAsSmallAsTheyCanBe) {
  Trial failing;
  failing.seed = 5;
  failing.options.max_steps = 20;
  ASSERT_THAT(run_trial(failing).problems, ::testing::ElementsAre(HasSubstr("has not come to rest after 21 steps")));
  const Trial smallest = shrink(failing);
  EXPECT_FALSE(run_trial(smallest).ok());
  EXPECT_EQ(smallest.options.nodes, 1U);
  EXPECT_EQ(smallest.options.faults.count(), 0U);
  EXPECT_EQ(smallest.options.max_faults, 0U);
  ASSERT_TRUE(smallest.roots.has_value());
  EXPECT_EQ(smallest.roots->size(), 1U);
}

TEST(Trials, ThatDoNotFailStayAsTheyAre) {
  Trial fine;
  fine.seed = 5;
  fine.lifecycles = false;
  EXPECT_TRUE(run_trial(shrink(fine)).ok());
}

TEST(Trials, SayHowToRepeatThem) {
  Trial one;
  one.seed = 7;
  EXPECT_EQ(command_of(one), "perdure simulate --seeds 7..7");
  one.options.nodes = 2;
  one.options.faults = parse_faults("crash,damage");
  one.options.max_faults = 3;
  one.options.store = StoreKind::kSqlite;
  one.options.fast_path = true;
  one.roots = std::set<std::size_t>{0, 4};
  EXPECT_EQ(command_of(one),
            "perdure simulate --seeds 7..7 --nodes 2 --faults crash,damage --max-faults 3 --store sqlite --fast-path "
            "on --roots 0,4");
  Trial alive;
  alive.seed = 7;
  alive.lives = std::set<std::size_t>{1, 2};
  EXPECT_EQ(command_of(alive), "perdure simulate --seeds 7..7 --lives 1,2");
  alive.lives->clear();
  EXPECT_EQ(command_of(alive), "perdure simulate --seeds 7..7 --lifecycles off");
}

TEST(Faults, AreKnownByName) {
  EXPECT_EQ(to_string(parse_faults("crash,lost-answer")), "crash,lost-answer");
  EXPECT_EQ(to_string(parse_faults("all")), "all");
  EXPECT_EQ(to_string(parse_faults("none")), "none");
  EXPECT_TRUE(contains(parse_faults("damage"), Fault::kDamage));
}

TEST(Faults, ThatDoNotExistAreAnErrorThatListsThem) {
  try {
    (void)parse_faults("crash,flood");
    FAIL() << "no such fault";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no fault 'flood'"));
    EXPECT_THAT(error.what(), HasSubstr("lost-answer"));
  }
  EXPECT_THROW((void)parse_faults(""), std::invalid_argument);
  EXPECT_THROW((void)parse_faults("crash,"), std::invalid_argument);
}

}  // namespace
}  // namespace perdure::testing::simulation
