// Executions that have ended: they are looked at only when everything is asked for, and as far as their code had a say.
#include "history_check/scene.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Orchestration<int> work(Ctx ctx, int n) {
  const int done = co_await ctx.schedule_activity<int>("Work", n);
  co_await ctx.schedule_wait<int>("go");
  if (done < 0) throw OrchestrationError("negative");
  co_return done;
}

class Ended : public HistoryCheckScene {
 protected:
  static Registry real() { return code("Work", work).merge(echoes({"Work"})); }

  // "completed", "failed", "cancelled" and "terminated" end in this way, after two turns.
  Ended() {
    for (const char* id : {"completed", "cancelled", "terminated"}) start(id, "Work", 1);
    start("failed", "Work", -1);
    run(real());
    for (const char* id : {"completed", "failed"}) cluster.client().raise_event(id, "go", 0);
    cluster.client().cancel_instance("cancelled", "enough");
    cluster.client().terminate_instance("terminated", "enough");
    run(real());
    EXPECT_EQ(info("completed").status, ExecutionStatus::kCompleted);
    EXPECT_EQ(info("failed").status, ExecutionStatus::kFailed);
    EXPECT_EQ(info("cancelled").status, ExecutionStatus::kCancelled);
    EXPECT_EQ(info("terminated").status, ExecutionStatus::kTerminated);
  }
};
PERDURE_ON_EVERY_STORE(Ended);

TEST_P(Ended, TheLiveCheckDoesNotLookAtThem) {
  const auto result = check(code("Other", work));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts, HistoryCheckProgress());
}

TEST_P(Ended, TheSameCodeFitsAllOfThem) {
  const auto result = check_stored(code("Work", work));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 4U);
}

TEST_P(Ended, ChangedCodeIsFoundInTheTurnsThatTheCodeTook) {
  const auto result = check_stored(code(
      "Work", [](Ctx ctx, int n) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Other", n); }));
  EXPECT_THAT(
      result.findings,
      UnorderedElementsAre(IsFinding(Kind::kDiverges, "completed", 1), IsFinding(Kind::kDiverges, "failed", 1),
                           IsFinding(Kind::kDiverges, "cancelled", 1), IsFinding(Kind::kDiverges, "terminated", 1)));
  for (const auto& finding : result.findings) EXPECT_FALSE(finding.live);
}

// The last turns of what was cancelled and terminated are the engine's.
TEST_P(Ended, AnotherResultIsFoundWhereTheCodeEndedIt) {
  const auto result = check_stored(code("Work", [](Ctx ctx, int n) -> Orchestration<int> {
    co_await ctx.schedule_activity<int>("Work", n);
    co_await ctx.schedule_wait<int>("go");
    co_return 77;
  }));
  ASSERT_THAT(result.findings, UnorderedElementsAre(IsFinding(Kind::kDiverges, "completed", 1),
                                                    IsFinding(Kind::kDiverges, "failed", 1)));
  for (const auto& finding : result.findings) EXPECT_THAT(finding.report, HasSubstr("did not end as recorded"));
}

TEST_P(Ended, AnErrorThatALowerLimitCutFits) {
  const auto fail = [](Ctx, int n) -> Orchestration<int> {
    throw OrchestrationError(std::string(5'000, 'x'));
    co_return n;
  };
  RuntimeOptions options;
  options.limits.max_payload_bytes = 8'000;
  start("cut", "Fail", 1);
  run(code("Fail", fail), options);
  ASSERT_THAT(cluster.client().get_orchestration_status("cut").error_text(), HasSubstr("(cut at"));
  EXPECT_TRUE(check_stored(code("Fail", fail).merge(code("Work", work))).ok());
}

TEST_P(Ended, MissingCodeIsFoundToo) {
  const auto result = check_stored(code("Other", work));
  ASSERT_EQ(result.findings.size(), 4U);
  for (const auto& finding : result.findings) {
    EXPECT_EQ(finding.kind, Kind::kNotRegistered);
    EXPECT_FALSE(finding.live);
  }
}

class EndedByTheEngine : public HistoryCheckScene {};
PERDURE_ON_EVERY_STORE(EndedByTheEngine);

// What the code of the last turn decided was discarded, and who ended it was another deployment.
TEST_P(EndedByTheEngine, AnExecutionThatDivergedFitsTheCodeThatWroteIt) {
  const Registry original = code("Work", work).merge(echoes({"Work"}));
  start("i", "Work", 1);
  run(original);
  cluster.client().raise_event("i", "go", 0);
  const Registry changed = code("Work", [](Ctx, int) -> Orchestration<int> { co_return 0; });
  run(changed);
  ASSERT_EQ(info("i").status, ExecutionStatus::kFailed);
  EXPECT_TRUE(check_stored(original).ok());
  EXPECT_THAT(check_stored(changed).findings, ElementsAre(IsFinding(Kind::kDiverges, "i", 1)));
}

// No code ever ran, so there is none that could be missing.
TEST_P(EndedByTheEngine, AStartThatNeverFoundItsCodeIsNoFinding) {
  start("i", "Nowhere", 1);
  cluster.client().terminate_instance("i", "nobody knows it");
  run(code("Work", work));
  ASSERT_EQ(info("i").status, ExecutionStatus::kTerminated);
  ASSERT_EQ(info("i").version, std::nullopt);
  const auto result = check_stored(code("Work", work));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 1U);
}

}  // namespace
}  // namespace perdure::test
