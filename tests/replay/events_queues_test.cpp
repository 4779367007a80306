// External events and queues: who gets what, in which order, and what is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<IgnoreReason> reasons(const TurnOutcome& outcome) {
  std::vector<IgnoreReason> found;
  for (const auto& ignored : outcome.ignored) found.push_back(ignored.reason);
  return found;
}

// ---- events -------------------------------------------------------------------------------------------------------

Orchestration<std::string> two_waits(OrchestrationContext ctx) {
  auto first = ctx.schedule_wait<std::string>("e");
  auto second = ctx.schedule_wait<std::string>("e");
  const std::string b = co_await second;  // awaited in another order than subscribed
  const std::string a = co_await first;
  co_return a + b;
}

TEST(Events, TheNthWaitGetsTheNthEvent) {
  Harness harness(two_waits);
  harness.start();
  harness.turn({raised("e", "\"1\"")});
  EXPECT_EQ(harness.turn({raised("e", "\"2\"")}).output, "\"12\"");
  Harness in_one_batch(two_waits);
  in_one_batch.start();
  EXPECT_EQ(in_one_batch.turn({raised("e", "\"1\""), raised("e", "\"2\"")}).output, "\"12\"");
  EXPECT_EQ(in_one_batch.replay_failure(), std::nullopt);
}

TEST(Events, NamesAreIndependent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto x = ctx.schedule_wait<std::string>("x");
    auto y = ctx.schedule_wait<std::string>("y");
    auto both = co_await join{x, y};
    co_return std::get<0>(both) + std::get<1>(both);
  });
  harness.start();
  EXPECT_EQ(harness.turn({raised("y", "\"Y\""), raised("x", "\"X\"")}).output, "\"XY\"");
}

Orchestration<std::string> wait_once(OrchestrationContext ctx) {
  co_return co_await ctx.schedule_wait<std::string>("e");
}

TEST(Events, OneBehindTheStartInTheSameBatchIsDelivered) {
  Harness harness(wait_once);
  EXPECT_EQ(harness.start(std::nullopt, {raised("e", "\"1\"")}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, OneBehindTheCompletionThatLedToTheWaitIsDelivered) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_activity<void>("A");
    co_return co_await ctx.schedule_wait<std::string>("e");
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2), raised("e", "\"1\"")}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, AnEarlyOneIsLostButRecordedAndReported) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_activity<void>("A");
    co_return co_await ctx.schedule_wait<std::string>("e");
  });
  harness.start();
  const auto early = harness.turn({raised("e", "\"early\"")});
  EXPECT_THAT(lines_of(early.events), ElementsAre("3 ExternalEvent 'e' data=\"early\""));
  EXPECT_THAT(reasons(early), ElementsAre(IgnoreReason::kNobodyWaits));
  EXPECT_THAT(early.ignored[0].what, HasSubstr("'e'"));
  EXPECT_EQ(harness.turn({completed(2)}).status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.turn({raised("e", "\"late\"")}).output, "\"late\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, OneBeforeTheCompletionThatLedToTheWaitIsEarly) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_activity<void>("A");
    co_return co_await ctx.schedule_wait<std::string>("e");
  });
  harness.start();
  const auto second = harness.turn({raised("e", "\"early\""), completed(2)});
  EXPECT_EQ(second.status, ExecutionStatus::kRunning);
  EXPECT_THAT(reasons(second), ElementsAre(IgnoreReason::kNobodyWaits));
}

TEST(Events, SurplusOnesAreLost) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const std::string a = co_await ctx.schedule_wait<std::string>("e");
    co_await ctx.schedule_activity<void>("A");
    const std::string b = co_await ctx.schedule_wait<std::string>("e");
    co_return a + b;
  });
  harness.start();
  const auto second = harness.turn({raised("e", "\"1\""), raised("e", "\"lost\"")});
  EXPECT_THAT(reasons(second), ElementsAre(IgnoreReason::kNobodyWaits));
  harness.turn({completed(5)});
  EXPECT_EQ(harness.turn({raised("e", "\"2\"")}).output, "\"12\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, ACancelledWaitEatsNothing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    {
      auto dropped = ctx.schedule_wait<std::string>("e");
    }
    auto kept = ctx.schedule_wait<std::string>("e");
    co_await select{ctx.schedule_wait<std::string>("e"), ctx.schedule_timer(Milliseconds(1))};
    auto last = ctx.schedule_wait<std::string>("e");
    const std::string b = co_await last;
    co_return co_await kept + b;
  });
  harness.start();
  harness.turn({fired(5)});
  harness.turn({raised("e", "\"1\"")});
  EXPECT_EQ(harness.turn({raised("e", "\"2\"")}).output, "\"12\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// W53: the event is in the batch right behind what dropped the previous wait.
TEST(Events, OneBehindTheDropOfAWaitGoesToItsReplacement) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await select{ctx.schedule_wait<std::string>("e"), ctx.schedule_timer(Milliseconds(1))};
    co_return co_await ctx.schedule_wait<std::string>("e");
  });
  harness.start();
  EXPECT_EQ(harness.turn({fired(3), raised("e", "\"1\"")}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, ADeliveredEventStaysWithItsFutureUntilItIsAwaited) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto wait = ctx.schedule_wait<std::string>("e");
    co_await ctx.schedule_activity<void>("A");
    co_return co_await wait;
  });
  harness.start();
  EXPECT_THAT(reasons(harness.turn({raised("e", "\"1\"")})), ElementsAre());
  EXPECT_EQ(harness.turn({completed(3)}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Events, AnAbsentPayloadIsNoEmptyOne) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const Raw absent = co_await ctx.schedule_wait<Raw>("e");
    const Raw empty = co_await ctx.schedule_wait<Raw>("e");
    const bool right = !absent.payload() && empty.payload() == "";
    co_return right ? "right" : "wrong";
  });
  harness.start();
  EXPECT_EQ(harness.turn({raised("e"), raised("e", "")}).output, "\"right\"");
}

TEST(Events, OpenWaitsGetABreadcrumbAtTheEnd) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto wait = ctx.schedule_wait<void>("e");
    co_await ctx.continue_as_new();
  });
  EXPECT_THAT(lines_of(harness.start().events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ExternalSubscribed 'e'",
                          "3 ExternalSubscriptionCancelled of 2 reason=orchestration_terminal",
                          "4 OrchestrationContinuedAsNew"));
}

// ---- queues -------------------------------------------------------------------------------------------------------

Orchestration<std::string> read_three(OrchestrationContext ctx) {
  std::string all;
  for (int i = 0; i < 3; ++i) all += co_await ctx.dequeue_event<std::string>("q");
  co_return all;
}

TEST(Queues, MessagesComeInOrder) {
  Harness harness(read_three);
  harness.start();
  harness.turn({queued("q", "\"1\"")});
  EXPECT_EQ(harness.turn({queued("q", "\"2\""), queued("q", "\"3\"")}).output, "\"123\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Queues, MessagesBeforeAnySubscriptionAreKept) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_await ctx.schedule_activity<void>("A");
    const std::string a = co_await ctx.dequeue_event<std::string>("q");
    const std::string b = co_await ctx.dequeue_event<std::string>("q");
    co_return a + b;
  });
  const auto first = harness.start(std::nullopt, {queued("q", "\"1\"")});
  EXPECT_THAT(first.ignored, ElementsAre());
  harness.turn({queued("q", "\"2\"")});
  EXPECT_EQ(harness.turn({completed(3)}).output, "\"12\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Queues, SubscriptionsAreServedInTheirOrderNotInThatOfTheAwaits) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto first = ctx.dequeue_event<std::string>("q");
    auto second = ctx.dequeue_event<std::string>("q");
    auto third = ctx.dequeue_event<std::string>("q");
    const std::string c = co_await third;
    const std::string b = co_await second;
    const std::string a = co_await first;
    co_return a + b + c;
  });
  harness.start(std::nullopt, {queued("q", "\"1\"")});
  harness.turn({queued("q", "\"2\"")});
  EXPECT_EQ(harness.turn({queued("q", "\"3\"")}).output, "\"123\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Queues, TheyAreIndependent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const std::string x = co_await ctx.dequeue_event<std::string>("x");
    const std::string y = co_await ctx.dequeue_event<std::string>("y");
    co_return x + y;
  });
  harness.start();
  harness.turn({queued("y", "\"Y\""), queued("z", "\"Z\"")});
  EXPECT_EQ(harness.turn({queued("x", "\"X\"")}).output, "\"XY\"");
}

TEST(Queues, EventsAndQueuesOfOneNameAreDifferentThings) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto event = ctx.schedule_wait<std::string>("n");
    auto message = ctx.dequeue_event<std::string>("n");
    auto both = co_await join{event, message};
    co_return std::get<0>(both) + std::get<1>(both);
  });
  harness.start();
  EXPECT_EQ(harness.turn({queued("n", "\"Q\"")}).status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.turn({raised("n", "\"E\"")}).output, "\"EQ\"");
}

TEST(Queues, ADroppedSubscriptionEatsNothing) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    {
      auto dropped = ctx.dequeue_event<std::string>("q");
    }
    co_return co_await ctx.dequeue_event<std::string>("q");
  });
  harness.start();
  EXPECT_EQ(harness.turn({queued("q", "\"1\"")}).output, "\"1\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Queues, ADroppedSubscriptionGivesItsUnreadMessageToTheNext) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string all;
    {
      auto dropped = ctx.dequeue_event<std::string>("q");
      auto kept = ctx.dequeue_event<std::string>("q");
      auto waiting = ctx.dequeue_event<std::string>("q");
      co_await ctx.schedule_activity<void>("A");
      {
        auto gone = std::move(dropped);
      }
      all += co_await kept;
      all += co_await waiting;  // what the dropped one held
    }
    all += co_await ctx.dequeue_event<std::string>("q");
    co_return all;
  });
  harness.start();
  harness.turn({queued("q", "\"1\""), queued("q", "\"2\"")});
  harness.turn({completed(5)});
  EXPECT_EQ(harness.turn({queued("q", "\"3\"")}).output, "\"213\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// W52: the timer and the message in one batch, then something new is scheduled, and all is replayed.
TEST(Queues, ALoopOfDequeueAgainstTimerReplaysAfterALostRace) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    for (int i = 0; i < 4; ++i) {
      auto first = co_await select{ctx.dequeue_event<std::string>("q"), ctx.schedule_timer(Milliseconds(10))};
      if (first.index() == 0) co_await ctx.schedule_activity<void>("Handle", std::get<0>(first));
    }
  });
  harness.start();
  EXPECT_THAT(
      lines_of(harness.turn({fired(3), queued("q", "\"m\"")}).events),
      ElementsAre("4 TimerFired of 3 fire_at=0", "5 QueueEventDelivered 'q' data=\"m\"", "6 QueueSubscribed 'q'",
                  "7 TimerCreated fire_at=1001010", "8 ActivityScheduled 'Handle' input=\"m\"",
                  "9 QueueSubscriptionCancelled of 2 reason=dropped_future"));
  harness.turn({fired(7)});
  harness.turn({completed(8)});
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// W8: the ancestor gave up at about a hundred.
TEST(Queues, ManyMessagesAreDrainedInOneTurn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    int sum = 0;
    for (int i = 0; i < 2'000; ++i) sum += co_await ctx.dequeue_event<int>("q");
    co_return sum;
  });
  std::vector<MessageBody> messages(2'000, queued("q", "1"));
  EXPECT_EQ(harness.start(std::nullopt, std::move(messages)).output, "2000");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Queues, OfManyEachKeepsItsOwnOrder) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string all;
    for (int round = 0; round < 3; ++round) {
      for (int queue = 9; queue >= 0; --queue) {
        all += co_await ctx.dequeue_event<std::string>("q" + std::to_string(queue));
      }
    }
    co_return all;
  });
  harness.start();
  std::string expected;
  TurnOutcome last;
  for (int round = 0; round < 3; ++round) {
    std::vector<MessageBody> batch;
    for (int queue = 0; queue < 10; ++queue) {
      const std::string text = std::to_string(round) + std::to_string(9 - queue) + " ";
      expected += text;
      batch.push_back(queued("q" + std::to_string(9 - queue), "\"" + text + "\""));
    }
    last = harness.turn(std::move(batch));
  }
  EXPECT_EQ(last.output, "\"" + expected + "\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- payloads of the wrong type (W35) -----------------------------------------------------------------------------

TEST(Payloads, OfTheWrongTypeAreErrorsOfTheAwait) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      co_await ctx.schedule_wait<int>("e");
    } catch (const CodecError& error) {
      seen += error.error().name() + ";";
    }
    auto wait = co_await ctx.schedule_wait<int>("e").as_result();
    if (!wait && wait.error().source() == Error::Source::kCodec) seen += "wait;";
    auto message = co_await ctx.dequeue_event<int>("q").as_result();
    if (!message && message.error().source() == Error::Source::kCodec) seen += message.error().name() + ";";
    const int next = co_await ctx.dequeue_event<int>("q");
    co_return seen + std::to_string(next);
  });
  harness.start();
  harness.turn({raised("e", "[]"), raised("e")});
  EXPECT_EQ(harness.turn({queued("q", "nonsense"), queued("q", "5")}).output, "\"e;wait;q;5\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Payloads, ThatNobodyCanDecodeFailTheOrchestrationNotTheEngine) {
  Harness harness(
      [](OrchestrationContext ctx) -> Orchestration<int> { co_return co_await ctx.dequeue_event<int>("q"); });
  harness.start();
  const auto last = harness.turn({queued("q", "nonsense")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(std::get<ApplicationError>(*last.error).kind, ApplicationErrorKind::kOrchestrationFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("'q' cannot be decoded"));
}

}  // namespace
}  // namespace perdure::test
