// Activities: what is scheduled, what travels to the worker, and how an outcome reaches the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;

template <class E>
const E& event(const Harness& harness, EventId id) {
  return std::get<E>(harness.history.at(id - 1).body);
}

const messages::ExecuteActivity& execute(const TurnOutcome& outcome, std::size_t index = 0) {
  return std::get<messages::ExecuteActivity>(outcome.activities.at(index).body);
}

TEST(Activities, EveryOptionReachesTheEventAndTheMessage) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_activity<void>("A", 7,
                                         ActivityOptions()
                                             .session("s-1")
                                             .tag("gpu")
                                             .timeout(Milliseconds(30))
                                             .schedule_to_start_timeout(Milliseconds(20))
                                             .heartbeat_timeout(Milliseconds(10)));
  });
  const auto first = harness.start();
  const ActivityTimeouts timeouts{Milliseconds(30), Milliseconds(20), Milliseconds(10)};
  EXPECT_EQ(event<events::ActivityScheduled>(harness, 2),
            (events::ActivityScheduled{"A", "7", "s-1", "gpu", timeouts}));
  ASSERT_EQ(first.activities.size(), 1u);
  EXPECT_EQ(first.activities[0].instance, "inst");
  EXPECT_EQ(first.activities[0].execution, kFirstExecutionId);
  EXPECT_EQ(execute(first),
            (messages::ExecuteActivity{2, "A", "7", "s-1", "gpu", timeouts, "Test", SemanticVersion{1, 0, 0}}));
}

TEST(Activities, WithoutOptionsNothingIsSet) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_activity<void>("A"); });
  const auto first = harness.start();
  EXPECT_EQ(event<events::ActivityScheduled>(harness, 2), (events::ActivityScheduled{"A", {}, {}, {}, {}}));
  EXPECT_EQ(execute(first), (messages::ExecuteActivity{2, "A", {}, {}, {}, {}, "Test", SemanticVersion{1, 0, 0}}));
}

TEST(Activities, OptionsWithoutAnInputAreNoInput) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const ActivityOptions options = ActivityOptions().tag("gpu");
    co_await ctx.schedule_activity<void>("A", options);
  });
  harness.start();
  EXPECT_EQ(event<events::ActivityScheduled>(harness, 2), (events::ActivityScheduled{"A", {}, {}, "gpu", {}}));
}

TEST(Activities, TypedNamesCarryTheirTypes) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const Activity<std::string(double)> half{"Half"};
    const Activity<std::string()> name{"Name"};
    const std::string a = co_await ctx.schedule_activity(half, 3);  // an int that becomes the double it takes
    const std::string b = co_await ctx.schedule_activity(name, ActivityOptions().tag("t"));
    co_return a + b;
  });
  harness.start();
  EXPECT_EQ(event<events::ActivityScheduled>(harness, 2).input, Codec<double>::encode(3.0));
  harness.turn({completed(2, "\"x\"")});
  EXPECT_EQ(event<events::ActivityScheduled>(harness, 4), (events::ActivityScheduled{"Name", {}, {}, "t", {}}));
  EXPECT_EQ(harness.turn({completed(4, "\"y\"")}).output, "\"xy\"");
}

TEST(Activities, NoInputAndEmptyInputAreDifferent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto absent = ctx.schedule_activity<void>("Absent");
    auto raw_absent = ctx.schedule_activity<void>("RawAbsent", Raw());
    auto empty = ctx.schedule_activity<void>("Empty", Raw(std::string()));
    auto empty_string = ctx.schedule_activity<void>("EmptyString", "");
    co_await join{absent, raw_absent, empty, empty_string};
  });
  const auto first = harness.start();
  EXPECT_EQ(execute(first, 0).input, std::nullopt);
  EXPECT_EQ(execute(first, 1).input, std::nullopt);
  EXPECT_EQ(execute(first, 2).input, "");
  EXPECT_EQ(execute(first, 3).input, "\"\"");
}

TEST(Activities, RawResultsKeepAbsentAndEmptyApart) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const Raw absent = co_await ctx.schedule_activity<Raw>("A");
    const Raw empty = co_await ctx.schedule_activity<Raw>("B");
    co_return std::string(absent.payload() ? "present" : "absent") + "," + (empty.payload() ? "present" : "absent");
  });
  harness.start();
  harness.turn({completed(2)});
  EXPECT_EQ(harness.turn({completed(4, "")}).output, "\"absent,present\"");
}

TEST(Activities, AFailureIsThrownWithNameAndMessage) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      co_await ctx.schedule_activity<int>("ChargeCard");
    } catch (const ActivityError& error) {
      seen =
          error.error().name() + "|" + error.error().message() + "|" + error.error().to_string() + "|" + error.what();
    }
    co_return seen;
  });
  harness.start();
  const std::string sentence = "activity 'ChargeCard' failed: card declined";
  EXPECT_EQ(harness.turn({failed(2, "card declined")}).output,
            "\"ChargeCard|card declined|" + sentence + "|" + sentence + "\"");
}

TEST(Activities, AFailureThatNobodyCatchesFailsTheOrchestration) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_activity<void>("A"); });
  harness.start();
  const auto last = harness.turn({failed(2, "no")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, ErrorDetails(ApplicationError{ApplicationErrorKind::kOrchestrationFailed,
                                                      "activity 'A' failed: no", false}));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Activities, AnErrorThatIsNotTheApplicationsEndsTheOrchestrationPastItsCatchBlocks) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto result = co_await ctx.schedule_activity<int>("A").as_result();
    co_return "seen";
  });
  harness.start();
  const ErrorDetails poison = PoisonError{PoisonSubject::kActivity, "inst", 1, "A", 2, 11, 10, "m"};
  const auto last = harness.turn({failed_with(2, poison)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, poison);
}

TEST(Activities, AsResultGivesAFailureAsAValue) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto of_temporary = co_await ctx.schedule_activity<int>("A").as_result();
    auto named = ctx.schedule_activity<int>("B");
    auto of_named = co_await named.as_result();
    auto of_void = co_await ctx.schedule_activity<void>("C").as_result();
    std::string seen = of_temporary.error().message();
    seen += of_named ? " " + std::to_string(*of_named) : " failed";
    seen += of_void ? " fine" : " failed";
    co_return seen;
  });
  harness.start();
  harness.turn({failed(2, "no")});
  harness.turn({completed(4, "5")});
  EXPECT_EQ(harness.turn({completed(6)}).output, "\"no 5 fine\"");
}

TEST(Activities, ValueOfAFailedResultThrowsWhatTheAwaitWouldHave) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto result = co_await ctx.schedule_activity<int>("A").as_result();
    co_return result.value();
  });
  harness.start();
  EXPECT_EQ(describe(*harness.turn({failed(2, "no")}).error), "activity 'A' failed: no");
}

TEST(Activities, ANamedFutureMayBeAwaitedAgain) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto future = ctx.schedule_activity<int>("A");
    const int first = co_await future;
    const int second = co_await future;
    auto third = co_await future.as_result();
    co_return first + second + *third;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "5")}).output, "15");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Activities, AFailedFutureThrowsEveryTimeItIsAwaited) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto future = ctx.schedule_activity<int>("A");
    int caught = 0;
    for (int i = 0; i < 3; ++i) {
      try {
        co_await future;
      } catch (const ActivityError&) {
        ++caught;
      }
    }
    co_return caught;
  });
  harness.start();
  EXPECT_EQ(harness.turn({failed(2, "no")}).output, "3");
}

TEST(Activities, DoneTellsWhetherAnAwaitWouldWait) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    std::string seen = a.done() ? "1" : "0";
    co_await a;
    seen += a.done() ? "1" : "0";
    seen += b.done() ? "1" : "0";
    co_await b;
    seen += b.done() ? "1" : "0";
    co_return seen;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "1"), completed(3, "2")}).output, "\"0101\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Activities, TheyAreScheduledWhereTheyAreCalledNotWhereTheyAreAwaited) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto a = ctx.schedule_activity<void>("A");
    auto b = ctx.schedule_activity<void>("B");
    auto c = ctx.schedule_activity<void>("C");
    co_await c;
    co_await b;
    co_await a;
  });
  const auto first = harness.start();
  EXPECT_THAT(lines_of(first.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'A'",
                          "3 ActivityScheduled 'B'", "4 ActivityScheduled 'C'"));
  EXPECT_EQ(execute(first, 0).name + execute(first, 1).name + execute(first, 2).name, "ABC");
}

TEST(Activities, BracesScheduleFromLeftToRight) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await join{ctx.schedule_activity<void>("A"), ctx.schedule_activity<void>("B"), ctx.schedule_activity<void>("C")};
  });
  const auto first = harness.start();
  EXPECT_EQ(execute(first, 0).name + execute(first, 1).name + execute(first, 2).name, "ABC");
}

TEST(Activities, AResultOfAnotherTypeIsACodecError) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      co_await ctx.schedule_activity<int>("A");
    } catch (const CodecError& error) {
      seen = error.error().name() + " ";
      if (std::string(error.what()).starts_with("the value of 'A' cannot be decoded: ")) seen += "thrown";
    }
    auto result = co_await ctx.schedule_activity<int>("B").as_result();
    if (!result && result.error().source() == Error::Source::kCodec) seen += " as_result";
    auto absent = co_await ctx.schedule_activity<int>("C").as_result();
    if (!absent && absent.error().source() == Error::Source::kCodec) seen += " absent";
    co_return seen;
  });
  harness.start();
  harness.turn({completed(2, "\"no number\"")});
  harness.turn({completed(4, "not json at all")});
  EXPECT_EQ(harness.turn({completed(6)}).output, "\"A thrown as_result absent\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Activities, ADecodeErrorThatNobodyCatchesFailsTheOrchestrationOnly) {
  Harness harness(
      [](OrchestrationContext ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("A"); });
  harness.start();
  const auto last = harness.turn({completed(2, "{")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(std::get<ApplicationError>(*last.error).kind, ApplicationErrorKind::kOrchestrationFailed);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Activities, AVoidActivityIgnoresWhatItsResultIs) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_activity<void>("A"); });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "not json at all")}).status, ExecutionStatus::kCompleted);
}

TEST(Activities, DroppingAFutureOfThisTurnSendsNothing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto dropped = ctx.schedule_activity<void>("A");
    }
    co_await ctx.schedule_activity<void>("B");
  });
  const auto first = harness.start();
  EXPECT_THAT(lines_of(first.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'A'",
                          "3 ActivityScheduled 'B'", "4 ActivityCancelRequested of 2 reason=dropped_future"));
  ASSERT_EQ(first.activities.size(), 1u);
  EXPECT_EQ(execute(first).name, "B");
  EXPECT_THAT(first.cancelled_activities, ElementsAre());
}

TEST(Activities, AssigningToAFutureDropsWhatItHeld) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto future = ctx.schedule_activity<int>("A");
    co_await ctx.schedule_timer(Milliseconds(1));
    future = ctx.schedule_activity<int>("B");
    co_return co_await future;
  });
  harness.start();
  const auto second = harness.turn({fired(3)});
  EXPECT_THAT(second.cancelled_activities, ElementsAre(2));
  EXPECT_EQ(harness.turn({completed(5, "4")}).output, "4");
}

TEST(Activities, ADetachedOneRunsOnAndSurvivesANormalEnd) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.schedule_activity<void>("Early").detach();
    co_await ctx.schedule_timer(Milliseconds(1));
    ctx.schedule_activity<void>("Late").detach();
  });
  EXPECT_EQ(harness.start().activities.size(), 1u);
  const auto last = harness.turn({fired(3)});
  ASSERT_EQ(last.activities.size(), 1u);
  EXPECT_EQ(execute(last).name, "Late");
  EXPECT_THAT(last.cancelled_activities, ElementsAre());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
