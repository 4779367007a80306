// The trial subscription, tested with GoogleTest.
#include <chrono>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/testing/test_environment.h>
#include "trial.h"

namespace {

using namespace std::chrono_literals;
using perdure::ActivityContext;
using perdure::testing::TestEnvironment;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Trial : public ::testing::Test {
 protected:
  Trial() {
    env.mock_activity(kSendMail, [](ActivityContext&, const std::string&) {});
    env.mock_activity(kChargeCard,
                      [](ActivityContext&, const std::string& customer) { return "receipt of " + customer; });
  }

  TestEnvironment env{trial_workflows()};
  const perdure::Timestamp start = env.now();
};

TEST_F(Trial, IsChargedAfterThirtyDays) {
  EXPECT_EQ(env.run("t", "Trial", "Ada").result<std::string>(), "receipt of Ada");
  EXPECT_EQ(env.now() - start, 30 * 24h);
  EXPECT_THAT(env.inputs(kSendMail), ElementsAre("welcome, Ada"));
  EXPECT_THAT(env.inputs(kChargeCard), ElementsAre("Ada"));
}

TEST_F(Trial, IsNotChargedWhenCancelledInTime) {
  env.raise_event_after(30 * 24h - 1s, "t", "cancelled");
  EXPECT_EQ(env.run("t", "Trial", "Ada").result<std::string>(), "cancelled");
  EXPECT_THAT(env.calls(kChargeCard), IsEmpty());
}

TEST_F(Trial, IsChargedWhenCancelledTooLate) {
  env.raise_event_after(30 * 24h + 1s, "t", "cancelled");
  EXPECT_EQ(env.run("t", "Trial", "Ada").result<std::string>(), "receipt of Ada");
}

TEST_F(Trial, TriesTheCardAgainEveryDay) {
  env.mock_activity(kChargeCard, [this](ActivityContext&, const std::string&) -> std::string {
    if (env.calls(kChargeCard).size() < 3) throw std::runtime_error("the bank does not answer");
    return "receipt";
  });
  EXPECT_EQ(env.run("t", "Trial", "Ada").result<std::string>(), "receipt");
  EXPECT_EQ(env.now() - start, 32 * 24h);
}

TEST_F(Trial, GivesUpWhenTheBankNeverAnswers) {
  env.mock_activity(kChargeCard, [](ActivityContext&, const std::string&) -> std::string {
    throw std::runtime_error("the bank does not answer");
  });
  const auto status = env.run("t", "Trial", "Ada");
  EXPECT_EQ(status.state, perdure::OrchestrationState::kFailed) << env.timeline("t");
  EXPECT_EQ(env.calls(kChargeCard).size(), 4U);
}

TEST_F(Trial, SurvivesTheDeathOfItsProcess) {
  env.after(10 * 24h, [this] { env.restart(); });
  EXPECT_EQ(env.run("t", "Trial", "Ada").result<std::string>(), "receipt of Ada");
  EXPECT_EQ(env.calls(kSendMail).size(), 1U);
}

TEST_F(Trial, LeavesThisHistory) {
  env.raise_event_after(24h, "t", "cancelled");
  env.run("t", "Trial", "Ada");
  EXPECT_THAT(env.event_kinds("t"),
              ElementsAre("OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "ExternalSubscribed",
                          "TimerCreated", "ExternalEvent", "OrchestrationCompleted"));
}

}  // namespace
