// Times, durations and filters as users write them.
#include "cli/time_argument.h"

#include <chrono>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/filter_options.h"
#include "cli/text.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2026-05-01T09:30:00Z
constexpr Timestamp kMorning{std::chrono::sys_days{std::chrono::year{2026} / 5 / 1} + 9h + 30min};

Timestamp time(std::string_view text) {
  return cli::parse_time("--t", text, kMorning);
}

// A timer may wait until any time, and the calendar of the standard library wraps around.
TEST(TimeText, NamesTimesOutsideTheCalendar) {
  EXPECT_EQ(cli::time_text(kMorning), "2026-05-01T09:30:00.000Z");
  EXPECT_EQ(cli::time_text(Timestamp(std::chrono::sys_days{std::chrono::year{10'000} / 1 / 1}) - 1ms),
            "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(cli::time_text(Timestamp(std::chrono::sys_days{std::chrono::year{10'000} / 1 / 1})), "after the year 9999");
  EXPECT_EQ(cli::time_text(Timestamp::max()), "after the year 9999");
  EXPECT_EQ(cli::time_text(Timestamp::min()), "before the year 0");
}

TEST(TimeArgument, TimesOfTheDay) {
  EXPECT_EQ(time("2026-05-01T09:30:00Z"), kMorning);
  EXPECT_EQ(time("2026-05-01T09:30"), kMorning) << "UTC, if nothing else is said";
  EXPECT_EQ(time("2026-05-01 09:30:00"), kMorning);
  EXPECT_EQ(time("2026-05-01T09:30:00.25Z"), kMorning + 250ms);
  EXPECT_EQ(time("2026-05-01T09:30:00.1239Z"), kMorning + 123ms);
  EXPECT_EQ(time("2026-05-01T11:30:00+02:00"), kMorning);
  EXPECT_EQ(time("2026-05-01T04:00:00-0530"), kMorning);
  EXPECT_EQ(time("2026-05-01"), kMorning - 9h - 30min);
  EXPECT_EQ(time("2024-02-29"), std::chrono::sys_days{std::chrono::year{2024} / 2 / 29});
}

TEST(TimeArgument, DurationsAreCountedBack) {
  EXPECT_EQ(time("2h"), kMorning - 2h);
  EXPECT_EQ(time("2h ago"), kMorning - 2h);
  EXPECT_EQ(time("30m"), kMorning - 30min);
  EXPECT_EQ(time("7d"), kMorning - 7 * 24h);
  EXPECT_EQ(time("1d12h"), kMorning - 36h);
  EXPECT_EQ(cli::parse_duration("--t", "1m500ms"), 60'500ms);
  EXPECT_EQ(cli::parse_duration("--t", "2w"), 14 * 24h);
  EXPECT_EQ(cli::parse_duration("--t", "0s"), 0ms);
}

TEST(TimeArgument, WhatIsNeitherIsRefusedAndNamed) {
  for (const char* text : {"", "yesterday", "2026-13-01", "2026-02-30", "2026-05-01T25:00", "2026-05-01T09:60",
                           "2026-05-01T09:30:00.", "2026-05-01T09:30:00Zulu", "2026-05-01T09:30+1", "2", "h", "-2h",
                           "2h ago ago", "2y", "99999999999999999999d", "9999999999999w"}) {
    try {
      (void)time(text);
      ADD_FAILURE() << "'" << text << "' was taken for a time";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("--t: '" + std::string(text) + "' is not a time; write 2026-05-01T09:30:00Z"));
    }
  }
  EXPECT_THROW((void)cli::parse_duration("--t", "2026-05-01"), std::invalid_argument);
  EXPECT_THROW((void)cli::parse_duration("--t", "2h ago"), std::invalid_argument) << "a duration has no direction";
}

TEST(FilterOptions, NothingGivenMatchesEverything) {
  const cli::FilterOptions options;
  EXPECT_TRUE(options.empty());
  InstanceFilter everything;
  everything.exact_statuses = true;
  EXPECT_EQ(cli::filter_of(options, kMorning), everything);
}

TEST(FilterOptions, EveryOptionNarrowsIt) {
  cli::FilterOptions options;
  options.statuses = {"running", "failed"};
  options.name = "Order";
  options.version = "1.2.3";
  options.created_after = "2026-04-01";
  options.created_before = "1h";
  options.completed_before = "30m";
  EXPECT_FALSE(options.empty());
  const InstanceFilter filter = cli::filter_of(options, kMorning);
  EXPECT_THAT(filter.statuses,
              ElementsAre(ExecutionStatus::kRunning, ExecutionStatus::kContinuedAsNew, ExecutionStatus::kFailed));
  EXPECT_TRUE(filter.exact_statuses);
  EXPECT_EQ(filter.name, "Order");
  EXPECT_EQ(filter.version, (SemanticVersion{1, 2, 3}));
  EXPECT_EQ(filter.created_from, std::chrono::sys_days{std::chrono::year{2026} / 4 / 1});
  EXPECT_EQ(filter.created_before, kMorning - 1h);
  EXPECT_EQ(filter.completed_before, kMorning - 30min);
}

TEST(FilterOptions, MistakesAreNamed) {
  cli::FilterOptions options;
  options.version = "1.2";
  EXPECT_THROW((void)cli::filter_of(options, kMorning), std::invalid_argument);
  options = {};
  options.statuses = {"asleep"};
  EXPECT_THROW((void)cli::filter_of(options, kMorning), std::invalid_argument);
  options = {};
  options.completed_before = "soon";
  EXPECT_THROW((void)cli::filter_of(options, kMorning), std::invalid_argument);
}

}  // namespace
}  // namespace perdure::test
