// Records of the engine in a logger of spdlog.
#include <perdure/spdlog_sink.h>

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

namespace perdure {
namespace {

class ThrowingSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& /*message*/) override { throw std::runtime_error("the disk is full"); }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}
};

class SpdlogSinkTest : public ::testing::Test {
 protected:
  SpdlogSinkTest() {
    logger->set_pattern("%l|%v");
    logger->set_level(spdlog::level::trace);
  }

  std::ostringstream out;
  std::shared_ptr<spdlog::logger> logger =
      std::make_shared<spdlog::logger>("app", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
};

TEST_F(SpdlogSinkTest, LevelsAndFieldsAreKept) {
  const Logger log(std::make_shared<SpdlogSink>(logger), log_target::kWorkerDispatcher);
  log.trace("t");
  log.debug("d");
  log.info("i");
  log.warn("a lock is lost", {{"instance_id", "order-42"}, {"error", "two words"}});
  log.error("e");
  EXPECT_EQ(out.str(),
            "trace|perdure::runtime::worker: t\n"
            "debug|perdure::runtime::worker: d\n"
            "info|perdure::runtime::worker: i\n"
            "warning|perdure::runtime::worker: a lock is lost instance_id=order-42 error=\"two words\"\n"
            "error|perdure::runtime::worker: e\n");
}

TEST_F(SpdlogSinkTest, NothingInARecordIsTakenForAFormat) {
  Logger(std::make_shared<SpdlogSink>(logger)).info("{} {0} %v\nsecond line", {{"k{}", "{v}"}});
  EXPECT_EQ(out.str(), "info|perdure::runtime: {} {0} %v\\nsecond line k{}={v}\n");
}

TEST_F(SpdlogSinkTest, TheLoggersLevelAndTheFilterDecide) {
  logger->set_level(spdlog::level::info);
  const SpdlogSink all(logger);
  EXPECT_TRUE(all.enabled(LogLevel::kInfo, log_target::kRuntime));
  EXPECT_FALSE(all.enabled(LogLevel::kDebug, log_target::kRuntime));
  EXPECT_FALSE(all.enabled(LogLevel::kOff, log_target::kRuntime));
  const SpdlogSink filtered(logger, LogFilter());
  EXPECT_FALSE(filtered.enabled(LogLevel::kInfo, log_target::kRuntime));
  EXPECT_TRUE(filtered.enabled(LogLevel::kWarn, log_target::kRuntime));
  EXPECT_TRUE(filtered.enabled(LogLevel::kInfo, log_target::kActivity));
}

TEST_F(SpdlogSinkTest, ABrokenSinkIsTheLoggersAffair) {
  const auto broken = std::make_shared<spdlog::logger>("broken", std::make_shared<ThrowingSink>());
  std::string reported;
  broken->set_error_handler([&](const std::string& what) { reported = what; });
  EXPECT_NO_THROW(Logger(std::make_shared<SpdlogSink>(broken)).error("lost"));
  EXPECT_NE(reported.find("the disk is full"), std::string::npos);
}

TEST_F(SpdlogSinkTest, WithoutALoggerThereIsNoSink) {
  EXPECT_THROW(SpdlogSink(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace perdure
