// The sink that tests read back.
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure {
namespace {

using namespace std::chrono_literals;

TEST(CapturingLogSinkTest, KeepsCopiesInOrder) {
  auto sink = std::make_shared<CapturingLogSink>(LogLevel::kTrace, 10,
                                                 [] { return std::chrono::system_clock::time_point(5s); });
  const Logger logger(sink, log_target::kActivity);
  {
    const std::string message = "a message that is gone when it is read back";
    logger.info(message, {{"attempt", std::to_string(3)}});
  }
  logger.error("second");
  const std::vector<CapturedLogRecord> expected{
      {std::chrono::system_clock::time_point(5s),
       LogLevel::kInfo,
       "perdure::activity",
       "a message that is gone when it is read back",
       {{"attempt", "3"}}},
      {std::chrono::system_clock::time_point(5s), LogLevel::kError, "perdure::activity", "second", {}}};
  EXPECT_EQ(sink->records(), expected);
  EXPECT_EQ(sink->records()[0].field("attempt"), "3");
  EXPECT_EQ(sink->records()[0].field("other"), std::nullopt);
}

TEST(CapturingLogSinkTest, CountsByLevelAndFindsByText) {
  auto sink = std::make_shared<CapturingLogSink>();
  const Logger logger(sink);
  logger.warn("lock lost", {{"instance_id", "order-42"}});
  logger.warn("ack failed");
  logger.error("lock lost again");
  EXPECT_EQ(sink->count(LogLevel::kWarn), 2U);
  EXPECT_EQ(sink->count(LogLevel::kError), 1U);
  EXPECT_EQ(sink->count(LogLevel::kInfo), 0U);
  EXPECT_EQ(sink->find("lock lost").size(), 2U);
  ASSERT_EQ(sink->find("order-").size(), 1U);
  EXPECT_EQ(sink->find("order-")[0].message, "lock lost");
  EXPECT_TRUE(sink->find("nothing of the kind").empty());
}

TEST(CapturingLogSinkTest, IgnoresWhatIsBelowItsMinimum) {
  auto sink = std::make_shared<CapturingLogSink>(LogLevel::kWarn);
  const Logger logger(sink);
  logger.info("below");
  logger.warn("kept");
  EXPECT_EQ(sink->records().size(), 1U);
}

TEST(CapturingLogSinkTest, ClearForgetsEverything) {
  auto sink = std::make_shared<CapturingLogSink>(LogLevel::kTrace, 1);
  const Logger logger(sink);
  logger.info("one");
  logger.info("two");
  sink->clear();
  EXPECT_TRUE(sink->records().empty());
  EXPECT_EQ(sink->dropped(), 0U);
}

TEST(CapturingLogSinkTest, TheOldestGoWhenItIsFull) {
  auto sink = std::make_shared<CapturingLogSink>(LogLevel::kTrace, 2);
  const Logger logger(sink);
  for (const char* message : {"one", "two", "three"}) logger.info(message);
  ASSERT_EQ(sink->records().size(), 2U);
  EXPECT_EQ(sink->records()[0].message, "two");
  EXPECT_EQ(sink->records()[1].message, "three");
  EXPECT_EQ(sink->dropped(), 1U);
}

TEST(CapturingLogSinkTest, ManyThreadsWriteWhileOthersRead) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 500;
  auto sink = std::make_shared<CapturingLogSink>();
  {
    std::latch start(kThreads + 1);
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, name = "writer " + std::to_string(i)] {
        const Logger logger(sink);
        start.arrive_and_wait();
        for (int record = 0; record < kRecords; ++record) logger.warn(name, {{"record", std::to_string(record)}});
      });
    }
    start.arrive_and_wait();
    std::size_t seen = 0;
    for (int look = 0; look < 20; ++look) {
      const std::size_t now = sink->count(LogLevel::kWarn);
      EXPECT_GE(now, seen);
      EXPECT_GE(sink->records().size(), now);
      seen = now;
    }
  }
  EXPECT_EQ(sink->records().size(), static_cast<std::size_t>(kThreads * kRecords));
  for (int i = 0; i < kThreads; ++i) {
    const auto of_one = sink->find("writer " + std::to_string(i));
    ASSERT_EQ(of_one.size(), static_cast<std::size_t>(kRecords));
    for (std::size_t record = 0; record < of_one.size(); ++record) {
      EXPECT_EQ(of_one[record].field("record"), std::to_string(record));
    }
  }
}

}  // namespace
}  // namespace perdure
