// Thresholds per target, and the list that sets them.
#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure {
namespace {

TEST(LogFilterTest, ByDefaultTheEngineWarnsAndUserCodeInforms) {
  const LogFilter filter;
  EXPECT_TRUE(filter.enabled(LogLevel::kWarn, log_target::kRuntime));
  EXPECT_FALSE(filter.enabled(LogLevel::kInfo, log_target::kRuntime));
  EXPECT_TRUE(filter.enabled(LogLevel::kInfo, log_target::kOrchestration));
  EXPECT_TRUE(filter.enabled(LogLevel::kInfo, log_target::kActivity));
  EXPECT_FALSE(filter.enabled(LogLevel::kDebug, log_target::kActivity));
  EXPECT_TRUE(filter.enabled(LogLevel::kError, "somebody::else"));
}

TEST(LogFilterTest, OneThresholdHoldsForEverything) {
  const LogFilter filter(LogLevel::kDebug);
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, log_target::kOrchestration));
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, ""));
  EXPECT_FALSE(filter.enabled(LogLevel::kTrace, log_target::kOrchestration));
}

TEST(LogFilterTest, OffLetsNothingThrough) {
  const LogFilter filter(LogLevel::kOff);
  EXPECT_FALSE(filter.enabled(LogLevel::kError, log_target::kRuntime));
  EXPECT_FALSE(filter.enabled(LogLevel::kOff, log_target::kRuntime));
}

TEST(LogFilterTest, ATargetCoversWhatLiesBelowItAndNotItsNeighbours) {
  LogFilter filter(LogLevel::kWarn);
  filter.set("perdure::runtime", LogLevel::kDebug);
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, "perdure::runtime"));
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, "perdure::runtime::worker"));
  EXPECT_FALSE(filter.enabled(LogLevel::kDebug, "perdure::runtime2"));
  EXPECT_FALSE(filter.enabled(LogLevel::kDebug, "perdure"));
}

TEST(LogFilterTest, TheLongestTargetWinsInAnyOrder) {
  LogFilter outer_first(LogLevel::kWarn);
  outer_first.set("a", LogLevel::kDebug).set("a::b", LogLevel::kError);
  LogFilter inner_first(LogLevel::kWarn);
  inner_first.set("a::b", LogLevel::kError).set("a", LogLevel::kDebug);
  for (const LogFilter& filter : {outer_first, inner_first}) {
    EXPECT_TRUE(filter.enabled(LogLevel::kDebug, "a::c"));
    EXPECT_FALSE(filter.enabled(LogLevel::kWarn, "a::b::c"));
  }
}

TEST(LogFilterTest, ListWithLevelAndTargets) {
  LogFilter filter;
  EXPECT_TRUE(filter.apply("error, perdure::runtime = DEBUG ,perdure::providers::sqlite=trace,").empty());
  EXPECT_FALSE(filter.enabled(LogLevel::kWarn, "other"));
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, log_target::kRuntime));
  EXPECT_TRUE(filter.enabled(LogLevel::kTrace, log_target::kSqlite));
}

TEST(LogFilterTest, ABareLevelAlsoReplacesTheDefaultsOfUserCode) {
  LogFilter filter;
  EXPECT_TRUE(filter.apply("error").empty());
  EXPECT_FALSE(filter.enabled(LogLevel::kInfo, log_target::kOrchestration));
}

TEST(LogFilterTest, ABareLevelDoesNotUndoTargetsOfTheSameList) {
  LogFilter filter;
  EXPECT_TRUE(filter.apply("perdure::runtime=debug,error").empty());
  EXPECT_TRUE(filter.enabled(LogLevel::kDebug, log_target::kRuntime));
  EXPECT_FALSE(filter.enabled(LogLevel::kWarn, log_target::kSqlite));
}

TEST(LogFilterTest, AListOfTargetsAloneKeepsTheRest) {
  LogFilter filter;
  EXPECT_TRUE(filter.apply("perdure::runtime=debug").empty());
  EXPECT_TRUE(filter.enabled(LogLevel::kInfo, log_target::kOrchestration));
  EXPECT_FALSE(filter.enabled(LogLevel::kInfo, log_target::kSqlite));
}

TEST(LogFilterTest, TheLaterOfTwoEntriesWins) {
  LogFilter filter;
  EXPECT_TRUE(filter.apply("a=debug,debug,a=error,warn").empty());
  EXPECT_FALSE(filter.enabled(LogLevel::kInfo, "other"));
  EXPECT_FALSE(filter.enabled(LogLevel::kWarn, "a"));
}

TEST(LogFilterTest, AnEmptyListChangesNothing) {
  for (const std::string_view list : {"", " ", ",", " , ,"}) {
    LogFilter filter;
    EXPECT_TRUE(filter.apply(list).empty());
    EXPECT_TRUE(filter.enabled(LogLevel::kInfo, log_target::kActivity));
    EXPECT_FALSE(filter.enabled(LogLevel::kInfo, log_target::kRuntime));
  }
}

TEST(LogFilterTest, BadEntriesAreNamedAndTheGoodOnesHold) {
  LogFilter filter;
  const auto problems = filter.apply("loud,perdure::runtime=verbose,=debug,a=b=info,x y=warn,perdure::activity=error");
  ASSERT_EQ(problems.size(), 5U);
  EXPECT_EQ(problems[0], "\"loud\" is neither a level (trace, debug, info, warn, error or off) nor target=level");
  EXPECT_EQ(
      problems[1],
      "\"perdure::runtime=verbose\" names the level \"verbose\", which is none of trace, debug, info, warn, error or "
      "off");
  EXPECT_EQ(problems[2], "\"=debug\" has no target before '='");
  EXPECT_NE(problems[3].find("\"b=info\""), std::string::npos) << problems[3];
  EXPECT_EQ(problems[4], "\"x y=warn\" has a blank inside its target");
  EXPECT_FALSE(filter.enabled(LogLevel::kWarn, log_target::kActivity));
  EXPECT_FALSE(filter.enabled(LogLevel::kInfo, log_target::kRuntime));
}

}  // namespace
}  // namespace perdure
