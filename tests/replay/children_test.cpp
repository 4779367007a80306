// Sub-orchestrations and detached starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class M>
const M& message(const TurnOutcome& outcome, std::size_t index = 0) {
  return std::get<M>(outcome.messages.at(index).body);
}

Orchestration<int> one_child(OrchestrationContext ctx) {
  co_return co_await ctx.schedule_sub_orchestration<int>("Child", 7);
}

TEST(Children, OneWithoutAnIdIsNamedAfterItsParentAndItsEvent) {
  Harness harness(one_child);
  const auto first = harness.start();
  EXPECT_THAT(lines_of(first.events)[1], "2 SubOrchestrationScheduled 'Child' instance=inst::sub::2 input=7");
  ASSERT_EQ(first.messages.size(), 1u);
  EXPECT_EQ(first.messages[0].instance, "inst::sub::2");
  EXPECT_EQ(first.messages[0].execution, std::nullopt);
  EXPECT_EQ(message<messages::StartOrchestration>(first),
            (messages::StartOrchestration{"Child", std::nullopt, "7", ParentLink{"inst", 1, 2}}));
  EXPECT_EQ(harness.turn({child_completed(2, "5")}).output, "5");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// W2, W3: ids and links of later executions do not collide with those of the first.
TEST(Children, ThoseOfLaterExecutionsHaveOtherIds) {
  Harness harness(one_child);
  harness.execution = 3;
  const auto first = harness.start();
  EXPECT_EQ(first.messages[0].instance, "inst::sub::3::2");
  EXPECT_EQ(message<messages::StartOrchestration>(first).parent, (ParentLink{"inst", 3, 2}));
  EXPECT_EQ(harness.turn({child_completed(2, "5")}).output, "5");
}

TEST(Children, AnAnswerToAnotherExecutionIsIgnored) {
  Harness harness(one_child);
  harness.execution = 2;
  harness.start();
  const auto stray = harness.turn_with({{"inst", 1, std::nullopt, child_completed(2, "5")}});
  EXPECT_EQ(stray.status, ExecutionStatus::kRunning);
  ASSERT_EQ(stray.ignored.size(), 1u);
  EXPECT_EQ(stray.ignored[0].reason, IgnoreReason::kOtherExecution);
}

TEST(Children, AnExplicitIdIsUsedAsItIs) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto id = [](const char* text) { return SubOrchestrationOptions().instance_id(text); };
    const SubOrchestrationOptions plain = id("order-1");
    const SubOrchestrationOptions tricky = id("sub::5");
    auto a = ctx.schedule_sub_orchestration<void>("Child", plain);
    auto b = ctx.schedule_sub_orchestration<void>("Child", tricky);
    co_await join{a, b};
  });
  const auto first = harness.start();
  EXPECT_EQ(first.messages.at(0).instance, "order-1");
  EXPECT_EQ(first.messages.at(1).instance, "sub::5");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Children, AnEmptyIdIsAMisuse) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    const auto options = SubOrchestrationOptions().instance_id("");
    co_await ctx.schedule_sub_orchestration<void>("Child", options);
  });
  EXPECT_THAT(describe(*harness.start().error), HasSubstr("an instance id must not be empty"));
}

TEST(Children, TheVersionIsInTheStart) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<void>("Child", 1, SubOrchestrationOptions().version("2.3.4"));
  });
  const auto first = harness.start();
  EXPECT_EQ(message<messages::StartOrchestration>(first).version, (SemanticVersion{2, 3, 4}));
  EXPECT_EQ(std::get<events::SubOrchestrationScheduled>(harness.history[1].body).version, (SemanticVersion{2, 3, 4}));
}

TEST(Children, AVersionThatIsNoneIsRefusedAtOnce) {
  EXPECT_THROW(SubOrchestrationOptions().version("latest"), std::invalid_argument);
  EXPECT_THROW(StartOptions().version("1.0"), std::invalid_argument);
}

TEST(Children, NoInputIsAnAbsentPayload) {
  Harness harness(
      [](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_sub_orchestration<void>("Child"); });
  EXPECT_EQ(message<messages::StartOrchestration>(harness.start()).input, std::nullopt);
}

TEST(Children, AFailureIsThrownAsASubOrchestrationError) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      co_await ctx.schedule_sub_orchestration<int>("Child");
    } catch (const SubOrchestrationError& error) {
      seen = error.error().name() + "|" + error.error().message() + "|" + error.what();
    }
    co_return seen;
  });
  harness.start();
  const auto last =
      harness.turn({child_failed(2, application_error(ApplicationErrorKind::kOrchestrationFailed, "out of stock"))});
  EXPECT_EQ(last.output, "\"Child|out of stock|sub-orchestration 'Child' failed: out of stock\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Children, ACancelledOneSaysSo) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto result = co_await ctx.schedule_sub_orchestration<int>("Child").as_result();
    co_return (result.error().is_cancelled() ? "cancelled, " : "") + result.error().message();
  });
  harness.start();
  const auto last = harness.turn({child_failed(2, application_error(ApplicationErrorKind::kCancelled, "by hand"))});
  EXPECT_EQ(last.output, "\"cancelled, cancelled: by hand\"");
}

TEST(Children, AFailureThatIsNotTheApplicationsEndsTheParentToo) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto result = co_await ctx.schedule_sub_orchestration<int>("Child").as_result();
  });
  harness.start();
  const ErrorDetails broken = ConfigurationError{ConfigurationErrorKind::kNondeterminism, "Child", "changed code"};
  const auto last = harness.turn({child_failed(2, broken)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, broken);
}

TEST(Children, ADroppedOneIsCancelled) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await select{ctx.schedule_sub_orchestration<int>("Child"), ctx.schedule_timer(Milliseconds(1))};
    co_await ctx.schedule_activity<void>("Next");
  });
  harness.start();
  const auto second = harness.turn({fired(3)});
  EXPECT_THAT(lines_of(second.events).back(), "6 SubOrchestrationCancelRequested of 2 reason=dropped_future");
  ASSERT_EQ(second.messages.size(), 1u);
  EXPECT_EQ(second.messages[0].instance, "inst::sub::2");
  EXPECT_EQ(message<messages::CancelInstance>(second).reason, "parent dropped sub-orchestration future");
  EXPECT_THAT(harness.turn({child_failed(2, application_error(ApplicationErrorKind::kCancelled, "dropped"))}).messages,
              ElementsAre());
  EXPECT_EQ(harness.turn({completed(5)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Children, OneDroppedInTheTurnThatMadeItNeverStarts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto dropped = ctx.schedule_sub_orchestration<int>("Child");
    }
    co_await ctx.schedule_activity<void>("Next");
  });
  EXPECT_THAT(harness.start().messages, ElementsAre());
}

TEST(Children, OpenOnesAreCancelledHoweverTheParentEnds) {
  for (const int end : {0, 1, 2, 3, 4}) {
    Harness harness([end](OrchestrationContext ctx) -> Orchestration<int> {
      auto child = ctx.schedule_sub_orchestration<int>("Child");
      co_await ctx.schedule_activity<void>("A");
      if (end == 0) co_return ctx.continue_as_new();
      if (end == 1) throw std::runtime_error("broken");
      if (end == 2) throw 42;
      co_await child;
      co_return 0;
    });
    harness.start();
    TurnOutcome last;
    if (end < 3) last = harness.turn({completed(3)});
    if (end == 3) last = harness.turn({cancel("enough")});
    if (end == 4) last = harness.turn({terminate("enough")});
    EXPECT_NE(last.status, ExecutionStatus::kRunning) << end;
    int cancels = 0;
    for (const auto& sent : last.messages) {
      if (sent.instance == "inst::sub::2" && std::holds_alternative<messages::CancelInstance>(sent.body)) ++cancels;
    }
    EXPECT_EQ(cancels, 1) << end;
    EXPECT_EQ(harness.replay_failure(), std::nullopt) << end;
  }
}

TEST(Children, AResultOfTheWrongTypeIsACodecError) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto result = co_await ctx.schedule_sub_orchestration<int>("Child").as_result();
    co_return (!result && result.error().source() == Error::Source::kCodec) ? "codec" : "other";
  });
  harness.start();
  EXPECT_EQ(harness.turn({child_completed(2, "\"text\"")}).output, "\"codec\"");
}

TEST(Children, TheParentIsToldTheOutcome) {
  Harness harness([](OrchestrationContext ctx, int input) -> Orchestration<int> {
    co_await ctx.schedule_activity<void>("A");
    if (input == 0) throw std::runtime_error("zero");
    co_return input;
  });
  harness.parent = ParentLink{"boss", 4, 17};
  harness.start("3");
  const auto last = harness.turn({completed(2)});
  ASSERT_EQ(last.messages.size(), 1u);
  EXPECT_EQ(last.messages[0], (Message{"boss", 4, std::nullopt, messages::SubOrchestrationCompleted{17, "3"}}));
}

// ---- detached starts ----------------------------------------------------------------------------------------------

TEST(DetachedStarts, TheyHaveNoParent) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.schedule_orchestration("Other", "other-1", 5, StartOptions().version("2.0.0"));
    ctx.schedule_orchestration("Other", "other-2");
    co_await ctx.schedule_activity<void>("A");
  });
  const auto first = harness.start();
  EXPECT_THAT(lines_of(first.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0",
                          "2 OrchestrationChained 'Other' instance=other-1 version=2.0.0 input=5",
                          "3 OrchestrationChained 'Other' instance=other-2", "4 ActivityScheduled 'A'"));
  ASSERT_EQ(first.messages.size(), 2u);
  EXPECT_EQ(first.messages[0], (Message{"other-1", std::nullopt, std::nullopt,
                                        messages::StartOrchestration{"Other", SemanticVersion{2, 0, 0}, "5", {}}}));
  EXPECT_EQ(first.messages[1],
            (Message{"other-2", std::nullopt, std::nullopt, messages::StartOrchestration{"Other", {}, {}, {}}}));
  EXPECT_EQ(harness.turn({completed(4)}).messages.size(), 0u);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(DetachedStarts, AnEmptyInstanceIdIsAMisuse) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.schedule_orchestration("Other", "");
    co_return;
  });
  EXPECT_THAT(describe(*harness.start().error), HasSubstr("an instance id must not be empty"));
}

// W5: also in a turn that ends in continue-as-new, in a failure or in a cancellation.
TEST(DetachedStarts, TheyLeaveWhateverTheTurnEndsIn) {
  for (const int end : {0, 1, 2, 3}) {
    Harness harness([end](OrchestrationContext ctx) -> Orchestration<int> {
      co_await ctx.schedule_activity<void>("A");
      ctx.schedule_orchestration("Other", "other-1");
      if (end == 0) co_return ctx.continue_as_new();
      if (end == 1) throw std::runtime_error("broken");
      co_return 1;
    });
    harness.start();
    std::vector<MessageBody> batch{completed(2)};
    if (end == 3) batch.push_back(cancel("enough"));
    const auto last = harness.turn(std::move(batch));
    ASSERT_NE(last.status, ExecutionStatus::kRunning);
    EXPECT_EQ(last.messages.at(0).instance, "other-1") << end;
    EXPECT_EQ(harness.replay_failure(), std::nullopt) << end;
  }
}

}  // namespace
}  // namespace perdure::test
