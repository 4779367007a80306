// The default sink: filter, environment, clock, whole lines.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/log.h>

namespace perdure {
namespace {

constexpr const char* kVariable = "PERDURE_LOG_OF_STDERR_LOG_SINK_TEST";

// A file that vanishes when closed, in the place of stderr.
class StderrLogSinkTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(stream_, nullptr); }
  void TearDown() override { unsetenv(kVariable); }  // NOLINT(concurrency-mt-unsafe): no other thread by then

  static void set_environment(const char* value) {
    setenv(kVariable, value, 1);  // NOLINT(concurrency-mt-unsafe): before any other thread
  }

  StderrLogOptions options() const {
    return StderrLogOptions().stream(stream_.get()).environment_variable(kVariable).clock([] {
      return std::chrono::system_clock::time_point{};
    });
  }

  std::string written() const {
    std::fflush(stream_.get());
    EXPECT_EQ(std::fseek(stream_.get(), 0, SEEK_SET), 0);
    std::string text;
    for (int c = std::fgetc(stream_.get()); c != EOF; c = std::fgetc(stream_.get())) text += static_cast<char>(c);
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> stream_{std::tmpfile()};
};

TEST_F(StderrLogSinkTest, WritesWhatTheFilterLetsThrough) {
  const Logger logger(std::make_shared<StderrLogSink>(options()));
  logger.info("hidden");
  logger.warn("shown", {{"k", "v"}});
  logger.with_target(log_target::kActivity).info("user code");
  EXPECT_EQ(written(),
            "1970-01-01T00:00:00.000000Z WARN  perdure::runtime: shown k=v\n"
            "1970-01-01T00:00:00.000000Z INFO  perdure::activity: user code\n");
}

TEST_F(StderrLogSinkTest, WritesInTheFormatAskedFor) {
  const Logger logger(std::make_shared<StderrLogSink>(options().format(LogFormat::kJson)));
  logger.error("m");
  EXPECT_EQ(written(),
            R"({"timestamp":"1970-01-01T00:00:00.000000Z","level":"error","target":"perdure::runtime","message":"m",)"
            R"("fields":{}})"
            "\n");
}

TEST_F(StderrLogSinkTest, TheMinimumLevelReplacesTheDefaults) {
  const StderrLogSink sink(options().minimum_level(LogLevel::kError));
  EXPECT_FALSE(sink.enabled(LogLevel::kWarn, log_target::kRuntime));
  EXPECT_FALSE(sink.enabled(LogLevel::kInfo, log_target::kActivity));
  EXPECT_TRUE(sink.enabled(LogLevel::kError, log_target::kActivity));
}

TEST_F(StderrLogSinkTest, TheEnvironmentHasTheLastWord) {
  set_environment("error,perdure::runtime=debug");
  const StderrLogSink sink(options().minimum_level(LogLevel::kTrace));
  EXPECT_TRUE(sink.enabled(LogLevel::kDebug, log_target::kRuntime));
  EXPECT_FALSE(sink.enabled(LogLevel::kWarn, log_target::kSqlite));
  EXPECT_EQ(written(), "");
}

TEST_F(StderrLogSinkTest, TheEnvironmentIsReadWhenTheSinkIsMade) {
  const StderrLogSink sink(options());
  set_environment("trace");
  EXPECT_FALSE(sink.enabled(LogLevel::kInfo, log_target::kRuntime));
}

TEST_F(StderrLogSinkTest, WithoutAVariableTheEnvironmentIsNotAsked) {
  set_environment("trace");
  const StderrLogSink sink(options().environment_variable(""));
  EXPECT_FALSE(sink.enabled(LogLevel::kInfo, log_target::kRuntime));
}

TEST_F(StderrLogSinkTest, BadEntriesAreReportedOnceAndTheGoodOnesHold) {
  set_environment("off,perdure::runtime=loud,shout");
  const Logger logger(std::make_shared<StderrLogSink>(options()));
  logger.error("silenced by off");
  logger.error("silenced by off");
  const std::string text = written();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_TRUE(
      text.starts_with("1970-01-01T00:00:00.000000Z WARN  perdure::log: ignoring invalid entries of the log filter "
                       "variable=PERDURE_LOG_OF_STDERR_LOG_SINK_TEST problems="))
      << text;
  EXPECT_NE(text.find(R"(\"perdure::runtime=loud\" names the level \"loud\")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(; \"shout\" is neither a level)"), std::string::npos) << text;
}

TEST_F(StderrLogSinkTest, LinesOfSeveralThreadsDoNotMix) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const Logger logger(std::make_shared<StderrLogSink>(options()));
  const std::string message(300, 'x');
  {
    std::latch start(kThreads);
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        for (int line = 0; line < kLines; ++line) logger.warn(message);
      });
    }
  }
  const std::string line = "1970-01-01T00:00:00.000000Z WARN  perdure::runtime: " + message + "\n";
  std::string expected;
  for (int i = 0; i < kThreads * kLines; ++i) expected += line;
  EXPECT_TRUE(written() == expected);
}

}  // namespace
}  // namespace perdure
