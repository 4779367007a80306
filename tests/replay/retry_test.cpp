// Retried activities: attempts, waits and the bound on all of them together.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Milliseconds kForEver = Milliseconds::max();

// ---- Backoff and RetryPolicy --------------------------------------------------------------------------------------

TEST(Backoff, NoneNeverWaits) {
  EXPECT_EQ(Backoff::none().delay_after(1), Milliseconds(0));
  EXPECT_EQ(Backoff::none().delay_after(4'000'000'000U), Milliseconds(0));
}

TEST(Backoff, FixedAlwaysWaitsTheSame) {
  EXPECT_EQ(Backoff::fixed(Milliseconds(7)).delay_after(1), Milliseconds(7));
  EXPECT_EQ(Backoff::fixed(Milliseconds(7)).delay_after(4'000'000'000U), Milliseconds(7));
}

TEST(Backoff, LinearGrowsByItsBaseUpToTheLongest) {
  const Backoff backoff = Backoff::linear(Milliseconds(10), Milliseconds(35));
  EXPECT_EQ(backoff.delay_after(1), Milliseconds(10));
  EXPECT_EQ(backoff.delay_after(3), Milliseconds(30));
  EXPECT_EQ(backoff.delay_after(4), Milliseconds(35));
}

TEST(Backoff, ExponentialMultipliesUpToTheLongest) {
  const Backoff backoff = Backoff::exponential(Milliseconds(100), 2.0, Milliseconds(30'000));
  EXPECT_EQ(backoff.delay_after(1), Milliseconds(100));
  EXPECT_EQ(backoff.delay_after(2), Milliseconds(200));
  EXPECT_EQ(backoff.delay_after(9), Milliseconds(25'600));
  EXPECT_EQ(backoff.delay_after(10), Milliseconds(30'000));
}

TEST(Backoff, HugeAttemptNumbersSaturateAndNeverFallBackToZero) {
  const Backoff doubling = Backoff::exponential(Milliseconds(100), 2.0, Milliseconds(30'000));
  for (const std::uint32_t attempt : {58U, 62U, 63U, 64U, 65U, 1'100U, 4'294'967'295U}) {
    EXPECT_EQ(doubling.delay_after(attempt), Milliseconds(30'000)) << attempt;
  }
  EXPECT_EQ(Backoff::exponential(Milliseconds(1), 10.0, kForEver).delay_after(4'294'967'295U), kForEver);
  EXPECT_EQ(Backoff::linear(kForEver, kForEver).delay_after(4'294'967'295U), kForEver);
}

TEST(Backoff, AZeroBaseStaysZeroHoweverManyAttempts) {
  const Backoff backoff = Backoff::exponential(Milliseconds(0), 2.0, Milliseconds(30'000));
  EXPECT_EQ(backoff.delay_after(3), Milliseconds(0));
  EXPECT_EQ(backoff.delay_after(5'000), Milliseconds(0));  // 0 * infinity is no number
}

TEST(Backoff, SenselessFiguresAreRefused) {
  EXPECT_THROW((void)Backoff::fixed(Milliseconds(-1)), std::invalid_argument);
  EXPECT_THROW((void)Backoff::linear(Milliseconds(1), Milliseconds(-1)), std::invalid_argument);
  EXPECT_THROW((void)Backoff::exponential(Milliseconds(1), 0.5, Milliseconds(9)), std::invalid_argument);
  EXPECT_THROW((void)Backoff::exponential(Milliseconds(1), std::numeric_limits<double>::quiet_NaN(), Milliseconds(9)),
               std::invalid_argument);
}

TEST(RetryPolicy, TheDefaultIsThreeAttemptsAndADoublingWait) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.max_attempts(), 3u);
  EXPECT_EQ(policy.backoff().delay_after(1), Milliseconds(100));
  EXPECT_EQ(policy.backoff().delay_after(2), Milliseconds(200));
  EXPECT_EQ(policy.backoff().delay_after(50), Milliseconds(30'000));
  EXPECT_EQ(policy.total_timeout(), std::nullopt);
}

TEST(RetryPolicy, SenselessFiguresAreRefused) {
  EXPECT_THROW(RetryPolicy(0), std::invalid_argument);
  EXPECT_THROW(RetryPolicy(1).total_timeout(Milliseconds(0)), std::invalid_argument);
}

// ---- the loop -----------------------------------------------------------------------------------------------------

RetryPolicy attempts(std::uint32_t count, Backoff backoff = Backoff::none()) {
  return RetryPolicy(count).backoff(backoff);
}
RetryPolicy bounded(std::uint32_t count, Backoff backoff = Backoff::none()) {
  return attempts(count, backoff).total_timeout(Milliseconds(5'000));
}

auto one_retried(RetryPolicy policy) {
  return [policy](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(policy);
    co_return co_await ctx.schedule_activity<int>("A", options);
  };
}

TEST(Retry, AWaitAndANewAttemptFollowAFailedOne) {
  Harness harness(one_retried(RetryPolicy()));
  harness.start();
  const auto waits = harness.turn({failed(2, "one")});
  EXPECT_THAT(lines_of(waits.events), ElementsAre("3 ActivityFailed of 2 error=one", "4 TimerCreated fire_at=1001100"));
  EXPECT_THAT(lines_of(harness.turn({fired(4)}).events),
              ElementsAre("5 TimerFired of 4 fire_at=0", "6 ActivityScheduled 'A'"));
  EXPECT_THAT(lines_of(harness.turn({failed(6, "two")}).events),
              ElementsAre("7 ActivityFailed of 6 error=two", "8 TimerCreated fire_at=1003200"));
  harness.turn({fired(8)});
  EXPECT_EQ(harness.turn({completed(10, "5")}).output, "5");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, SuccessAtOnceIsOneAttempt) {
  Harness harness(one_retried(RetryPolicy()));
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({completed(2, "5")}).events),
              ElementsAre("3 ActivityCompleted of 2 result=5", "4 OrchestrationCompleted output=5"));
}

TEST(Retry, AfterTheLastAttemptTheLastErrorIsGiven) {
  Harness harness(one_retried(attempts(2)));
  harness.start();
  harness.turn({failed(2, "one")});
  const auto last = harness.turn({failed(4, "two")});
  EXPECT_EQ(describe(*last.error), "activity 'A' failed: two");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, OneAttemptIsNoRetry) {
  Harness harness(one_retried(attempts(1, Backoff::fixed(Milliseconds(5)))));
  harness.start();
  EXPECT_EQ(harness.turn({failed(2, "one")}).status, ExecutionStatus::kFailed);
  EXPECT_THAT(harness.traces, ElementsAre());
}

TEST(Retry, ANonRetryableErrorStopsIt) {
  Harness harness(one_retried(attempts(5)));
  harness.start();
  const auto last = harness.turn({failed(2, "card is stolen", false)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(describe(*last.error), "activity 'A' failed: card is stolen");
}

TEST(Retry, AZeroDelayNeedsNoTimer) {
  Harness harness(one_retried(attempts(3)));
  harness.start();
  const auto second = harness.turn({failed(2, "one")});
  EXPECT_THAT(lines_of(second.events), ElementsAre("3 ActivityFailed of 2 error=one", "4 ActivityScheduled 'A'"));
  EXPECT_THAT(second.messages, ElementsAre());
}

TEST(Retry, EveryFailedAttemptThatIsRepeatedIsTracedOnce) {
  Harness harness(one_retried(attempts(3, Backoff::fixed(Milliseconds(10)))));
  harness.start();
  EXPECT_THAT(harness.traces, ElementsAre());
  harness.turn({failed(2, "one")});
  ASSERT_EQ(harness.traces.size(), 1u);
  EXPECT_THAT(harness.traces[0], HasSubstr("warn: activity 'A' failed in attempt 1 of 3"));
  EXPECT_THAT(harness.traces[0], HasSubstr("one"));
  harness.evict();
  harness.turn({fired(4)});
  EXPECT_THAT(harness.traces, ElementsAre());
  harness.turn({failed(6, "two")});
  ASSERT_EQ(harness.traces.size(), 1u);
  EXPECT_THAT(harness.traces[0], HasSubstr("attempt 2 of 3"));
  harness.turn({fired(8)});
  harness.turn({failed(10, "three")});
  EXPECT_THAT(harness.traces, ElementsAre());
}

TEST(Retry, AllAttemptsKeepInputSessionTagAndTimeouts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const ActivityOptions options =
        ActivityOptions().session("s").tag("gpu").timeout(Milliseconds(30)).retry(attempts(2));
    co_await ctx.schedule_activity<void>("A", 7, options);
  });
  const auto first = harness.start();
  const auto second = harness.turn({failed(2, "one")});
  ASSERT_EQ(first.activities.size(), 1u);
  ASSERT_EQ(second.activities.size(), 1u);
  auto of_first = std::get<messages::ExecuteActivity>(first.activities[0].body);
  const auto& of_second = std::get<messages::ExecuteActivity>(second.activities[0].body);
  EXPECT_EQ(of_second.session_id, "s");
  EXPECT_EQ(of_second.tag, "gpu");
  EXPECT_EQ(of_second.input, "7");
  EXPECT_EQ(of_second.timeouts.start_to_close, Milliseconds(30));
  of_first.schedule_id = of_second.schedule_id;
  of_first.earlier = of_second.earlier;  // only a later attempt has this
  EXPECT_EQ(of_first, of_second);
}

TEST(Retry, AnAttemptThatTimedOutIsRepeated) {
  Harness harness(one_retried(attempts(2)));
  harness.start();
  harness.turn({failed_with(2, ApplicationError{ApplicationErrorKind::kTimedOut, "timeout: 30 ms", true})});
  EXPECT_EQ(harness.turn({completed(4, "1")}).output, "1");
}

TEST(Retry, TheFirstAttemptIsScheduledWhereItIsCalled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const ActivityOptions options = ActivityOptions().retry(bounded(2));
    auto a = ctx.schedule_activity<void>("A", options);
    auto b = ctx.schedule_activity<void>("B");
    co_await b;
    co_await a;
  });
  EXPECT_THAT(lines_of(harness.start().events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'A'",
                          "3 TimerCreated fire_at=1005000", "4 ActivityScheduled 'B'"));
}

TEST(Retry, ItGoesOnWhileNobodyAwaitsIt) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(attempts(3));
    auto a = ctx.schedule_activity<int>("A", options);
    co_await ctx.schedule_activity<void>("B");
    co_return co_await a;
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({failed(2, "one")}).events),
              ElementsAre("4 ActivityFailed of 2 error=one", "5 ActivityScheduled 'A'"));
  harness.turn({completed(5, "8")});
  EXPECT_EQ(harness.turn({completed(3)}).output, "8");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- total_timeout ------------------------------------------------------------------------------------------------

auto one_bounded(Backoff backoff) {
  return [backoff](OrchestrationContext ctx) -> Orchestration<std::string> {
    const ActivityOptions options = ActivityOptions().retry(bounded(3, backoff));
    auto result = co_await ctx.schedule_activity<int>("A", options).as_result();
    if (result) co_return "value";
    co_return (result.error().is_timeout() ? "timeout " : "failure ") + result.error().message();
  };
}

TEST(Retry, TheTotalTimeoutEndsARunningAttempt) {
  Harness harness(one_bounded(Backoff::none()));
  EXPECT_THAT(lines_of(harness.start().events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'A'",
                          "3 TimerCreated fire_at=1005000"));
  harness.turn({failed(2, "one")});
  const auto last = harness.turn({fired(3)});
  EXPECT_THAT(last.cancelled_activities, ElementsAre(5));
  EXPECT_THAT(lines_of(last.events)[1], "7 ActivityCancelRequested of 5 reason=dropped_future");
  EXPECT_THAT(*last.output, HasSubstr("timeout timeout: "));
  EXPECT_THAT(*last.output, HasSubstr("5000 ms"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, TheTotalTimeoutEndsAWait) {
  Harness harness(one_bounded(Backoff::fixed(Milliseconds(60'000))));
  harness.start();
  harness.turn({failed(2, "one")});
  const auto last = harness.turn({fired(3)});
  EXPECT_THAT(*last.output, HasSubstr("timeout"));
  EXPECT_THAT(last.cancelled_activities, ElementsAre());
  EXPECT_EQ(last.events.size(), 2u);  // TimerFired and the end: nothing was running
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, TheDeadlineIsOneForAllAttempts) {
  Harness harness(one_bounded(Backoff::fixed(Milliseconds(10))));
  harness.start();
  harness.turn({failed(2, "one")});
  EXPECT_THAT(lines_of(harness.turn({fired(5)}).events),
              ElementsAre("6 TimerFired of 5 fire_at=0", "7 ActivityScheduled 'A'"));
  EXPECT_EQ(harness.turn({completed(7, "1")}).output, "\"value\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, OfADeadlineAndAnAnswerInOneBatchTheEarlierCounts) {
  Harness answer_first(one_bounded(Backoff::none()));
  answer_first.start();
  EXPECT_EQ(answer_first.turn({completed(2, "1"), fired(3)}).output, "\"value\"");
  Harness deadline_first(one_bounded(Backoff::none()));
  deadline_first.start();
  const auto last = deadline_first.turn({fired(3), completed(2, "1")});
  EXPECT_THAT(*last.output, HasSubstr("timeout"));
  EXPECT_THAT(last.cancelled_activities, ElementsAre());  // it has answered: nothing to withdraw
  EXPECT_EQ(deadline_first.replay_failure(), std::nullopt);
}

// ---- dropped, detached, combined ----------------------------------------------------------------------------------

auto dropped_after_timer(Backoff backoff) {
  return [backoff](OrchestrationContext ctx) -> Orchestration<void> {
    {
      const ActivityOptions options = ActivityOptions().retry(attempts(3, backoff));
      auto retried = ctx.schedule_activity<void>("A", options);
      co_await ctx.schedule_timer(Milliseconds(1));
    }
    co_await ctx.schedule_activity<void>("B");
  };
}

TEST(Retry, DroppingItCancelsTheRunningAttempt) {
  Harness harness(dropped_after_timer(Backoff::none()));
  harness.start();
  harness.turn({failed(2, "one")});
  const auto third = harness.turn({fired(3)});
  EXPECT_THAT(lines_of(third.events), ElementsAre("6 TimerFired of 3 fire_at=0", "7 ActivityScheduled 'B'",
                                                  "8 ActivityCancelRequested of 5 reason=dropped_future"));
  EXPECT_THAT(third.cancelled_activities, ElementsAre(5));
  EXPECT_EQ(harness.turn({completed(7)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, DroppingItInAWaitLeavesNothingBehind) {
  Harness harness(dropped_after_timer(Backoff::fixed(Milliseconds(10))));
  harness.start();
  harness.turn({failed(2, "one")});
  EXPECT_THAT(lines_of(harness.turn({fired(3)}).events),
              ElementsAre("6 TimerFired of 3 fire_at=0", "7 ActivityScheduled 'B'"));
  EXPECT_THAT(lines_of(harness.turn({fired(5)}).events), ElementsAre("8 TimerFired of 5 fire_at=0"));
  EXPECT_EQ(harness.turn({completed(7)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, ADetachedOneGoesOnRetrying) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const ActivityOptions options = ActivityOptions().retry(attempts(3, Backoff::fixed(Milliseconds(10))));
    ctx.schedule_activity<void>("A", options).detach();
    co_await ctx.schedule_activity<void>("B");
    co_await ctx.schedule_activity<void>("C");
  });
  harness.start();
  harness.turn({failed(2, "one")});
  harness.turn({completed(3)});
  const auto again = harness.turn({fired(5)});
  EXPECT_THAT(lines_of(again.events), ElementsAre("8 TimerFired of 5 fire_at=0", "9 ActivityScheduled 'A'"));
  const auto last = harness.turn({completed(7)});
  EXPECT_EQ(last.status, ExecutionStatus::kCompleted);
  EXPECT_THAT(last.cancelled_activities, ElementsAre());  // a detached attempt outlives a normal end
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, CancellingTheOrchestrationReachesADetachedAttempt) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const ActivityOptions options = ActivityOptions().retry(attempts(3));
    ctx.schedule_activity<void>("A", options).detach();
    co_await ctx.schedule_activity<void>("B");
  });
  harness.start();
  EXPECT_THAT(harness.turn({cancel("enough")}).cancelled_activities, ElementsAre(2, 3));
}

TEST(Retry, ItIsAPartOfASelectLikeAnyOther) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(bounded(3));
    auto first = co_await select{ctx.schedule_activity<int>("A", options), ctx.schedule_timer(Milliseconds(9'000))};
    co_await ctx.schedule_activity<void>("B");
    co_return static_cast<int>(first.index());
  });
  harness.start();
  harness.turn({failed(2, "one")});
  const auto third = harness.turn({fired(4)});
  EXPECT_THAT(lines_of(third.events), ElementsAre("7 TimerFired of 4 fire_at=0", "8 ActivityScheduled 'B'",
                                                  "9 ActivityCancelRequested of 6 reason=dropped_future"));
  EXPECT_EQ(harness.turn({completed(8)}).output, "1");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, AWinningOneInASelectGivesItsValue) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(attempts(3));
    auto first = co_await select{ctx.schedule_activity<int>("A", options), ctx.schedule_timer(Milliseconds(9'000))};
    co_return std::get<0>(first);
  });
  harness.start();
  harness.turn({failed(2, "one")});
  EXPECT_EQ(harness.turn({completed(5, "6")}).output, "6");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, ManyOfThemJoin) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(attempts(2));
    std::vector<Future<int>> all;
    for (int i = 0; i < 3; ++i) all.push_back(ctx.schedule_activity<int>("A", i, options));
    auto results = co_await ctx.join(std::move(all)).as_result();
    int sum = 0;
    for (auto& result : results) sum += result ? *result : 100;
    co_return sum;
  });
  harness.start();
  harness.turn({failed(3, "x"), completed(2, "1")});
  harness.turn({failed(7, "y"), failed(4, "z")});
  EXPECT_EQ(harness.turn({completed(10, "5")}).output, "106");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Retry, ANamedRetriedFutureMayBeAwaitedAgain) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const ActivityOptions options = ActivityOptions().retry(attempts(2));
    auto retried = ctx.schedule_activity<int>("A", options);
    const int once = co_await retried;
    const int twice = co_await retried;
    co_return once + twice;
  });
  harness.start();
  harness.turn({failed(2, "x")});
  EXPECT_EQ(harness.turn({completed(4, "4")}).output, "8");
}

TEST(Retry, AnEndlessDelayIsTheLastDayOfTheCalendar) {
  Harness harness(one_retried(attempts(3, Backoff::fixed(kForEver))));
  harness.start();
  harness.turn({failed(2, "one")});
  EXPECT_EQ(std::get<events::TimerCreated>(harness.history.at(3).body).fire_at, Timestamp(kForEver));
}

}  // namespace
}  // namespace perdure::test
