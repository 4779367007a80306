// Names of log levels.
#include <perdure/log_level.h>

#include <gtest/gtest.h>

namespace perdure {
namespace {

constexpr LogLevel kLevels[] = {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                                LogLevel::kWarn,  LogLevel::kError, LogLevel::kOff};

TEST(LogLevelTest, EveryNameReadsBackAsItsLevel) {
  for (const LogLevel level : kLevels) EXPECT_EQ(parse_log_level(to_string(level)), level) << to_string(level);
}

TEST(LogLevelTest, NamesAreLowerCase) {
  EXPECT_EQ(to_string(LogLevel::kTrace), "trace");
  EXPECT_EQ(to_string(LogLevel::kWarn), "warn");
  EXPECT_EQ(to_string(LogLevel::kOff), "off");
}

TEST(LogLevelTest, ParsingIgnoresCase) {
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("Debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("oFf"), LogLevel::kOff);
}

TEST(LogLevelTest, NothingButTheNamesIsAccepted) {
  for (const std::string_view text : {"", "warning", "war", "warnn", " warn", "warn ", "3", "in\0fo"}) {
    EXPECT_EQ(parse_log_level(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(LogLevelTest, LevelsAreOrderedBySeverity) {
  EXPECT_LT(LogLevel::kTrace, LogLevel::kDebug);
  EXPECT_LT(LogLevel::kInfo, LogLevel::kWarn);
  EXPECT_LT(LogLevel::kError, LogLevel::kOff);
}

}  // namespace
}  // namespace perdure
