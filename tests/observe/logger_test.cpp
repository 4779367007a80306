// The handle: levels, targets, and sinks that misbehave.
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure {
namespace {

class ThrowingLogSink final : public LogSink {
 public:
  explicit ThrowingLogSink(bool throw_when_asked) : throw_when_asked_(throw_when_asked) {}

  bool enabled(LogLevel /*level*/, std::string_view /*target*/) const override {
    if (throw_when_asked_) throw 42;
    return true;
  }
  void write(const LogRecord& /*record*/) override {
    ++writes;
    throw std::runtime_error("disk full");
  }

  int writes = 0;

 private:
  bool throw_when_asked_;
};

// Logs every record again, to itself.
class EchoingLogSink final : public LogSink {
 public:
  void write(const LogRecord& record) override {
    ++writes;
    logger.info(record.message);
  }

  Logger logger;
  int writes = 0;
};

TEST(LoggerTest, EachFunctionHasItsLevel) {
  auto sink = std::make_shared<CapturingLogSink>();
  const Logger logger(sink);
  logger.trace("m");
  logger.debug("m");
  logger.info("m");
  logger.warn("m");
  logger.error("m");
  logger.log(LogLevel::kWarn, "m");
  logger.log(LogLevel::kOff, "no record has this level");
  std::vector<LogLevel> levels;
  for (const auto& record : sink->records()) levels.push_back(record.level);
  EXPECT_EQ(levels, (std::vector{LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError,
                                 LogLevel::kWarn}));
}

TEST(LoggerTest, FieldsMayBeGatheredAtRunTime) {
  auto sink = std::make_shared<CapturingLogSink>();
  std::vector<LogField> fields{{"a", "1"}};
  fields.push_back({"b", "2"});
  Logger(sink).log(LogLevel::kInfo, "m", fields);
  Logger(sink).log(LogLevel::kInfo, "m", {{"a", "1"}, {"b", "2"}});
  ASSERT_EQ(sink->records().size(), 2U);
  EXPECT_EQ(sink->records()[0].field("b"), "2");
  EXPECT_EQ(sink->records()[0].fields, sink->records()[1].fields);
}

TEST(LoggerTest, AnotherTargetSharesTheSink) {
  auto sink = std::make_shared<CapturingLogSink>();
  const Logger logger(sink);
  logger.with_target(log_target::kSqlite).info("m");
  logger.info("m");
  ASSERT_EQ(sink->records().size(), 2U);
  EXPECT_EQ(sink->records()[0].target, "perdure::providers::sqlite");
  EXPECT_EQ(sink->records()[1].target, "perdure::runtime");
}

TEST(LoggerTest, WithoutASinkNothingIsLogged) {
  for (const Logger& logger : {Logger(), Logger(nullptr), Logger(std::make_shared<NullLogSink>())}) {
    EXPECT_FALSE(logger.enabled(LogLevel::kError));
    logger.error("m");
  }
}

TEST(LoggerTest, NothingASinkThrowsGetsOut) {
  auto throws_on_write = std::make_shared<ThrowingLogSink>(false);
  const Logger logger(throws_on_write);
  EXPECT_NO_THROW(logger.error("m"));
  EXPECT_NO_THROW(logger.error("m"));
  EXPECT_EQ(throws_on_write->writes, 2) << "one failure does not cut the sink off";

  auto throws_when_asked = std::make_shared<ThrowingLogSink>(true);
  EXPECT_FALSE(Logger(throws_when_asked).enabled(LogLevel::kError));
  EXPECT_NO_THROW(Logger(throws_when_asked).error("m"));
  EXPECT_EQ(throws_when_asked->writes, 0);
}

TEST(LoggerTest, ASinkThatLogsToItselfIsCutOff) {
  auto sink = std::make_shared<EchoingLogSink>();
  sink->logger = Logger(sink);
  Logger(sink).info("m");
  EXPECT_GE(sink->writes, 1);
  EXPECT_LE(sink->writes, 10);
  const int first = sink->writes;
  Logger(sink).info("m");
  EXPECT_EQ(sink->writes, 2 * first) << "the next record starts afresh";
  sink->logger = Logger();  // ends the cycle of ownership
}

TEST(LoggerDeathTest, ABrokenSinkIsReportedOnceOnStderr) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process, in which nothing has been reported yet
  const auto break_a_sink_twice = [] {
    testing::internal::CaptureStderr();
    const Logger logger(std::make_shared<ThrowingLogSink>(false));
    logger.error("m");
    logger.error("m");
    const std::string text = testing::internal::GetCapturedStderr();
    const std::size_t first = text.find("perdure: the log sink threw: disk full;");
    const bool once = first != std::string::npos && text.find("perdure:", first + 1) == std::string::npos;
    std::exit(once ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): the only thread
  };
  EXPECT_EXIT(break_a_sink_twice(), testing::ExitedWithCode(0), "");
}

TEST(LoggerDeathTest, TheReportOfABrokenSinkMovesNoTerminal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  class HostileLogSink final : public LogSink {
   public:
    bool enabled(LogLevel, std::string_view) const override { return true; }
    void write(const LogRecord&) override { throw std::runtime_error("red\x1b[31m\xc2\x9b\x7f"); }
  };
  const auto break_a_sink = [] {
    testing::internal::CaptureStderr();
    Logger(std::make_shared<HostileLogSink>()).error("m");
    const std::string text = testing::internal::GetCapturedStderr();
    const bool escaped = text.find(R"(red\u001b[31m\u009b\u007f)") != std::string::npos;
    std::exit(escaped ? 0 : 1);  // NOLINT(concurrency-mt-unsafe): the only thread
  };
  EXPECT_EXIT(break_a_sink(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace perdure
