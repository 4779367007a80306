// Errors: category, whether a retry may help, and the text that people see.
#include <perdure/error_details.h>

#include <string>

#include <gtest/gtest.h>

namespace perdure {
namespace {

ErrorDetails application(ApplicationErrorKind kind, bool retryable = false) {
  return ApplicationError{kind, "text", retryable};
}

TEST(ErrorDetailsTest, InfrastructureNamesTheOperation) {
  const ErrorDetails error = InfrastructureError{"fetch_work_item", "disk full", true};
  EXPECT_EQ(category(error), "infrastructure");
  EXPECT_EQ(describe(error), "infrastructure:fetch_work_item: disk full");
}

TEST(ErrorDetailsTest, ConfigurationSaysWhatIsWrong) {
  const auto text = [](ConfigurationErrorKind kind, std::string message) {
    return describe(ConfigurationError{kind, "Order", std::move(message)});
  };
  EXPECT_EQ(category(ConfigurationError{}), "configuration");
  EXPECT_EQ(text(ConfigurationErrorKind::kNondeterminism, "why"), "nondeterministic: why");
  EXPECT_EQ(text(ConfigurationErrorKind::kCorruptHistory, "why"), "corrupt history: why");
  EXPECT_EQ(text(ConfigurationErrorKind::kIncompatibleVersion, "why"), "incompatible version: why");
  EXPECT_EQ(text(ConfigurationErrorKind::kNondeterminism, ""), "nondeterministic in Order");
  EXPECT_EQ(text(ConfigurationErrorKind::kCorruptHistory, ""), "corrupt history in Order");
  EXPECT_EQ(text(ConfigurationErrorKind::kIncompatibleVersion, ""), "incompatible version in Order");
}

TEST(ErrorDetailsTest, ApplicationIsTheMessageOrSaysHowItEnded) {
  EXPECT_EQ(category(ApplicationError{}), "application");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kActivityFailed)), "text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kOrchestrationFailed)), "text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kTimedOut)), "text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kLimitExceeded)), "text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kMisuse)), "text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kPanicked)), "orchestration panicked: text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kCancelled)), "cancelled: text");
  EXPECT_EQ(describe(application(ApplicationErrorKind::kTerminated)), "terminated: text");
}

TEST(ErrorDetailsTest, PoisonNamesItsSubjectAndTheAttempts) {
  PoisonError error{PoisonSubject::kOrchestration, "order-1", 2, "ChargeCard", 3, 11, 10, "bytes"};
  EXPECT_EQ(category(error), "poison");
  EXPECT_EQ(describe(error), "poison: orchestration order-1 exceeded 11 attempts (max 10)");
  error.subject = PoisonSubject::kActivity;
  EXPECT_EQ(describe(error), "poison: activity ChargeCard#3 exceeded 11 attempts (max 10)");
  error.subject = PoisonSubject::kUndecodableHistory;
  EXPECT_EQ(describe(error),
            "poison: orchestration order-1 history deserialization failed after 11 attempts (max 10): bytes");
}

TEST(ErrorDetailsTest, OnlyInfrastructureAndApplicationMayBeRetryable) {
  EXPECT_TRUE(is_retryable(InfrastructureError{"o", "m", true}));
  EXPECT_FALSE(is_retryable(InfrastructureError{"o", "m", false}));
  EXPECT_TRUE(is_retryable(application(ApplicationErrorKind::kActivityFailed, true)));
  EXPECT_FALSE(is_retryable(application(ApplicationErrorKind::kActivityFailed, false)));
  EXPECT_FALSE(is_retryable(ConfigurationError{}));
  EXPECT_FALSE(is_retryable(PoisonError{}));
}

TEST(ErrorDetailsTest, EnumeratorsHaveTexts) {
  EXPECT_EQ(to_string(ConfigurationErrorKind::kNondeterminism), "nondeterminism");
  EXPECT_EQ(to_string(ConfigurationErrorKind::kCorruptHistory), "corrupt_history");
  EXPECT_EQ(to_string(ConfigurationErrorKind::kIncompatibleVersion), "incompatible_version");
  EXPECT_EQ(to_string(ApplicationErrorKind::kActivityFailed), "activity_failed");
  EXPECT_EQ(to_string(ApplicationErrorKind::kOrchestrationFailed), "orchestration_failed");
  EXPECT_EQ(to_string(ApplicationErrorKind::kPanicked), "panicked");
  EXPECT_EQ(to_string(ApplicationErrorKind::kCancelled), "cancelled");
  EXPECT_EQ(to_string(ApplicationErrorKind::kTerminated), "terminated");
  EXPECT_EQ(to_string(ApplicationErrorKind::kTimedOut), "timed_out");
  EXPECT_EQ(to_string(ApplicationErrorKind::kLimitExceeded), "limit_exceeded");
  EXPECT_EQ(to_string(ApplicationErrorKind::kMisuse), "misuse");
  EXPECT_EQ(to_string(PoisonSubject::kOrchestration), "orchestration");
  EXPECT_EQ(to_string(PoisonSubject::kActivity), "activity");
  EXPECT_EQ(to_string(PoisonSubject::kUndecodableHistory), "undecodable_history");
  EXPECT_EQ(to_string(static_cast<PoisonSubject>(200)), "unknown");
}

}  // namespace
}  // namespace perdure
