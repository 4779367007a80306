// The time of a store beside a source that is set.
#include "providers/store_time.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kNoon{Milliseconds{1'700'000'000'000}};

class StoreTimes : public ::testing::Test {
 protected:
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(kNoon);
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  StoreTime time{clock, Logger(log)};
};

TEST_F(StoreTimes, IsTheSourceWhileThatRuns) {
  EXPECT_EQ(time.now(), kNoon);
  clock->advance(1ms);
  EXPECT_EQ(time.now(), kNoon + 1ms);
  clock->advance(24h);
  EXPECT_EQ(time.now(), kNoon + 24h + 1ms);
  EXPECT_FALSE(time.is_ahead());
  time.report_jumps();
  EXPECT_EQ(log->records().size(), 0U);
}

// Each call sees less than a tenth of a millisecond's worth; none of it is lost.
TEST_F(StoreTimes, LosesNothingHoweverOftenItIsRead) {
  clock->step(-1h);
  for (int i = 0; i < 1'000; ++i) {
    clock->advance(1ms);
    static_cast<void>(time.now());
  }
  EXPECT_EQ(time.now(), kNoon + 900ms);
  EXPECT_TRUE(time.is_ahead());
}

TEST_F(StoreTimes, ReportsEachJumpOnceWithItsSize) {
  clock->advance(1min);
  clock->step(-1h);
  static_cast<void>(time.now());
  clock->advance(1min);
  static_cast<void>(time.now());
  clock->step(2h);
  static_cast<void>(time.now());
  static_cast<void>(time.now());
  EXPECT_EQ(log->records().size(), 0U) << "the caller may be inside a lock";
  time.report_jumps();
  time.report_jumps();
  std::string jumps;
  for (const CapturedLogRecord& record : log->records()) {
    for (const auto& [key, value] : record.fields) jumps += key == "jump_ms" ? value + " " : "";
  }
  EXPECT_EQ(jumps, "-3600000 7200000 ");
}

TEST_F(StoreTimes, DoesNotTakeADisciplinedClockForOneThatIsSet) {
  for (int i = 0; i < 100; ++i) {
    clock->advance(1h);
    clock->step(i % 2 == 0 ? 1s : -1s);
    static_cast<void>(time.now());
    time.report_jumps();
  }
  EXPECT_EQ(log->records().size(), 0U);
}

TEST_F(StoreTimes, KnowsWhenItReachesATime) {
  EXPECT_EQ(time.steady_at(kNoon + 10s), 10s);
  EXPECT_EQ(time.steady_at(kNoon - 10s), 0s);
  EXPECT_EQ(time.steady_at(Timestamp::max()), Milliseconds::max());
  clock->step(-1h);
  EXPECT_EQ(time.steady_at(kNoon + 9s), 10s);
  clock->step(1h - 1s);  // a second behind: the source catches up after ten
  EXPECT_EQ(time.steady_at(kNoon + 9s), 10s);
  EXPECT_EQ(time.steady_at(kNoon + 60s), 61s);
  for (const Milliseconds each : {1ms, 7ms, 1'000ms, 8'999ms, 9'000ms, 9'001ms, 60'000ms}) {
    const Milliseconds at = time.steady_at(kNoon + each);
    ManualClock other(kNoon - 1s);
    other.advance(at);
    EXPECT_GE(std::max(other.now(), kNoon + at * 9 / 10), kNoon + each) << each.count();
  }
}

TEST_F(StoreTimes, AWaitIsMeasuredFromItsBeginning) {
  EXPECT_EQ(time.end_of_wait(kNoon + 10s), 10s);
  clock->step(-1h);
  EXPECT_EQ(time.end_of_wait(kNoon + 10s), 10s);
  EXPECT_EQ(time.end_of_wait(Timestamp::max()), Milliseconds::max());
  EXPECT_EQ(time.end_of_wait(Timestamp::min()), 0ms);
}

TEST_F(StoreTimes, ReachesATimeThatAnotherProcessHasSeen) {
  time.reach(kNoon + 1min);
  EXPECT_EQ(time.now(), kNoon + 1min);
  clock->advance(1min);
  EXPECT_EQ(time.now(), kNoon + 1min + 54s);
  time.reach(kNoon);
  EXPECT_EQ(time.now(), kNoon + 1min + 54s);
}

TEST(ManualClocks, PassBackwardsOnlyWhenTheyAreSet) {
  ManualClock clock(kNoon);
  EXPECT_THROW(clock.advance(-1ms), std::invalid_argument);
  clock.step(-1ms);
  EXPECT_EQ(clock.now(), kNoon - 1ms);
  EXPECT_EQ(clock.steady(), 0ms);
}

TEST(SystemClocks, HaveAnOriginThatStaysTheSame) {
  const SystemClock clock;
  EXPECT_FALSE(clock.steady_origin().empty());
  EXPECT_EQ(clock.steady_origin(), SystemClock().steady_origin());
  EXPECT_GT(clock.steady(), 0ms);
}

}  // namespace
}  // namespace perdure::test
