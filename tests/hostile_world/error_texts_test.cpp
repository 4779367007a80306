// Texts of errors that are 20 MB long, of letters or of bytes that are not UTF-8, on every way that an error can take.
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include "model/utf8.h"
#include "support/eventually.h"

namespace perdure::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kThrownBytes = 20'000'000;
// A description may begin with a few words, and the text ends with notes.
constexpr std::size_t kMostOfText = kMaxErrorTextBytes + 200;
constexpr const char* kCut = " (cut at Limits::max_error_text_bytes)";

class ThrownTexts : public ::testing::TestWithParam<char> {
 protected:
  ThrownTexts() {
    const std::string text(kThrownBytes, GetParam());
    registry.add_activity("Throws", [text](ActivityContext&) { throw std::runtime_error(text); });
    registry.add_async_activity("Fails", [text](ActivityContext, ActivityCompletion<void> done) { done.fail(text); });
    registry.add_orchestration("Throws", [text](OrchestrationContext) -> Orchestration<int> {
      throw std::runtime_error(text);
      co_return 1;
    });
    options.logger = Logger(log);
  }

  OrchestrationStatus end_of(const std::string& name) {
    const Runtime runtime(store, registry, options);
    client.start_orchestration("i", name);
    OrchestrationStatus status = client.wait_for_orchestration("i", kPatience);
    return status;
  }
  // Adds an orchestration that catches the error of an activity and returns its text.
  void return_text_of(const std::string& activity) {
    registry.add_orchestration("Returns", [activity](OrchestrationContext ctx) -> Orchestration<std::string> {
      std::string text = "no error";
      try {
        co_await ctx.schedule_activity<void>(activity);
      } catch (const ActivityError& error) {
        text = error.error().message();
      }
      co_return text;
    });
  }
  static void expect_cut(const std::string& text) {
    EXPECT_GT(text.size(), kMaxErrorTextBytes - 4);
    EXPECT_LT(text.size(), kMostOfText);
    EXPECT_THAT(text.substr(text.size() - std::min<std::size_t>(text.size(), 100)), EndsWith(kCut));
    EXPECT_FALSE(detail::find_invalid_utf8(text));
    if (GetParam() == '\xff') {
      EXPECT_TRUE(text.find("bytes that are not UTF-8 were replaced") != std::string::npos);
    }
  }
  void expect_short_log() const {
    EXPECT_THAT(log->find("failed"), ::testing::Not(IsEmpty()));
    for (const CapturedLogRecord& record : log->records()) {
      for (const auto& [key, value] : record.fields)
        EXPECT_LT(value.size(), kMostOfText) << record.message << " " << key;
    }
  }

  std::shared_ptr<Provider> store = make_memory_provider();
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  Client client{store};
  Registry registry;
  RuntimeOptions options;
};
INSTANTIATE_TEST_SUITE_P(OfBytes, ThrownTexts, ::testing::Values('x', '\xff'),
                         [](const auto& byte) { return byte.param == 'x' ? "Letters" : "NotUtf8"; });

TEST_P(ThrownTexts, OfActivityIsCutWhenItsOrchestrationReturnsIt) {
  return_text_of("Throws");
  const OrchestrationStatus status = end_of("Returns");
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  expect_cut(status.result<std::string>());
  expect_short_log();
}

TEST_P(ThrownTexts, OfAsynchronousActivityIsCutWhenItsOrchestrationReturnsIt) {
  return_text_of("Fails");
  const OrchestrationStatus status = end_of("Returns");
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  expect_cut(status.result<std::string>());
}

TEST_P(ThrownTexts, OfActivityIsCutWhenItEndsItsOrchestration) {
  registry.add_orchestration("Passes", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_activity<void>("Throws");
    co_return 1;
  });
  const OrchestrationStatus status = end_of("Passes");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  expect_cut(status.error_text());
  EXPECT_THAT(status.error_text().substr(0, 100), HasSubstr("activity 'Throws' failed: "));
  expect_short_log();
}

TEST_P(ThrownTexts, OfOrchestrationIsCut) {
  const OrchestrationStatus status = end_of("Throws");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  expect_cut(status.error_text());
  expect_short_log();
}

TEST_P(ThrownTexts, OfChildIsCutWhenItsParentReturnsIt) {
  registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto child = co_await ctx.schedule_sub_orchestration<int>("Throws").as_result();
    co_return child.error().message();
  });
  const OrchestrationStatus status = end_of("Parent");
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  expect_cut(status.result<std::string>());
}

Task<int> throwing_task(char byte) {
  throw std::runtime_error(std::string(kThrownBytes, byte));
  co_return 1;
}

TEST_P(ThrownTexts, OfTaskIsCutWhenItsOrchestrationReturnsIt) {
  registry.add_orchestration("Tasks", [byte = GetParam()](OrchestrationContext) -> Orchestration<std::string> {
    auto result = co_await throwing_task(byte).as_result();
    co_return result.error().message();
  });
  const OrchestrationStatus status = end_of("Tasks");
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  expect_cut(status.result<std::string>());
}

TEST_P(ThrownTexts, OfActivityIsACustomStatus) {
  registry.add_orchestration("Shows", [](OrchestrationContext ctx) -> Orchestration<int> {
    auto result = co_await ctx.schedule_activity<int>("Throws").as_result();
    ctx.set_custom_status(result.error().message());
    co_return 1;
  });
  const OrchestrationStatus status = end_of("Shows");
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  expect_cut(status.custom_status.value_or(""));
}

// The limit follows the one of payloads, so that the text still fits into one. As JSON a control has six bytes.
TEST(ThrownTextsWithSmallPayloads, FitIntoAPayloadWhateverTheyHold) {
  Registry registry;
  registry.add_activity("Throws",
                        [](ActivityContext&) { throw std::runtime_error(std::string(kThrownBytes, '\x01')); });
  registry.add_orchestration("Returns", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto result = co_await ctx.schedule_activity<int>("Throws").as_result();
    co_return result.error().message();
  });
  const auto store = make_memory_provider();
  const Client client(store);
  RuntimeOptions options;
  options.limits.max_payload_bytes = 8'000;
  ASSERT_EQ(options.limits.max_error_text_bytes(), 1'000U);
  const Runtime runtime(store, registry, options);
  client.start_orchestration("i", "Returns");
  const OrchestrationStatus status = client.wait_for_orchestration("i", kPatience);
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  EXPECT_EQ(status.result<std::string>(), std::string(1'000, '\x01') + kCut);
}

// As long as a payload may be.
TEST(LongReasons, AreCutInTheErrorThatAParentReturns) {
  Registry registry;
  registry.add_orchestration("Waits", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_wait<void>("never");
    co_return 1;
  });
  registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto child =
        co_await ctx.schedule_sub_orchestration<int>("Waits", SubOrchestrationOptions().instance_id("c")).as_result();
    co_return child.error().message();
  });
  const auto store = make_memory_provider();
  const Client client(store);
  const Runtime runtime(store, registry);
  client.start_orchestration("p", "Parent");
  ASSERT_TRUE(eventually([&] { return client.get_orchestration_status("c").state == OrchestrationState::kRunning; }));
  client.terminate_instance("c", std::string(Limits().max_payload_bytes, 'r'));
  const OrchestrationStatus status = client.wait_for_orchestration("p", kPatience);
  ASSERT_TRUE(status.completed()) << status.error_text().substr(0, 500);
  EXPECT_LT(status.result<std::string>().size(), kMostOfText);
}

}  // namespace
}  // namespace perdure::test
