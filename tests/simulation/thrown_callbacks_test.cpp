// Every kind of throw of the functions that a simulation and the provider validation are given.
#include <memory>
#include <stdexcept>
#include <string>

#include <perdure/testing/provider_validation.h>
#include "simulation/simulate_scene.h"

namespace perdure::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Kind = SimulationFindingKind;

enum class ThrownKind : std::uint8_t { kException, kNullWhat, kInteger, kText };

class NoWhat final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

[[noreturn]] void throw_kind(ThrownKind kind) {
  switch (kind) {
    case ThrownKind::kNullWhat:
      throw NoWhat();
    case ThrownKind::kInteger:
      throw 42;  // NOLINT(hicpp-exception-baseclass)
    case ThrownKind::kText:
      throw "text";  // NOLINT(hicpp-exception-baseclass)
    case ThrownKind::kException:
      break;
  }
  throw std::runtime_error("plain");
}

class ThrownCallbacks : public Simulate, public ::testing::WithParamInterface<ThrownKind> {
 protected:
  static std::string expected() {
    if (GetParam() == ThrownKind::kException) return "plain";
    return GetParam() == ThrownKind::kNullWhat ? "whose what() returns null" : "not a std::exception";
  }
  void expect_one_finding(Kind kind) const {
    const SimulationResult result = run();
    ASSERT_THAT(result.findings, SizeIs(1)) << result;
    EXPECT_EQ(result.findings[0].kind, kind) << result;
    EXPECT_THAT(result.findings[0].text, HasSubstr(expected()));
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, ThrownCallbacks,
                         ::testing::Values(ThrownKind::kException, ThrownKind::kNullWhat, ThrownKind::kInteger,
                                           ThrownKind::kText));

TEST_P(ThrownCallbacks, AnExpectationThatThrowsIsAFinding) {
  workload.start("c", "ChargeOnly", 5).expect([](const Client&) -> std::string { throw_kind(GetParam()); });
  expect_one_finding(Kind::kWrongEnd);
}

TEST_P(ThrownCallbacks, AConditionThatThrowsIsAFinding) {
  workload.start("c", "ChargeOnly", 5).until([](const Client&) -> bool { throw_kind(GetParam()); });
  expect_one_finding(Kind::kException);
}

TEST_P(ThrownCallbacks, AClientFunctionThatThrowsIsAFinding) {
  workload.start("c", "ChargeOnly", 5).at(1s, "throw", [](const Client&) { throw_kind(GetParam()); });
  expect_one_finding(Kind::kException);
}

TEST_P(ThrownCallbacks, AFactoryThatThrowsFailsTheValidation) {
  const ValidationReport report =
      run_provider_validation([]() -> std::unique_ptr<ProviderFactory> { throw_kind(GetParam()); }, "commit_id.");
  ASSERT_GT(report.run, 0U);
  ASSERT_EQ(report.failures.size(), report.run);
  for (const auto& failure : report.failures) EXPECT_THAT(failure.what, HasSubstr(expected()));
}

TEST_F(Simulate, AnExpectationThatThrowsAnEmptyTextIsAFinding) {
  workload.start("c", "ChargeOnly", 5).expect([](const Client&) -> std::string { throw std::runtime_error(""); });
  EXPECT_THAT(run().findings, SizeIs(1));
}

}  // namespace
}  // namespace perdure::testing
