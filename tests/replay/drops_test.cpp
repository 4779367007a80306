// Futures that are given up: what that cancels, when, and what becomes of what they held. And those that are detached.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

std::vector<std::string> tail(const Harness& harness, std::size_t from) {
  auto lines = harness.lines();
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(from - 1));
  return lines;
}

// ---- at once, live and replayed
// --------------------------------------------------------------------------------------

// Reads a queue in a loop, with a timer beside each read.
Orchestration<void> polls(OrchestrationContext ctx) {
  for (;;) {
    auto first = co_await select{ctx.dequeue_event<std::string>("q"), ctx.schedule_timer(Milliseconds(1))};
    if (first.index() == 0) co_await ctx.schedule_activity<void>("Handle", std::get<0>(first));
  }
}

TEST(Drops, AQueueWaitThatLostARaceDoesNotTakeTheMessageBehindTheWinner) {
  Harness harness(polls);
  harness.start();
  harness.turn({fired(3), queued("q", "\"m\"")});
  EXPECT_THAT(tail(harness, 4), ElementsAre("4 TimerFired of 3 fire_at=0", "5 QueueEventDelivered 'q' data=\"m\"",
                                            "6 QueueSubscribed 'q'", "7 TimerCreated fire_at=1001001",
                                            "8 ActivityScheduled 'Handle' input=\"m\"",
                                            "9 QueueSubscriptionCancelled of 2 reason=dropped_future"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.turn({completed(8)});
  EXPECT_EQ(harness.lines().back(), "12 TimerCreated fire_at=1002001");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, AMessageThatIsBufferedAlreadyIsReadByTheReplacementInTheTurnOfTheDrop) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto lost = co_await select{ctx.dequeue_event<std::string>("q"), ctx.schedule_wait<void>("w")};
    co_return (lost.index() == 1 ? "second " : "first ") + co_await ctx.dequeue_event<std::string>("q");
  });
  harness.start();
  EXPECT_EQ(harness.turn({raised("w"), queued("q", "\"m\"")}).output, "\"second m\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, AnEventBehindTheCompletionThatDroppedTheWaitGoesToItsReplacement) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto first = co_await select{ctx.schedule_wait<std::string>("w"), ctx.schedule_activity<int>("A")};
    co_return (first.index() == 1 ? "replacement " : "first ") + co_await ctx.schedule_wait<std::string>("w");
  });
  harness.start();
  const auto last = harness.turn({completed(3, "1"), raised("w", "\"e\"")});
  EXPECT_EQ(last.output, "\"replacement e\"");
  EXPECT_THAT(tail(harness, 4),
              ElementsAre("4 ActivityCompleted of 3 result=1", "5 ExternalEvent 'w' data=\"e\"",
                          "6 ExternalSubscribed 'w'", "7 ExternalSubscriptionCancelled of 2 reason=dropped_future",
                          "8 OrchestrationCompleted output=\"replacement e\""));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, ADroppedWaitTakesNoEventFromALaterOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto first = std::make_unique<Future<std::string>>(ctx.schedule_wait<std::string>("w"));
    auto second = ctx.schedule_wait<std::string>("w");
    first.reset();
    co_return co_await second;
  });
  harness.start();
  EXPECT_EQ(harness.turn({raised("w", "\"e\"")}).output, "\"e\"");
}

TEST(Drops, TheLosersOfASelectAreGoneBeforeTheWinnersCodeRunsOn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await select{ctx.schedule_wait<void>("go"), ctx.dequeue_event<int>("q")};
    auto next = ctx.dequeue_event<int>("q");
    co_await ctx.schedule_activity<int>("A", co_await next);
  });
  harness.start();
  harness.turn({raised("go")});
  EXPECT_EQ(harness.turn({queued("q", "5")}).activities.size(), 1);
}

// ---- breadcrumbs ---------------------------------------------------------------------------------------------------

TEST(Drops, BreadcrumbsCloseTheTurnInAscendingOrderOverAllKinds) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto queue = std::make_unique<Future<int>>(ctx.dequeue_event<int>("q"));
    auto wait = std::make_unique<Future<int>>(ctx.schedule_wait<int>("w"));
    auto child = std::make_unique<Future<int>>(ctx.schedule_sub_orchestration<int>("C"));
    auto activity = std::make_unique<Future<int>>(ctx.schedule_activity<int>("A"));
    auto timer = std::make_unique<Future<void>>(ctx.schedule_timer(Milliseconds(1)));
    co_await ctx.schedule_wait<void>("go");
    timer.reset();
    wait.reset();
    activity.reset();
    queue.reset();
    ctx.set_custom_status("dropped");
    child.reset();
    co_await ctx.schedule_wait<void>("end");
  });
  harness.start();
  const auto turn = harness.turn({raised("go")});
  EXPECT_THAT(lines_of(turn.events),
              ElementsAre("8 ExternalEvent 'go'", "9 CustomStatusUpdated status=dropped", "10 ExternalSubscribed 'end'",
                          "11 QueueSubscriptionCancelled of 2 reason=dropped_future",
                          "12 ExternalSubscriptionCancelled of 3 reason=dropped_future",
                          "13 SubOrchestrationCancelRequested of 4 reason=dropped_future",
                          "14 ActivityCancelRequested of 5 reason=dropped_future"));
  EXPECT_THAT(turn.cancelled_activities, ElementsAre(5));
  ASSERT_THAT(lines_of(turn.messages), ElementsAre("to inst::sub::4: CancelInstance"));
  EXPECT_EQ(std::get<messages::CancelInstance>(turn.messages[0].body).reason,
            "parent dropped sub-orchestration future");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, ADropIsAskedForOnceAndNotAgainAtTheEnd) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto activity = ctx.schedule_activity<int>("A");
      auto child = ctx.schedule_sub_orchestration<int>("C");
      co_await ctx.schedule_wait<void>("go");
    }
    co_await ctx.schedule_wait<void>("end");
  });
  harness.start();
  harness.turn({raised("go")});
  const auto last = harness.turn({cancel("enough")});
  EXPECT_THAT(last.cancelled_activities, IsEmpty());
  EXPECT_THAT(last.messages, IsEmpty());
  EXPECT_THAT(lines_of(last.events), ElementsAre("9 OrchestrationCancelRequested reason=enough",
                                                 "10 ExternalSubscriptionCancelled of 6 reason=orchestration_terminal",
                                                 "11 OrchestrationFailed error=cancelled: enough"));
}

TEST(Drops, WhatIsScheduledAndDroppedInOneTurnIsRecordedButNeverLeaves) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto activity = ctx.schedule_activity<int>("A");
      auto child = ctx.schedule_sub_orchestration<int>("C");
    }
    co_await ctx.schedule_wait<void>("end");
  });
  const auto turn = harness.start();
  EXPECT_THAT(tail(harness, 2),
              ElementsAre("2 ActivityScheduled 'A'", "3 SubOrchestrationScheduled 'C' instance=inst::sub::3",
                          "4 ExternalSubscribed 'end'", "5 ActivityCancelRequested of 2 reason=dropped_future",
                          "6 SubOrchestrationCancelRequested of 3 reason=dropped_future"));
  EXPECT_THAT(turn.activities, IsEmpty());
  EXPECT_THAT(turn.messages, IsEmpty());
  EXPECT_THAT(turn.cancelled_activities, IsEmpty());
}

TEST(Drops, AReturnWithoutAwaitingDropsWhatWasScheduled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("A");
    co_return 1;
  });
  const auto last = harness.start();
  EXPECT_THAT(tail(harness, 2),
              ElementsAre("2 ActivityScheduled 'A'", "3 ActivityCancelRequested of 2 reason=dropped_future",
                          "4 OrchestrationCompleted output=1"));
  EXPECT_THAT(last.activities, IsEmpty());
}

TEST(Drops, ATimerThatWasDroppedInItsTurnLeavesNoBreadcrumb) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto timer = ctx.schedule_timer(Milliseconds(1));
    }
    co_await ctx.schedule_wait<void>("end");
  });
  harness.start();
  EXPECT_THAT(tail(harness, 2), ElementsAre("2 TimerCreated fire_at=1000001", "3 ExternalSubscribed 'end'"));
  EXPECT_THAT(lines_of(harness.turn({fired(2)}).events), ElementsAre("4 TimerFired of 2 fire_at=0"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- outcomes that come too late
// -------------------------------------------------------------------------------------

Orchestration<void> races(OrchestrationContext ctx) {
  co_await select{ctx.schedule_wait<void>("go"), ctx.schedule_activity<int>("A"),
                  ctx.schedule_sub_orchestration<int>("C")};
  co_await ctx.schedule_wait<void>("end");
}

TEST(Drops, AnOutcomeThatArrivesAfterTheDropIsRecordedWithoutEffect) {
  Harness harness(races);
  harness.start();
  harness.turn({raised("go")});
  const auto late = harness.turn({completed(3, "1"), child_failed(4, ApplicationError{})});
  EXPECT_EQ(late.status, ExecutionStatus::kRunning);
  EXPECT_THAT(lines_of(late.events),
              ElementsAre("9 ActivityCompleted of 3 result=1", "10 SubOrchestrationFailed of 4 error=(empty)"));
  EXPECT_THAT(late.ignored, IsEmpty());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, AnOutcomeBehindTheWinnerInTheSameBatchLeavesNothingToWithdraw) {
  Harness harness(races);
  harness.start();
  const auto turn = harness.turn({raised("go"), completed(3, "1"), child_completed(4, "2")});
  EXPECT_THAT(lines_of(turn.events),
              ElementsAre("5 ExternalEvent 'go'", "6 ActivityCompleted of 3 result=1",
                          "7 SubOrchestrationCompleted of 4 result=2", "8 ExternalSubscribed 'end'",
                          "9 ActivityCancelRequested of 3 reason=dropped_future",
                          "10 SubOrchestrationCancelRequested of 4 reason=dropped_future"));
  EXPECT_THAT(turn.cancelled_activities, IsEmpty());
  EXPECT_THAT(turn.messages, IsEmpty());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- queue messages that nobody read
// -----------------------------------------------------------------------------------

TEST(Drops, AMessageThatADroppedFutureHeldGoesBackToItsPlace) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto held = std::make_unique<Future<std::string>>(ctx.dequeue_event<std::string>("q"));
    co_await ctx.schedule_wait<void>("go");
    const bool had_one = held->done();
    held.reset();
    const auto first = co_await ctx.dequeue_event<std::string>("q");
    const auto second = co_await ctx.dequeue_event<std::string>("q");
    co_return (had_one ? "held: " : "empty: ") + first + second;
  });
  harness.start();
  harness.turn({queued("q", "\"1\""), queued("q", "\"2\"")});
  const auto last = harness.turn({raised("go")});
  EXPECT_EQ(last.output, "\"held: 12\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("6 ExternalEvent 'go'", "7 QueueSubscribed 'q'", "8 QueueSubscribed 'q'",
                          "9 OrchestrationCompleted output=\"held: 12\""));
}

TEST(Drops, AMessageThatADroppedFutureHeldGoesToASubscriptionThatWaits) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto held = std::make_unique<Future<std::string>>(ctx.dequeue_event<std::string>("q"));
    auto waiting = ctx.dequeue_event<std::string>("q");
    co_await ctx.schedule_wait<void>("go");
    held.reset();
    co_return co_await waiting;
  });
  harness.start();
  EXPECT_EQ(harness.turn({queued("q", "\"1\""), raised("go")}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Drops, AMessageThatWasReadIsNotGivenBack) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.dequeue_event<std::string>("q");
    auto named = std::make_unique<Future<std::string>>(ctx.dequeue_event<std::string>("q"));
    const auto second = co_await *named;
    named.reset();
    co_return second + co_await ctx.dequeue_event<std::string>("q");
  });
  EXPECT_EQ(harness.start({}, {queued("q", "\"1\""), queued("q", "\"2\""), queued("q", "\"3\"")}).output, "\"23\"");
}

TEST(Drops, ContinueAsNewCarriesWhatNobodyReadInOrderOfArrival) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto first = co_await ctx.dequeue_event<std::string>("q");
    auto unread = ctx.dequeue_event<std::string>("q");  // holds b
    {
      auto dropped = ctx.dequeue_event<std::string>("p");
    }  // held p1
    co_await ctx.continue_as_new(first);
  });
  const auto last = harness.start(
      {}, {queued("q", "\"a\""), queued("p", "\"p1\""), queued("q", "\"b\""), queued("z", {}), queued("q", "\"c\"")});
  ASSERT_EQ(last.status, ExecutionStatus::kContinuedAsNew);
  const auto& next = std::get<messages::ContinueAsNew>(last.messages.at(0).body);
  EXPECT_THAT(next.carry_forward, ElementsAre(CarriedMessage{"p", "\"p1\""}, CarriedMessage{"q", "\"b\""},
                                              CarriedMessage{"z", std::nullopt}, CarriedMessage{"q", "\"c\""}));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- detach --------------------------------------------------------------------------------------------------------

Orchestration<int> detaches(OrchestrationContext ctx) {
  ctx.schedule_activity<int>("A", 1).detach();
  ctx.schedule_sub_orchestration<int>("C").detach();
  co_await ctx.schedule_wait<void>("end");
  ctx.schedule_activity<int>("Last", 2).detach();
  ctx.schedule_sub_orchestration<int>("LastChild").detach();
  co_return 3;
}

TEST(Detach, TheOperationRunsOnWithoutABreadcrumbAndItsOutcomeIsRecorded) {
  Harness harness(detaches);
  EXPECT_EQ(harness.start().activities.size(), 1);
  EXPECT_THAT(lines_of(harness.turn({completed(2, "1"), child_completed(3, "2")}).events),
              ElementsAre("5 ActivityCompleted of 2 result=1", "6 SubOrchestrationCompleted of 3 result=2"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Detach, ItSurvivesANormalEndAndLeavesEvenFromTheLastTurn) {
  Harness harness(detaches);
  harness.start();
  const auto last = harness.turn({raised("end")});
  EXPECT_THAT(lines_of(last.events), ElementsAre("5 ExternalEvent 'end'", "6 ActivityScheduled 'Last' input=2",
                                                 "7 SubOrchestrationScheduled 'LastChild' instance=inst::sub::7",
                                                 "8 OrchestrationCompleted output=3"));
  EXPECT_THAT(last.cancelled_activities, IsEmpty());
  ASSERT_EQ(last.activities.size(), 1);
  EXPECT_EQ(std::get<messages::ExecuteActivity>(last.activities[0].body).schedule_id, 6);
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst::sub::7: StartOrchestration"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Detach, CancelAndTerminateReachIt) {
  for (const auto& body : {cancel("r"), terminate("r")}) {
    Harness harness(detaches);
    harness.start();
    const auto last = harness.turn({body});
    EXPECT_THAT(last.cancelled_activities, ElementsAre(2));
    EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst::sub::3: CancelInstance"));
    EXPECT_THAT(lines_of(last.events).back(),
                EndsWith("ActivityCancelRequested of 2 reason=orchestration_terminal_failed"));
  }
}

TEST(Detach, WhatIsDetachedInACancelledTurnNeverLeaves) {
  Harness harness(detaches);
  harness.start();
  const auto last = harness.turn({raised("end"), cancel("r")});
  EXPECT_EQ(last.status, ExecutionStatus::kCancelled);
  EXPECT_THAT(last.activities, IsEmpty());
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2)) << "nobody else has heard of the other one";
}

TEST(Detach, ARetriedActivityIsTriedAgainAndSurvivesTheEnd) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    ctx.schedule_activity<int>("A", ActivityOptions().retry(RetryPolicy(3).backoff(Backoff::none()))).detach();
    co_await ctx.schedule_wait<void>("end");
    co_return 1;
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({failed(2, "no")}).events),
              ElementsAre("4 ActivityFailed of 2 error=no", "5 ActivityScheduled 'A'"));
  const auto last = harness.turn({raised("end")});
  EXPECT_THAT(lines_of(last.events), ElementsAre("6 ExternalEvent 'end'", "7 OrchestrationCompleted output=1"));
  EXPECT_THAT(last.cancelled_activities, IsEmpty());
}

// ---- futures that are somewhere else
// -----------------------------------------------------------------------------------

std::vector<Future<int>>& hiding_place() {
  static std::vector<Future<int>> futures;
  return futures;
}

Orchestration<void> hides(OrchestrationContext ctx) {
  auto& hidden = hiding_place();
  hidden.push_back(ctx.schedule_activity<int>("A"));
  hidden.push_back(ctx.schedule_sub_orchestration<int>("C"));
  hidden.push_back(ctx.schedule_wait<int>("w"));
  hidden.push_back(ctx.dequeue_event<int>("q"));
  hidden.push_back(ctx.dequeue_event<int>("full"));
  hidden.push_back(ctx.schedule_activity<int>("R", ActivityOptions().retry(RetryPolicy(2))));
  co_await ctx.schedule_wait<void>("end");
}

TEST(HiddenFutures, ThoseThatOutliveTheirInstanceDoNoHarm) {
  {
    Harness harness(hides);
    harness.start({}, {queued("full", "1")});
    harness.turn({completed(3, "1")});
  }
  EXPECT_FALSE(hiding_place().empty());
  hiding_place().clear();
}

TEST(HiddenFutures, ThoseOfAnInstanceThatIsGoneMeanNothingToAnother) {
  {
    Harness harness(hides);
    harness.also_rebuild = false;
    harness.start({}, {queued("full", "1")});
  }
  Harness other([](OrchestrationContext ctx) -> Orchestration<void> {
    hiding_place().clear();
    co_await ctx.schedule_wait<void>("end");
  });
  other.also_rebuild = false;
  other.start({}, {queued("full", "2")});
  EXPECT_THAT(other.lines(), ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0",
                                         "2 QueueEventDelivered 'full' data=2", "3 ExternalSubscribed 'end'"));
}

TEST(HiddenFutures, ThoseOfAnotherInstanceThatStillRunsAreNotTouched) {
  Harness harness(hides);
  harness.also_rebuild = false;
  harness.start();
  Harness other([](OrchestrationContext ctx) -> Orchestration<void> {
    hiding_place().clear();
    co_await ctx.schedule_wait<void>("end");
  });
  other.also_rebuild = false;
  other.start();
  EXPECT_THAT(lines_of(harness.turn({completed(2, "1")}).events), ElementsAre("9 ActivityCompleted of 2 result=1"));
}

TEST(SuspendedInstances, DestroyingOneHasNoEffectEvenIfItsLocalsCallTheContext) {
  class Calls {
   public:
    explicit Calls(OrchestrationContext ctx) : ctx_(ctx) {}
    ~Calls() { ctx_.set_custom_status("destroyed"); }

   private:
    OrchestrationContext ctx_;
  };
  const auto code = [](OrchestrationContext ctx) -> Orchestration<void> {
    const Calls calls(ctx);
    auto activity = ctx.schedule_activity<int>("A");
    co_await ctx.schedule_wait<void>("end");
  };
  Harness harness(code);
  harness.start();
  const auto before = harness.lines();
  harness.evict();
  EXPECT_EQ(harness.lines(), before);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  EXPECT_THAT(lines_of(harness.turn({completed(2, "1")}).events), ElementsAre("4 ActivityCompleted of 2 result=1"));
}

}  // namespace
}  // namespace perdure::test
