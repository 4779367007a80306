// Code that no longer does what its history says: how it is seen, how it is told, and what becomes of the instance.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kSame = "no error at all";

Orchestration<int> a_then_b(OrchestrationContext ctx) {
  const int a = co_await ctx.schedule_activity<int>("A", 1);
  const int b = co_await ctx.schedule_activity<int>("B", 2);
  co_return a + b;
}

// a_then_b, waiting for B; completed, if `to_the_end`.
Harness recorded_a_then_b(bool to_the_end = false) {
  Harness harness(a_then_b);
  harness.start();
  harness.turn({completed(2, "10")});
  if (to_the_end) harness.turn({completed(4, "5")});
  return harness;
}

// Schedules B behind A, or waits without a word.
auto later_b(bool schedules) {
  return [schedules](OrchestrationContext ctx) -> Orchestration<void> {
    auto timer = ctx.schedule_timer(Milliseconds(1));
    co_await ctx.schedule_activity<int>("A");
    if (schedules) co_await ctx.schedule_activity<int>("B");
    co_await timer;
  };
}

template <class F>
std::string replayed(Harness harness, F changed) {
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.redeploy(changed);
  return divergence_of(harness.replay_failure());
}

// ---- how it is seen ------------------------------------------------------------------------------------------------

TEST(Divergence, ADecisionThatHistoryDoesNotHaveIsNondeterminism) {
  const auto text = replayed(recorded_a_then_b(), [](OrchestrationContext ctx) -> Orchestration<int> {
    const int a = co_await ctx.schedule_activity<int>("A", 1);
    auto b = ctx.schedule_activity<int>("B", 2);
    auto c = ctx.schedule_activity<int>("C", 3);
    co_return a + co_await b + co_await c;
  });
  EXPECT_THAT(text, AllOf(HasSubstr("the code made a decision that is not in its history"), HasSubstr("turn 2")));
}

TEST(Divergence, ADecisionThatComesATurnTooEarlyIsNondeterminismAlthoughALaterTurnHasIt) {
  const auto text = replayed(recorded_a_then_b(), [](OrchestrationContext ctx) -> Orchestration<int> {
    auto a = ctx.schedule_activity<int>("A", 1);
    auto b = ctx.schedule_activity<int>("B", 2);
    co_return co_await a + co_await b;
  });
  EXPECT_THAT(text, AllOf(HasSubstr("the code made a decision that is not in its history"), HasSubstr("turn 1")));
}

TEST(Divergence, ADecisionThatComesATurnTooLateIsNondeterminism) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto a = ctx.schedule_activity<int>("A", 1);
    auto b = ctx.schedule_activity<int>("B", 2);
    co_return co_await a + co_await b;
  });
  harness.start();
  harness.turn({completed(2, "10")});
  EXPECT_THAT(replayed(std::move(harness), a_then_b),
              AllOf(HasSubstr("a recorded decision was not repeated"), HasSubstr("turn 1")));
}

TEST(Divergence, ADecisionThatTheNextEventOfTheSameBatchCausesIsClaimedThen) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    const int first = co_await a;
    const int second = co_await b;
    co_return co_await ctx.schedule_activity<int>("C", first + second);
  });
  harness.start();
  harness.turn({completed(2, "1"), completed(3, "2")});
  EXPECT_EQ(harness.lines().back(), "6 ActivityScheduled 'C' input=3");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Divergence, ARecordedDecisionThatIsNotRepeatedIsNondeterminism) {
  Harness harness(later_b(true));
  harness.start();
  harness.turn({completed(3, "1")});
  EXPECT_THAT(replayed(std::move(harness), later_b(false)),
              AllOf(HasSubstr("a recorded decision was not repeated"),
                    HasSubstr("- 5  ActivityScheduled 'B'   <- recorded in history"), HasSubstr("+ (nothing)")));
}

TEST(Divergence, CodeThatFinishesEarlyIsNondeterminism) {
  const auto text = replayed(recorded_a_then_b(), [](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.schedule_activity<int>("A", 1).detach();
    co_return 1;
  });
  EXPECT_THAT(text, AllOf(HasSubstr("the code finished although its history continues"),
                          HasSubstr("+ OrchestrationCompleted output=1"), HasSubstr("turn 1")));
}

TEST(Divergence, CodeThatThrowsEarlyIsNondeterminism) {
  const auto text = replayed(recorded_a_then_b(), [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_activity<int>("A", 1);
    ctx.schedule_activity<int>("B", 2).detach();
    throw OrchestrationError("changed my mind");
  });
  EXPECT_THAT(text, AllOf(HasSubstr("the code finished although its history continues"), HasSubstr("changed my mind")));
}

TEST(Divergence, CodeThatContinuesAsNewEarlyIsNondeterminism) {
  const auto text = replayed(recorded_a_then_b(), [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_activity<int>("A", 1);
    auto b = ctx.schedule_activity<int>("B", 2);
    co_return ctx.continue_as_new(7);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("the code continued as new although its history continues"),
                          HasSubstr("OrchestrationContinuedAsNew input=7"), HasSubstr("turn 2")));
}

TEST(Divergence, CodeThatStillWaitsWhereHistoryCompletedIsNondeterminism) {
  const auto code = [](bool waits) {
    return [waits](OrchestrationContext ctx) -> Orchestration<int> {
      auto timer = ctx.schedule_timer(Milliseconds(1));
      const int a = co_await ctx.schedule_activity<int>("A");
      if (waits) co_await timer;
      co_return a;
    };
  };
  Harness harness(code(false));
  harness.start();
  EXPECT_EQ(harness.turn({completed(3, "1")}).status, ExecutionStatus::kCompleted);
  EXPECT_THAT(replayed(std::move(harness), code(true)),
              AllOf(HasSubstr("the code did not end as recorded"), HasSubstr("+ the code is still waiting")));
}

TEST(Divergence, AnotherOutputIsNondeterminism) {
  const auto text = replayed(recorded_a_then_b(true), [](OrchestrationContext ctx) -> Orchestration<int> {
    const int a = co_await ctx.schedule_activity<int>("A", 1);
    const int b = co_await ctx.schedule_activity<int>("B", 2);
    co_return a - b;
  });
  EXPECT_THAT(text,
              AllOf(HasSubstr("the code did not end as recorded"), HasSubstr("- 6  OrchestrationCompleted output=15"),
                    HasSubstr("+ OrchestrationCompleted output=5")));
}

TEST(Divergence, AnotherErrorOrAnErrorInsteadOfAnOutputIsNondeterminism) {
  const auto fails_with = [](std::string text) {
    return [text](OrchestrationContext ctx) -> Orchestration<int> {
      co_await ctx.schedule_activity<int>("A", 1);
      throw OrchestrationError(text);
    };
  };
  const auto recorded = [&] {
    Harness harness(fails_with("old"));
    harness.start();
    EXPECT_EQ(harness.turn({completed(2, "1")}).status, ExecutionStatus::kFailed);
    return harness;
  };
  EXPECT_EQ(replayed(recorded(), fails_with("old")), kSame);
  EXPECT_THAT(replayed(recorded(), fails_with("new")), HasSubstr("the code did not end as recorded"));
  EXPECT_THAT(replayed(recorded(),
                       [](OrchestrationContext ctx) -> Orchestration<int> {
                         co_return co_await ctx.schedule_activity<int>("A", 1);
                       }),
              HasSubstr("the code did not end as recorded"));
}

TEST(Divergence, AnotherNextInputIsNondeterminism) {
  const auto continues_with = [](int next) {
    return [next](OrchestrationContext ctx) -> Orchestration<void> {
      co_await ctx.schedule_wait<void>("go");
      co_await ctx.continue_as_new(next);
    };
  };
  Harness harness(continues_with(1));
  harness.start();
  EXPECT_EQ(harness.turn({raised("go")}).status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.redeploy(continues_with(2));
  EXPECT_THAT(divergence_of(harness.replay_failure()), HasSubstr("the code did not end as recorded"));
}

TEST(Divergence, ACancelledExecutionMayStandAnywhere) {
  Harness harness(a_then_b);
  harness.start();
  EXPECT_EQ(harness.turn({cancel("enough")}).status, ExecutionStatus::kCancelled);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- how it is told ------------------------------------------------------------------------------------------------

TEST(Divergence, TheErrorReadsLikeADiffAndNamesThePlace) {
  Harness harness = recorded_a_then_b();
  harness.redeploy([](OrchestrationContext ctx) -> Orchestration<int> {
    const int a = co_await ctx.schedule_activity<int>("A", 1);
    co_return a + co_await ctx.schedule_activity<int>("Changed", 2);
  });
  const auto error = harness.replay_failure();
  ASSERT_TRUE(error.has_value());
  const auto& configuration = std::get<ConfigurationError>(*error);
  EXPECT_EQ(configuration.kind, ConfigurationErrorKind::kNondeterminism);
  EXPECT_EQ(configuration.resource, "Test");
  EXPECT_THAT(configuration.message, HasSubstr("(instance 'inst', execution 1, orchestration 'Test' 1.0.0, turn 2)\n"
                                               "    3  ActivityCompleted of 2 result=10\n"
                                               "  - 4  ActivityScheduled 'B' input=2   <- recorded in history\n"
                                               "  + ActivityScheduled 'Changed' input=2   <- decided by the code\n"));
}

// ---- what becomes of the instance ----------------------------------------------------------------------------------

// Counts what a frame holds.
class Counted {
 public:
  explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

TEST(DeadInstance, TheCodeCannotCatchItItsFutureIsInertAndItsAwaitNeverResumes) {
  Harness harness = recorded_a_then_b();
  harness.also_rebuild = false;
  std::vector<std::string> seen;
  harness.redeploy([&seen](OrchestrationContext ctx) -> Orchestration<int> {
    try {
      auto other = ctx.schedule_activity<int>("Other");
      seen.push_back("id " + std::to_string(other.schedule_id()) + (other.done() ? " done" : " pending"));
      co_await other;
      seen.emplace_back("resumed");
    } catch (...) {
      seen.emplace_back("caught");
    }
    co_return 7;
  });
  const auto last = harness.turn({completed(4, "5")});
  EXPECT_THAT(seen, ElementsAre("id 0 pending"));
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(divergence_of(last.error), HasSubstr("the code made another decision than its history"));
}

TEST(DeadInstance, EveryCallIsInertAndNothingIsThrown) {
  Harness harness = recorded_a_then_b();
  harness.also_rebuild = false;
  std::vector<std::string> seen;
  harness.redeploy([&seen](OrchestrationContext ctx) -> Orchestration<int> {
    auto other = ctx.schedule_activity<int>("Other");
    ctx.set_kv_value("k", 1);
    ctx.set_custom_status("s");
    ctx.schedule_orchestration("N", "i");
    auto timer = ctx.schedule_timer(Milliseconds(1));
    auto child = ctx.schedule_sub_orchestration<int>("C");
    auto message = ctx.dequeue_event<int>("q");
    seen.push_back("guid '" + ctx.new_guid() + "'");
    seen.push_back("keys " + std::to_string(ctx.get_kv_length()));
    seen.push_back(ctx.get_custom_status().value_or("no status"));
    seen.push_back(std::to_string(timer.schedule_id() + child.schedule_id() + message.schedule_id()));
    ctx.schedule_timer(Milliseconds(1)).detach();
    (void)ctx.continue_as_new(1);
    co_return 7;
  });
  const auto last = harness.turn({completed(4, "5")});
  EXPECT_THAT(seen, ElementsAre("guid ''", "keys 0", "no status", "0"));
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("5 ActivityCompleted of 4 result=5", StartsWith("6 OrchestrationFailed")));
  EXPECT_THAT(last.messages, IsEmpty());
  EXPECT_THAT(last.activities, IsEmpty());
}

TEST(DeadInstance, ItsFrameIsDestroyedWithTheTurn) {
  Harness harness = recorded_a_then_b();
  harness.also_rebuild = false;
  int alive = 0;
  harness.redeploy([&alive](OrchestrationContext ctx) -> Orchestration<int> {
    const Counted counted(alive);
    co_return co_await ctx.schedule_activity<int>("Other");
  });
  EXPECT_EQ(alive, 0);
  harness.turn({completed(4, "5")});
  EXPECT_EQ(alive, 0);
}

Task<int> calls(OrchestrationContext ctx, std::string name) {
  co_return co_await ctx.schedule_activity<int>(name, 1);
}

TEST(DeadInstance, ATaskThatDivergesTakesTheWholeInstanceWithIt) {
  Harness harness = recorded_a_then_b();
  harness.redeploy([](OrchestrationContext ctx) -> Orchestration<int> {
    auto both = co_await join{calls(ctx, "Other"), calls(ctx, "A")}.as_result();
    co_return std::get<0>(both) ? 1 : 2;
  });
  const auto last = harness.turn({completed(4, "5")});
  EXPECT_THAT(divergence_of(last.error), HasSubstr("+ ActivityScheduled 'Other' input=1"));
}

TEST(DeadInstance, ItsLastTurnKeepsTheInputsCancelsWhatRunsAndTellsTheParent) {
  const auto code = [](std::string name) {
    return [name](OrchestrationContext ctx) -> Orchestration<void> {
      auto a = ctx.schedule_activity<int>(name);
      auto b = ctx.schedule_activity<int>("B");
      auto c = ctx.schedule_sub_orchestration<int>("C");
      co_await a;
      co_await b;
      co_await c;
    };
  };
  Harness harness(code("A"));
  harness.parent = ParentLink{"boss", 7, 9};
  harness.start();
  harness.redeploy(code("Changed"));
  const auto last = harness.turn({completed(2, "1"), queued("q", "2")});
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("5 ActivityCompleted of 2 result=1", "6 QueueEventDelivered 'q' data=2",
                          StartsWith("7 OrchestrationFailed error=nondeterministic: "),
                          "8 ActivityCancelRequested of 3 reason=orchestration_terminal_failed"));
  EXPECT_THAT(last.cancelled_activities, ElementsAre(3));
  ASSERT_THAT(lines_of(last.messages),
              ElementsAre("to boss: SubOrchestrationFailed", "to inst::sub::4: CancelInstance"));
  EXPECT_EQ(last.messages[0].execution, 7);
  EXPECT_EQ(std::get<messages::SubOrchestrationFailed>(last.messages[0].body).schedule_id, 9);
  EXPECT_EQ(std::get<messages::SubOrchestrationFailed>(last.messages[0].body).error, last.error);
  EXPECT_EQ(std::get<messages::CancelInstance>(last.messages[1].body).reason, "parent failed");
}

TEST(DeadInstance, ItIsOverAfterwardsAndItsHistoryCanBeRead) {
  Harness harness = recorded_a_then_b();
  harness.redeploy(
      [](OrchestrationContext ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Other"); });
  harness.turn({completed(4, "5")});
  EXPECT_THAT(harness.turn({queued("q")}).events, IsEmpty());
  harness.redeploy(a_then_b);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(DeadInstance, ItDiesEvenIfEveryMessageOfTheTurnIsIgnored) {
  Harness harness = recorded_a_then_b();
  harness.redeploy([](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  const auto last = harness.turn({completed(2, "again")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre(StartsWith("5 OrchestrationFailed"),
                          "6 ActivityCancelRequested of 4 reason=orchestration_terminal_failed"));
}

// The loops below are bounded only so that a broken engine fails instead of hanging.
constexpr int kHang = 10'000;

TEST(DeadInstance, ALoopThatNeverAwaitsEnds) {
  Harness harness = recorded_a_then_b();
  harness.also_rebuild = false;
  harness.limits.max_actions_per_turn = 20;
  int calls = 0;
  harness.redeploy([&calls](OrchestrationContext ctx) -> Orchestration<int> {
    for (; calls < kHang; ++calls) ctx.schedule_activity<int>("Other").detach();
    co_return 1;
  });
  EXPECT_THAT(divergence_of(harness.turn({completed(4, "5")}).error), HasSubstr("Other"));
  EXPECT_LT(calls, 30);
}

TEST(DeadInstance, ALoopOfRetriedActivitiesThatNeverAwaitsEnds) {
  Harness harness = recorded_a_then_b();
  harness.also_rebuild = false;
  harness.limits.max_actions_per_turn = 20;
  int calls = 0;
  harness.redeploy([&calls](OrchestrationContext ctx) -> Orchestration<int> {
    for (; calls < kHang; ++calls)
      auto dropped = ctx.schedule_activity<int>("Other", ActivityOptions().retry(RetryPolicy(2)));
    co_return 1;
  });
  EXPECT_THAT(divergence_of(harness.turn({completed(4, "5")}).error), HasSubstr("Other"));
  EXPECT_LT(calls, 30);
}

}  // namespace
}  // namespace perdure::test
