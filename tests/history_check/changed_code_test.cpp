// A running order is checked against changed code: what breaks it, what does not, and how it is told.
#include "history_check/scene.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Orchestration<int> order(Ctx ctx, int n) {
  const int paid = co_await ctx.schedule_activity<int>("Charge", n);
  co_await ctx.schedule_timer(1s);
  const int packed = co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
  const int approved = co_await ctx.schedule_wait<int>("approved");
  co_return co_await ctx.schedule_activity<int>("Ship", packed + approved);
}

Orchestration<int> pack(Ctx, int n) {
  co_return n + 1;
}

class ChangedCode : public HistoryCheckScene {
 protected:
  // Events 1 to 8: it has charged, slept and packed, and waits for its approval.
  ChangedCode() {
    auto& node = cluster.start_node(code("Order", order).merge(code("Pack", pack)).merge(echoes({"Charge", "Ship"})));
    start("o", "Order", 7);
    cluster.advance(1s);
    cluster.stop_node(node);
    EXPECT_EQ(cluster.event_kinds("o").back(), "ExternalSubscribed");
  }
  // The report about the one order, which must be a divergence; "fits" if there is none.
  template <class F>
  std::string divergence(F changed) {
    const auto result = check(code("Order", changed));
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.counts.instances, 1U);
    if (result.findings.empty()) return "fits";
    EXPECT_THAT(result.findings, ElementsAre(IsFinding(Kind::kDiverges, "o", 1)));
    EXPECT_FALSE(result.ok());
    return result.findings.front().report;
  }
};
PERDURE_ON_EVERY_STORE(ChangedCode);

// ---- what fits -----------------------------------------------------------------------------------------------------

TEST_P(ChangedCode, TheSameCodeFits) {
  const auto result = check(code("Order", order));
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.counts, (HistoryCheckProgress{.instances = 1, .executions = 1, .events = 8, .findings = 0}));
}

TEST_P(ChangedCode, WhatComesBehindThePlaceWhereItWaitsMayBeAnything) {
  EXPECT_EQ(divergence([](Ctx ctx, int n) -> Orchestration<int> {
              const int paid = co_await ctx.schedule_activity<int>("Charge", n);
              co_await ctx.schedule_timer(1s);
              co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
              co_await ctx.schedule_wait<int>("approved");
              co_await ctx.schedule_activity<int>("SendLetter", n);
              co_await ctx.schedule_timer(24h);
              co_return 0;
            }),
            "fits");
}

TEST_P(ChangedCode, ATimersTimeMayChange) {
  EXPECT_EQ(divergence([](Ctx ctx, int n) -> Orchestration<int> {
              const int paid = co_await ctx.schedule_activity<int>("Charge", n);
              co_await ctx.schedule_timer(24h);
              co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
              co_return co_await ctx.schedule_wait<int>("approved");
            }),
            "fits");
}

TEST_P(ChangedCode, NewVersionsBesideTheOldOneDoNotMatter) {
  Registry registry = code("Order", order);
  registry.add_orchestration("Order", "2.0.0", [](Ctx) -> Orchestration<int> { co_return 0; });
  EXPECT_TRUE(check(registry).ok());
}

// ---- what breaks ---------------------------------------------------------------------------------------------------

TEST_P(ChangedCode, ARenamedActivity) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                co_return co_await ctx.schedule_activity<int>("ChargeCard", n);
              }),
              AllOf(StartsWith("the code made another decision than its history (instance 'o', execution 1, "
                               "orchestration 'Order' 1.0.0, turn 1)"),
                    HasSubstr("- 2  ActivityScheduled 'Charge' input=7   <- recorded in history"),
                    HasSubstr("+ ActivityScheduled 'ChargeCard' input=7   <- decided by the code")));
}

TEST_P(ChangedCode, AnotherInput) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                co_return co_await ctx.schedule_activity<int>("Charge", n + 1);
              }),
              HasSubstr("+ ActivityScheduled 'Charge' input=8"));
}

TEST_P(ChangedCode, AnotherTypeOfItsOwnInput) {
  EXPECT_THAT(divergence([](Ctx ctx, std::string) -> Orchestration<int> {
                co_return co_await ctx.schedule_activity<int>("Charge", 7);
              }),
              AllOf(HasSubstr("- 2  ActivityScheduled 'Charge'"), HasSubstr("+ (nothing)")));
}

TEST_P(ChangedCode, SwappedSteps) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                co_await ctx.schedule_timer(1s);
                co_return co_await ctx.schedule_activity<int>("Charge", n);
              }),
              AllOf(HasSubstr("- 2  ActivityScheduled 'Charge'"), HasSubstr("+ TimerCreated")));
}

TEST_P(ChangedCode, AnActivityAddedInTheMiddle) {
  EXPECT_THAT(
      divergence([](Ctx ctx, int n) -> Orchestration<int> {
        const int paid = co_await ctx.schedule_activity<int>("Charge", n);
        co_await ctx.schedule_activity<int>("SendLetter", paid);
        co_await ctx.schedule_timer(1s);
        co_return 0;
      }),
      AllOf(HasSubstr("turn 2"), HasSubstr("- 4  TimerCreated"), HasSubstr("+ ActivityScheduled 'SendLetter'")));
}

// Its last turn is committed: nothing can be added to it any more.
TEST_P(ChangedCode, AnActivityAddedBesideWhatItWaitsFor) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                const int paid = co_await ctx.schedule_activity<int>("Charge", n);
                co_await ctx.schedule_timer(1s);
                co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
                auto approval = ctx.schedule_wait<int>("approved");
                auto letter = ctx.schedule_activity<int>("SendLetter", paid);
                co_return co_await approval + co_await letter;
              }),
              AllOf(StartsWith("the code made a decision that is not in its history"), HasSubstr("turn 4"),
                    HasSubstr("- (nothing)"), HasSubstr("+ ActivityScheduled 'SendLetter'")));
}

TEST_P(ChangedCode, ARemovedTimer) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                const int paid = co_await ctx.schedule_activity<int>("Charge", n);
                co_return co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
              }),
              AllOf(HasSubstr("- 4  TimerCreated"), HasSubstr("+ SubOrchestrationScheduled 'Pack'")));
}

TEST_P(ChangedCode, AChildOfAnotherName) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                const int paid = co_await ctx.schedule_activity<int>("Charge", n);
                co_await ctx.schedule_timer(1s);
                co_return co_await ctx.schedule_sub_orchestration<int>("PackCarefully", paid);
              }),
              AllOf(HasSubstr("- 6  SubOrchestrationScheduled 'Pack'"),
                    HasSubstr("+ SubOrchestrationScheduled 'PackCarefully'")));
}

TEST_P(ChangedCode, CodeThatEndsEarlier) {
  EXPECT_THAT(divergence([](Ctx ctx, int n) -> Orchestration<int> {
                const int paid = co_await ctx.schedule_activity<int>("Charge", n);
                co_await ctx.schedule_timer(1s);
                co_return co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
              }),
              AllOf(HasSubstr("- 8  ExternalSubscribed 'approved'"), HasSubstr("+ (nothing)")));
}

Task<int> await_it(Ctx, Future<int>* future) {
  co_return co_await *future;
}

TEST_P(ChangedCode, CodeThatMisusesTheApiWhereItRanBefore) {
  start("s", "Sleepy");
  run(code("Sleepy", [](Ctx ctx) -> Orchestration<int> {
    auto slow = ctx.schedule_activity<int>("Slow", ActivityOptions().tag("nowhere"));
    co_await ctx.schedule_timer(0s);
    co_await ctx.schedule_wait<int>("go");
    co_return co_await slow;
  }));
  const auto careless = [](Ctx ctx) -> Orchestration<int> {
    std::optional<Future<int>> slow(ctx.schedule_activity<int>("Slow", ActivityOptions().tag("nowhere")));
    auto task = await_it(ctx, &*slow);
    co_await select{task, ctx.schedule_timer(0s)};
    slow.reset();
    co_return co_await ctx.schedule_wait<int>("go");
  };
  HistoryCheckOptions options;
  options.filter.ids = std::vector<std::string>{"s"};
  const auto result = check(code("Sleepy", careless), options);
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kDiverges, "s", 1)));
  EXPECT_THAT(result.findings.front().report, HasSubstr("'Slow' was dropped while other code awaits it"));
}

// ---- code that is not there ----------------------------------------------------------------------------------------

TEST_P(ChangedCode, OnlyANewVersionIsRegistered) {
  Registry registry;
  registry.add_orchestration("Order", "2.0.0", order);
  registry.add_orchestration("Order", "2.1.0", order);
  const auto result = check(registry);
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kNotRegistered, "o", 1)));
  const HistoryFinding& finding = result.findings.front();
  EXPECT_EQ(finding.name, "Order");
  EXPECT_EQ(finding.version, SemanticVersion::of("1.0.0"));
  EXPECT_TRUE(finding.live);
  EXPECT_THAT(finding.report, HasSubstr("orchestration 'Order' 1.0.0 is not registered (registered versions: 2.0.0, "
                                        "2.1.0); register it"));
}

TEST_P(ChangedCode, NothingOfThatNameIsRegistered) {
  const auto result = check(code("Other", pack));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kNotRegistered, "o", 1)));
  EXPECT_THAT(result.findings.front().report, StartsWith("orchestration 'Order' 1.0.0 is not registered; "));
  HistoryCheckOptions options;
  options.only_registered = true;
  const auto of_others = check(code("Other", pack), options);
  EXPECT_TRUE(of_others.ok());
  EXPECT_EQ(of_others.counts.instances, 0U);
}

TEST_P(ChangedCode, OnlyRegisteredStillAsksForTheVersion) {
  Registry registry;
  registry.add_orchestration("Order", "2.0.0", order);
  HistoryCheckOptions options;
  options.only_registered = true;
  EXPECT_THAT(check(registry, options).findings, ElementsAre(IsFinding(Kind::kNotRegistered, "o", 1)));
}

// ---- how it is told ------------------------------------------------------------------------------------------------

TEST_P(ChangedCode, AFindingNamesItsSubjectAboveTheReport) {
  const auto result = check(code("Order", pack));
  ASSERT_THAT(result.findings, ElementsAre(IsFinding(Kind::kDiverges, "o", 1)));
  HistoryFinding finding = result.findings.front();
  EXPECT_EQ(finding.to_string(), "instance 'o', execution 1, orchestration 'Order' 1.0.0: diverges\n" + finding.report);
  finding.live = false;
  finding.version.reset();
  EXPECT_THAT(finding.to_string(),
              StartsWith("instance 'o', execution 1, orchestration 'Order': diverges (it has ended)\n"));
}

TEST(HistoryFindingKinds, HaveNames) {
  EXPECT_EQ(to_string(Kind::kDiverges), "diverges");
  EXPECT_EQ(to_string(Kind::kNotRegistered), "not registered");
  EXPECT_EQ(to_string(Kind::kUndecodable), "undecodable");
  EXPECT_EQ(to_string(Kind::kCorrupt), "corrupt");
  EXPECT_EQ(to_string(Kind::kCannotTell), "cannot tell");
}

// An execution that another engine began is replayed all the same.
TEST_P(ChangedCode, TheEngineThatAnExecutionIsPinnedToIsNotJudged) {
  start("newer", "Pack2", 1);
  RuntimeOptions options;
  options.engine_version = SemanticVersion::of("9.0.0");
  const auto waits = [](Ctx ctx, int) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); };
  run(code("Pack2", waits), options);
  ASSERT_EQ(info("newer").pinned_version, SemanticVersion::of("9.0.0"));
  const auto result = check(code("Pack2", waits).merge(code("Order", order)));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.counts.executions, 2U);
}

// The check runs orchestrations, and nothing else.
TEST_P(ChangedCode, NoActivityRunsAndNothingIsTraced) {
  int ran = 0;
  Registry registry = code("Order", [](Ctx ctx, int n) -> Orchestration<int> {
    ctx.trace_info("at work");
    const int paid = co_await ctx.schedule_activity<int>("Charge", n);
    co_await ctx.schedule_timer(1s);
    co_await ctx.schedule_sub_orchestration<int>("Pack", paid);
    co_return co_await ctx.schedule_wait<int>("approved");
  });
  registry.add_activity("Charge", [&ran](ActivityContext&, int n) { return ran = n; });
  cluster.log().clear();
  EXPECT_TRUE(check(registry).ok());
  EXPECT_EQ(ran, 0);
  EXPECT_THAT(cluster.log().records(), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
