// continue_as_new: how an execution ends in its successor, and what goes along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The message that starts the next execution; the last of the outcome's.
messages::ContinueAsNew next_of(const TurnOutcome& outcome) {
  for (const auto& message : outcome.messages) {
    if (const auto* next = std::get_if<messages::ContinueAsNew>(&message.body)) return *next;
  }
  ADD_FAILURE() << "no ContinueAsNew among the messages; the turn ended as " << to_string(outcome.status);
  return {};
}

Orchestration<int> count_down(OrchestrationContext ctx, int left) {
  co_await ctx.schedule_activity<void>("Work", left);
  if (left > 0) co_return ctx.continue_as_new(left - 1);
  co_return 42;
}

TEST(ContinueAsNew, TheReturnedFormEndsTheExecution) {
  Harness harness(count_down);
  harness.start("1");
  const auto last = harness.turn({completed(2)});
  EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(last.output, "0");
  EXPECT_THAT(lines_of(last.events), ElementsAre("3 ActivityCompleted of 2", "4 OrchestrationContinuedAsNew input=0"));
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst: ContinueAsNew"));
  EXPECT_EQ(next_of(last), (messages::ContinueAsNew{"Test", std::nullopt, "0", std::nullopt, {}, std::nullopt}));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, TheMessageStartsTheNextExecution) {
  Harness first(count_down);
  first.start("1");
  const auto next = next_of(first.turn({completed(2)}));
  Harness second(count_down);
  second.execution = 2;
  EXPECT_THAT(lines_of(second.turn({next}).events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0 input=0", "2 ActivityScheduled 'Work' input=0"));
  EXPECT_EQ(second.turn({completed(2)}).output, "42");
  EXPECT_EQ(second.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, TheAwaitedFormNeverComesBack) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.continue_as_new("next");
    ctx.set_custom_status("must not be");
    co_await ctx.schedule_activity<void>("MustNotBe");
  });
  const auto last = harness.start();
  EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
  EXPECT_THAT(lines_of(last.events), ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0",
                                                 "2 OrchestrationContinuedAsNew input=\"next\""));
  EXPECT_EQ(next_of(last).initial_custom_status, std::nullopt);
}

TEST(ContinueAsNew, WithoutAnInputThePayloadIsAbsent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> { co_return ctx.continue_as_new(); });
  const auto last = harness.start("5");
  EXPECT_EQ(next_of(last).input, std::nullopt);
  EXPECT_EQ(last.output, std::nullopt);
}

Task<void> helper(OrchestrationContext ctx, int depth) {
  if (depth > 0) {
    co_await helper(ctx, depth - 1);
  } else {
    co_await ctx.continue_as_new(7);
  }
  ctx.set_custom_status("must not be");
}

TEST(ContinueAsNew, AHelperMayEndTheExecution) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await helper(ctx, 3);
    co_return "must not be";
  });
  const auto last = harness.start();
  EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(next_of(last).input, "7");
  EXPECT_EQ(next_of(last).initial_custom_status, std::nullopt);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, OneOfSeveralTasksMayEndTheExecution) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto other = [](OrchestrationContext inner) -> Task<void> {
      co_await inner.schedule_activity<void>("Other");
      co_await inner.schedule_activity<void>("MustNotBe");
    };
    const auto ender = [](OrchestrationContext inner) -> Task<void> {
      co_await inner.schedule_activity<void>("Ender");
      co_await inner.continue_as_new(1);
    };
    co_await join{other(ctx), ender(ctx)};
  });
  harness.start();
  const auto last = harness.turn({completed(3), completed(2)});
  EXPECT_THAT(lines_of(last.events), ElementsAre("4 ActivityCompleted of 3", "5 ActivityCompleted of 2",
                                                 "6 OrchestrationContinuedAsNew input=1"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, TheVersionOptionTravels) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    co_return ctx.continue_as_new(1, StartOptions().version("2.0.0"));
  });
  const auto last = harness.start();
  EXPECT_EQ(next_of(last).version, (SemanticVersion{2, 0, 0}));
  EXPECT_THAT(lines_of(last.events).back(), "2 OrchestrationContinuedAsNew version=2.0.0 input=1");
}

TEST(ContinueAsNew, OfTwoCallsTheFirstCounts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.continue_as_new(1);
    co_return ctx.continue_as_new(2);
  });
  EXPECT_EQ(next_of(harness.start()).input, "1");
}

TEST(ContinueAsNew, WhatTheCodeDoesUntilItsNextAwaitHasNoEffect) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.set_custom_status("before");
    ctx.continue_as_new(1);
    ctx.set_custom_status("behind");
    ctx.set_kv_value("key", 1);
    ctx.schedule_orchestration("Other", "other");
    ctx.trace_info("behind");
    auto activity = ctx.schedule_activity<int>("MustNotBe");
    co_return co_await activity;
  });
  const auto last = harness.start();
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 CustomStatusUpdated status=before",
                          "3 OrchestrationContinuedAsNew input=1"));
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst: ContinueAsNew"));
  EXPECT_EQ(next_of(last).initial_custom_status, "before");
  EXPECT_THAT(harness.traces, IsEmpty());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, AThrowBehindItChangesNothing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.continue_as_new(1);
    throw std::runtime_error("too late");
    co_return 0;
  });
  EXPECT_EQ(harness.start().status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- what goes along ----------------------------------------------------------------------------------------------

TEST(ContinueAsNew, UnreadMessagesGoAlongInOrderOfArrivalAndNothingElseDoes) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.dequeue_event<int>("x");         // reads 1
    auto held = ctx.dequeue_event<int>("x");      // given 3, never read
    auto lost = ctx.schedule_wait<int>("event");  // an event is no message
    co_await ctx.schedule_activity<void>("A");
    co_await ctx.continue_as_new(0);
  });
  harness.start(std::nullopt, {queued("x", "1"), queued("y", "2"), queued("x", "3"), queued("x", "4")});
  harness.turn({raised("event", "9"), queued("y", "5"), queued("z")});
  const auto last = harness.turn({completed(9)});
  EXPECT_THAT(next_of(last).carry_forward,
              ElementsAre(CarriedMessage{"y", "2"}, CarriedMessage{"x", "3"}, CarriedMessage{"x", "4"},
                          CarriedMessage{"y", "5"}, CarriedMessage{"z", std::nullopt}));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, MessagesBehindItInTheBatchAreCarriedToo) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto subscribed = ctx.dequeue_event<int>("x");
    co_await ctx.schedule_activity<void>("A");
    co_return ctx.continue_as_new(0);
  });
  harness.start();
  const auto last = harness.turn({completed(3), queued("x", "1"), queued("y", "2"), raised("nobody")});
  EXPECT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
  EXPECT_THAT(next_of(last).carry_forward, ElementsAre(CarriedMessage{"x", "1"}, CarriedMessage{"y", "2"}));
  ASSERT_EQ(last.ignored.size(), 1u);
  EXPECT_EQ(last.ignored[0].reason, IgnoreReason::kNobodyWaits);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, AMessageWhoseReaderBecameReadyButNeverRanIsCarried) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto ender = [](OrchestrationContext inner) -> Task<void> {
      auto mine = inner.dequeue_event<int>("x");
      co_await inner.schedule_activity<void>("A");
      {
        auto dropped = std::move(mine);
      }  // its message goes to the reader, which has no time left to run
      co_await inner.continue_as_new(1);
    };
    const auto reader = [](OrchestrationContext inner) -> Task<int> {
      co_return co_await inner.dequeue_event<int>("x");
    };
    co_await join{ender(ctx), reader(ctx)};
  });
  harness.start();
  harness.turn({queued("x", "5")});
  const auto last = harness.turn({completed(3)});
  EXPECT_THAT(next_of(last).carry_forward, ElementsAre(CarriedMessage{"x", "5"}));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, TheNextExecutionReadsWhatWasCarriedFirst) {
  Harness first([](OrchestrationContext ctx) -> Orchestration<int> { co_return ctx.continue_as_new(); });
  const auto next = next_of(first.start(std::nullopt, {queued("q", "\"1\""), queued("q", "\"2\"")}));
  Harness second([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string all;
    for (int i = 0; i < 3; ++i) all += co_await ctx.dequeue_event<std::string>("q");
    co_return all;
  });
  second.execution = 2;
  // Whatever the order in the batch: the start is first, and what it carries is older than everything else.
  const auto last = second.turn({queued("q", "\"3\""), next});
  EXPECT_EQ(last.output, "\"123\"");
  EXPECT_THAT(lines_of(last.events)[0], "1 OrchestrationStarted 'Test' version=1.0.0 carried=2");
  EXPECT_THAT(lines_of(last.events)[1], "2 QueueEventDelivered 'q' data=\"1\"");
  EXPECT_EQ(second.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, TheCustomStatusGoesAlong) {
  Harness first([](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.set_custom_status("half");
    co_await ctx.schedule_activity<void>("A");
    co_return ctx.continue_as_new();
  });
  first.start();
  const auto next = next_of(first.turn({completed(3)}));
  EXPECT_EQ(next.initial_custom_status, "half");
  Harness second([](OrchestrationContext ctx) -> Orchestration<int> {
    if (ctx.get_custom_status() != "half") co_return 1;
    co_return ctx.continue_as_new();  // and on, although nothing of this execution set it
  });
  second.execution = 2;
  EXPECT_EQ(next_of(second.turn({next})).initial_custom_status, "half");
}

// W4.
TEST(ContinueAsNew, TheParentLinkGoesAlongAndTheParentIsToldAtTheEnd) {
  Harness first(count_down);
  first.parent = ParentLink{"boss", 2, 9};
  first.start("1");
  const auto ended = first.turn({completed(2)});
  EXPECT_THAT(lines_of(ended.messages), ElementsAre("to inst: ContinueAsNew"));  // not yet
  const auto next = next_of(ended);
  EXPECT_EQ(next.parent, first.parent);
  Harness second(count_down);
  second.execution = 2;
  second.turn({next});
  const auto last = second.turn({completed(2)});
  ASSERT_EQ(last.messages.size(), 1u);
  EXPECT_EQ(last.messages[0], (Message{"boss", 2, std::nullopt, messages::SubOrchestrationCompleted{9, "42"}}));
}

// W10.
TEST(ContinueAsNew, ItBeatsADuplicateStartInTheSameBatch) {
  Harness harness(count_down);
  harness.execution = 2;
  const messages::ContinueAsNew next{"Test", std::nullopt, "0", std::nullopt, {}, std::nullopt};
  const messages::StartOrchestration stray{"Test", std::nullopt, "99", std::nullopt};
  const auto first = harness.turn({stray, next});
  EXPECT_THAT(lines_of(first.events)[0], "1 OrchestrationStarted 'Test' version=1.0.0 input=0");
  ASSERT_EQ(first.ignored.size(), 1u);
  EXPECT_EQ(first.ignored[0].reason, IgnoreReason::kAlreadyStarted);
}

// ---- what stays behind --------------------------------------------------------------------------------------------

TEST(ContinueAsNew, WhatIsInFlightIsCancelled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto slow = ctx.schedule_activity<int>("Slow");
    auto child = ctx.schedule_sub_orchestration<int>("Child");
    auto wait = ctx.schedule_wait<int>("event");
    auto read = ctx.dequeue_event<int>("queue");
    co_await ctx.schedule_timer(Milliseconds(1));
    auto never = ctx.schedule_activity<int>("Never");
    co_await ctx.continue_as_new(1);
    co_return 0;
  });
  harness.start();
  const auto last = harness.turn({fired(6)});
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("7 TimerFired of 6 fire_at=0", "8 ActivityScheduled 'Never'",
                          "9 ExternalSubscriptionCancelled of 4 reason=orchestration_terminal",
                          "10 QueueSubscriptionCancelled of 5 reason=orchestration_terminal",
                          "11 OrchestrationContinuedAsNew input=1",
                          "12 ActivityCancelRequested of 2 reason=orchestration_terminal_continued_as_new",
                          "13 ActivityCancelRequested of 8 reason=orchestration_terminal_continued_as_new"));
  EXPECT_THAT(last.activities, IsEmpty());
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2));
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst: ContinueAsNew", "to inst::sub::3: CancelInstance"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, ACancelInTheSameBatchEndsItForGood) {
  Harness harness(count_down);
  harness.start("5");
  const auto last = harness.turn({completed(2), cancel("enough")});
  EXPECT_EQ(last.status, ExecutionStatus::kCancelled);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(ContinueAsNew, AMessageOfTheOldExecutionDoesNotReachTheNew) {
  Harness second(count_down);
  second.execution = 2;
  second.turn({messages::ContinueAsNew{"Test", std::nullopt, "0", std::nullopt, {}, std::nullopt}});
  const auto stray = second.turn_with({{"inst", 1, std::nullopt, completed(2)}});
  ASSERT_EQ(stray.ignored.size(), 1u);
  EXPECT_EQ(stray.ignored[0].reason, IgnoreReason::kOtherExecution);
  EXPECT_THAT(stray.events, IsEmpty());
}

}  // namespace
}  // namespace perdure::test
