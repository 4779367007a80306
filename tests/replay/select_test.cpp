// select: who wins, what becomes of the losers, and of values and failures; over parts in braces and over vectors.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task<int> call_named(OrchestrationContext ctx, std::string name) {
  co_return co_await ctx.schedule_activity<int>(name);
}

Task<int> call_twice(OrchestrationContext ctx, std::string name) {
  const int first = co_await ctx.schedule_activity<int>(name, 1);
  const int second = co_await ctx.schedule_activity<int>(name, 2);
  co_return first + second;
}

// ---- who wins -----------------------------------------------------------------------------------------------------

Orchestration<std::size_t> race(OrchestrationContext ctx) {
  auto first = co_await select{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")};
  co_return first.index();
}

TEST(Select, TheFirstEventOfTheBatchWins) {
  Harness in_order(race);
  in_order.start();
  EXPECT_EQ(in_order.turn({completed(2, "1"), completed(3, "2")}).output, "0");
  Harness reversed(race);
  reversed.start();
  EXPECT_EQ(reversed.turn({completed(3, "2"), completed(2, "1")}).output, "1");
  EXPECT_EQ(reversed.replay_failure(), std::nullopt);
}

TEST(Select, OfPartsThatAreAllDoneTheEarlierEventWins) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    co_await ctx.schedule_activity<void>("Last");
    auto first = co_await select{a, b};  // both were done long ago, b before a
    co_return first.index();
  });
  harness.start();
  harness.turn({completed(3, "2")});
  harness.turn({completed(2, "1")});
  EXPECT_EQ(harness.turn({completed(4)}).output, "1");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, ABufferedMessageIsAsOldAsItsArrival) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto timer = ctx.schedule_timer(Milliseconds(5));
    co_await ctx.schedule_activity<void>("A");
    auto first = co_await select{timer, ctx.dequeue_event<int>("inbox")};
    co_return first.index();
  });
  harness.start();
  harness.turn({queued("inbox", "1"), fired(2)});
  EXPECT_EQ(harness.turn({completed(3)}).output, "1");  // the message came before the timer fired
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, AMessageYoungerThanTheTimerLosesAndIsNotLost) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto timer = ctx.schedule_timer(Milliseconds(5));
    co_await ctx.schedule_activity<void>("A");
    auto first = co_await select{ctx.dequeue_event<int>("inbox"), timer};
    const int message = co_await ctx.dequeue_event<int>("inbox");
    co_return static_cast<int>(first.index()) * 100 + message;
  });
  harness.start();
  harness.turn({fired(2), queued("inbox", "7")});
  EXPECT_EQ(harness.turn({completed(3)}).output, "107");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, AJoinOfDoneFuturesIsAsOldAsItsLastOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    auto c = ctx.schedule_activity<int>("C");
    co_await ctx.schedule_activity<void>("Last");
    auto first = co_await select{c, join{a, b}};  // the join was over before c
    co_return first.index();
  });
  harness.start();
  harness.turn({completed(2, "1")});
  harness.turn({completed(3, "1")});
  harness.turn({completed(4, "1")});
  EXPECT_EQ(harness.turn({completed(5)}).output, "1");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, ASelectOfDoneFuturesIsAsOldAsItsFirstOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto a = ctx.schedule_activity<int>("A");
    auto b = ctx.schedule_activity<int>("B");
    auto c = ctx.schedule_activity<int>("C");
    co_await ctx.schedule_activity<void>("Last");
    auto first = co_await select{c, select{a, b}};  // a was done before c
    co_return first.index();
  });
  harness.start();
  harness.turn({completed(2, "1"), completed(4, "1"), completed(3, "1")});
  EXPECT_EQ(harness.turn({completed(5)}).output, "1");
}

TEST(Select, ADoneFutureBeatsATaskThatHasNotBegun) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto a = ctx.schedule_activity<int>("A");
    co_await a;
    auto first = co_await select{call_named(ctx, "MustNotBe"), a};
    co_return first.index();
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({completed(2, "1")}).events),
              ElementsAre("3 ActivityCompleted of 2 result=1", "4 OrchestrationCompleted output=1"));
}

// ---- losers -------------------------------------------------------------------------------------------------------

TEST(Select, OwnedLosersAreCancelled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await select{ctx.schedule_activity<int>("A"),     ctx.schedule_sub_orchestration<int>("Child"),
                    ctx.schedule_wait<int>("event"),     ctx.dequeue_event<int>("queue"),
                    ctx.schedule_timer(Milliseconds(9)), ctx.schedule_activity<int>("Winner")};
    co_await ctx.schedule_activity<void>("Next");
  });
  harness.start();
  const auto second = harness.turn({completed(7, "1")});
  EXPECT_THAT(lines_of(second.events), ElementsAre("8 ActivityCompleted of 7 result=1", "9 ActivityScheduled 'Next'",
                                                   "10 ActivityCancelRequested of 2 reason=dropped_future",
                                                   "11 SubOrchestrationCancelRequested of 3 reason=dropped_future",
                                                   "12 ExternalSubscriptionCancelled of 4 reason=dropped_future",
                                                   "13 QueueSubscriptionCancelled of 5 reason=dropped_future"));
  EXPECT_THAT(second.cancelled_activities, ElementsAre(2));
  EXPECT_THAT(lines_of(second.messages), ElementsAre("to inst::sub::3: CancelInstance"));
  EXPECT_EQ(harness.turn({completed(9)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, BorrowedLosersStayPendingAndUsable) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto slow = ctx.schedule_activity<int>("Slow");
    auto first = co_await select{slow, ctx.schedule_timer(Milliseconds(5))};
    auto second = co_await select{slow, ctx.schedule_timer(Milliseconds(5))};
    co_return static_cast<int>(first.index() * 10 + second.index()) * 100 + std::get<0>(second);
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({fired(3)}).events),
              ElementsAre("4 TimerFired of 3 fire_at=0", "5 TimerCreated fire_at=1001005"));
  EXPECT_EQ(harness.turn({completed(2, "7")}).output, "1007");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, TheLosersAreGoneBeforeTheWinnersContinuationRuns) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    co_await select{ctx.dequeue_event<int>("inbox"), ctx.schedule_timer(Milliseconds(5))};
    co_return co_await ctx.dequeue_event<int>("inbox");  // gets what the dropped one would have got
  });
  harness.start();
  EXPECT_EQ(harness.turn({fired(3), queued("inbox", "4")}).output, "4");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, AnOwnedTaskThatLosesIsDestroyedWithWhatItWaitsFor) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await select{call_twice(ctx, "Slow"), ctx.schedule_timer(Milliseconds(5))};
    co_await ctx.schedule_activity<void>("Next");
  });
  harness.start();
  EXPECT_THAT(harness.lines(), ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0",
                                           "2 TimerCreated fire_at=1000005", "3 ActivityScheduled 'Slow' input=1"));
  harness.turn({completed(3, "1")});
  const auto third = harness.turn({fired(2)});
  EXPECT_THAT(lines_of(third.events), ElementsAre("6 TimerFired of 2 fire_at=0", "7 ActivityScheduled 'Next'",
                                                  "8 ActivityCancelRequested of 5 reason=dropped_future"));
  EXPECT_EQ(harness.turn({completed(7)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, ABorrowedTaskThatLosesRunsOn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto slow = call_twice(ctx, "Slow");
    co_await select{slow, ctx.schedule_timer(Milliseconds(5))};
    co_await ctx.schedule_timer(Milliseconds(5));
    co_return co_await std::move(slow);
  });
  harness.start();
  harness.turn({fired(2)});
  EXPECT_THAT(lines_of(harness.turn({completed(3, "1")}).events),
              ElementsAre("6 ActivityCompleted of 3 result=1", "7 ActivityScheduled 'Slow' input=2"));
  harness.turn({completed(7, "2")});
  EXPECT_EQ(harness.turn({fired(5)}).output, "3");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, TheWinningTaskGivesItsValue) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto first = co_await select{call_twice(ctx, "A"), ctx.schedule_timer(Milliseconds(5))};
    co_return std::get<0>(first);
  });
  harness.start();
  harness.turn({completed(3, "1")});
  EXPECT_EQ(harness.turn({completed(5, "2")}).output, "3");
}

// ---- values and failures ------------------------------------------------------------------------------------------

TEST(Select, VoidIsMonostate) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<bool> {
    auto first = co_await select{ctx.schedule_activity<void>("A"), ctx.schedule_timer(Milliseconds(1))};
    static_assert(std::is_same_v<decltype(first), std::variant<std::monostate, std::monostate>>);
    co_return first.index() == 0;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2)}).output, "true");
}

TEST(Select, AFailedWinnerThrows) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto first = co_await select{ctx.schedule_activity<int>("A"), ctx.schedule_activity<int>("B")};
    co_return static_cast<int>(first.index());
  });
  harness.start();
  const auto last = harness.turn({failed(3, "no")});
  EXPECT_EQ(describe(*last.error), "activity 'B' failed: no");
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, AFailedWinnerIsAValueWithAsResult) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto named = ctx.schedule_activity<int>("A");
    auto first = co_await select{named.as_result(), ctx.schedule_activity<int>("B").as_result(),
                                 call_named(ctx, "C").as_result()};
    auto second = co_await select{named.as_result(), ctx.schedule_timer(Milliseconds(1))};
    co_return std::get<1>(first).error().message() + " " + std::get<0>(second).error().message();
  });
  harness.start();
  harness.turn({failed(3, "b failed")});
  EXPECT_EQ(harness.turn({failed(2, "a failed")}).output, "\"b failed a failed\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Select, OfAnEmptyVectorIsAMisuse) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    std::vector<Future<int>> none;
    auto first = co_await ctx.select(none);
    co_return first.value();
  });
  const auto last = harness.start();
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("empty"));
  Harness owned([](OrchestrationContext ctx) -> Orchestration<int> {
    auto first = co_await ctx.select(std::vector<Future<int>>());
    co_return first.value();
  });
  EXPECT_THAT(describe(*owned.start().error), HasSubstr("empty"));
}

TEST(Select, TheSameFutureMayBeSeveralParts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto a = ctx.schedule_activity<int>("A");
    auto first = co_await select{a, a};
    co_return std::get<0>(first);
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "3")}).output, "3");
}

// ---- vectors ------------------------------------------------------------------------------------------------------

std::vector<Future<int>> three(OrchestrationContext ctx) {
  std::vector<Future<int>> futures;
  for (int i = 0; i < 3; ++i) futures.push_back(ctx.schedule_activity<int>("A", i));
  return futures;
}

TEST(SelectMany, AnOwnedVectorLosesItsLosers) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto first = co_await ctx.select(three(ctx));
    co_await ctx.schedule_activity<void>("Next");
    co_return static_cast<int>(first.index()) * 10 + first.value();
  });
  harness.start();
  EXPECT_THAT(harness.turn({completed(3, "7")}).cancelled_activities, ElementsAre(2, 4));
  EXPECT_EQ(harness.turn({completed(6)}).output, "17");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(SelectMany, ABorrowedVectorCanBeDrainedOneByOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto futures = three(ctx);
    std::string order;
    while (!futures.empty()) {
      auto first = co_await ctx.select(futures);
      order += std::to_string(first.value());
      futures.erase(futures.begin() + static_cast<std::ptrdiff_t>(first.index()));
    }
    co_return order;
  });
  harness.start();
  EXPECT_THAT(harness.turn({completed(4, "4"), completed(2, "2")}).cancelled_activities, ElementsAre());
  EXPECT_EQ(harness.turn({completed(3, "3")}).output, "\"423\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(SelectMany, TasksMayBeOwnedAndBorrowed) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    std::vector<Task<int>> tasks;
    for (const char* name : {"A", "B"}) tasks.push_back(call_twice(ctx, name));
    auto borrowed = co_await ctx.select(tasks);
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(borrowed.index()));
    auto owned = co_await ctx.select(std::move(tasks));
    co_return borrowed.value() * 10 + owned.value();
  });
  harness.start();
  harness.turn({completed(3, "1")});
  harness.turn({completed(5, "2")});
  harness.turn({completed(2, "2")});
  EXPECT_EQ(harness.turn({completed(8, "4")}).output, "36");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(JoinMany, TasksAndResults) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::vector<Task<int>> tasks;
    for (const char* name : {"A", "B"}) tasks.push_back(call_named(ctx, name));
    auto results = co_await ctx.join(std::move(tasks)).as_result();
    std::string seen;
    for (const auto& result : results) seen += result ? std::to_string(*result) : result.error().message();
    co_return seen;
  });
  harness.start();
  harness.turn({completed(3, "5")});
  EXPECT_EQ(harness.turn({failed(2, "no")}).output, "\"no5\"");
}

TEST(JoinMany, OfNothingIsDoneAtOnce) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    const auto values = co_await ctx.join(std::vector<Future<int>>());
    co_await join{};
    co_return values.size();
  });
  EXPECT_EQ(harness.start().output, "0");
}

}  // namespace
}  // namespace perdure::test
