// Links: a message between a parent and a child counts only if both have the same link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/turn.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint64_t kIncarnation = 4711;

std::vector<IgnoreReason> reasons(const TurnOutcome& outcome) {
  std::vector<IgnoreReason> reasons;
  for (const IgnoredMessage& message : outcome.ignored) reasons.push_back(message.reason);
  return reasons;
}

Orchestration<int> wait_for_child(OrchestrationContext ctx) {
  co_return co_await ctx.schedule_sub_orchestration<int>("Child", SubOrchestrationOptions().instance_id("child"));
}

Harness parent() {
  Harness harness(wait_for_child);
  harness.incarnation = kIncarnation;
  return harness;
}

TEST(Links, AChildIsStartedWithTheWholeLink) {
  Harness harness = parent();
  harness.execution = 3;
  const auto outcome = harness.start();
  ASSERT_THAT(outcome.messages, SizeIs(1));
  const auto& start = std::get<messages::StartOrchestration>(outcome.messages[0].body);
  EXPECT_EQ(start.parent, (ParentLink{"inst", 3, 2, kIncarnation}));
}

TEST(Links, AnOutcomeCarriesTheIncarnationOfTheParentBack) {
  Harness harness([](OrchestrationContext, int input) -> Orchestration<int> {
    if (input == 0) throw std::runtime_error("zero");
    co_return input;
  });
  harness.parent = ParentLink{"boss", 4, 17, kIncarnation};
  const auto outcome = harness.start("3");
  EXPECT_EQ(outcome.messages.at(0),
            (Message{"boss", 4, std::nullopt, messages::SubOrchestrationCompleted{17, "3", kIncarnation}}));
  Harness failing([](OrchestrationContext) -> Orchestration<void> {
    throw std::runtime_error("broken");
    co_return;
  });
  failing.parent = harness.parent;
  const auto failed = failing.start();
  EXPECT_EQ(failed.messages.at(0).body,
            MessageBody(messages::SubOrchestrationFailed{17, failed.error.value(), kIncarnation}));
}

TEST(Links, TheOutcomeOfAChildOfAnEarlierIncarnationIsDiscarded) {
  for (const MessageBody& stale : {MessageBody(messages::SubOrchestrationCompleted{2, "111", kIncarnation - 1}),
                                   MessageBody(messages::SubOrchestrationFailed{2, ApplicationError{}, 0}),
                                   // One that this incarnation has never scheduled: no nondeterminism either.
                                   MessageBody(messages::SubOrchestrationFailed{77, ApplicationError{}, 0})}) {
    Harness harness = parent();
    harness.start();
    const auto outcome = harness.turn({stale});
    EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);
    EXPECT_THAT(outcome.events, SizeIs(0));
    EXPECT_THAT(reasons(outcome), ElementsAre(IgnoreReason::kForeignLink));
    EXPECT_EQ(harness.turn({messages::SubOrchestrationCompleted{2, "222", kIncarnation}}).output, "222");
  }
}

TEST(Links, ARefusalCarriesTheIncarnationOfTheOneRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  harness.start();
  const auto outcome =
      harness.turn({messages::StartOrchestration{"Child", {}, {}, ParentLink{"would-be", 1, 5, kIncarnation}}});
  ASSERT_THAT(outcome.messages, SizeIs(1));
  EXPECT_EQ(std::get<messages::SubOrchestrationFailed>(outcome.messages[0].body).parent_incarnation, kIncarnation);
}

TEST(Links, ADroppedChildIsCancelledWithItsLink) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto child = ctx.schedule_sub_orchestration<int>("Child", SubOrchestrationOptions().instance_id("child"));
      co_await ctx.schedule_activity<void>("A");
    }
    co_await ctx.schedule_activity<void>("B");
  });
  harness.incarnation = kIncarnation;
  harness.start();
  const auto outcome = harness.turn({completed(3)});
  ASSERT_THAT(outcome.messages, SizeIs(1));
  EXPECT_EQ(outcome.messages[0].instance, "child");
  EXPECT_EQ(std::get<messages::CancelInstance>(outcome.messages[0].body).parent,
            (ParentLink{"inst", 1, 2, kIncarnation}));
}

TEST(Links, AnOpenChildIsCancelledWithItsLinkAtTheEnd) {
  Harness harness = parent();
  harness.start();
  const auto outcome = harness.turn({cancel("enough")});
  ASSERT_THAT(outcome.messages, SizeIs(1));
  EXPECT_EQ(std::get<messages::CancelInstance>(outcome.messages[0].body).parent,
            (ParentLink{"inst", 1, 2, kIncarnation}));
}

// A would-be parent, another incarnation of the parent, another schedule of it: none of them is the parent.
TEST(Links, OnlyTheParentItselfCancelsAChild) {
  const ParentLink link{"boss", 2, 9, kIncarnation};
  const std::vector<ParentLink> foreign{
      {"another", 2, 9, kIncarnation}, {"boss", 1, 9, kIncarnation}, {"boss", 2, 8, kIncarnation}, {"boss", 2, 9, 1}};
  for (const ParentLink& other : foreign) {
    for (const bool top_level : {false, true}) {
      Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
      if (!top_level) harness.parent = link;
      harness.start();
      const auto outcome = harness.turn({messages::CancelInstance{"not yours", other}});
      EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);
      EXPECT_THAT(reasons(outcome), ElementsAre(IgnoreReason::kForeignLink));
      if (top_level) continue;
      EXPECT_EQ(harness.turn({messages::CancelInstance{"mine", link}}).status, ExecutionStatus::kCancelled);
    }
  }
}

TEST(Links, AClientCancelsWhoeverHasTheId) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  harness.parent = ParentLink{"boss", 2, 9, kIncarnation};
  harness.start();
  EXPECT_EQ(harness.turn({cancel("by a client")}).status, ExecutionStatus::kCancelled);
}

// The start of the child and the cancel of its parent come in one batch.
TEST(Links, AChildThatIsCancelledBeforeItsFirstTurnNeverRuns) {
  const ParentLink link{"boss", 2, 9, kIncarnation};
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  harness.parent = link;
  EXPECT_EQ(harness.start({}, {messages::CancelInstance{"mine", link}}).status, ExecutionStatus::kCancelled);
}

// An instance that uses its own id for a child, and continues as new, cancels no instance.
TEST(Links, AnInstanceDoesNotCancelItsNextExecution) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("go"); });
  harness.execution = 2;
  harness.incarnation = kIncarnation;
  harness.start();
  const ParentLink itself{"inst", 1, 2, kIncarnation};
  EXPECT_EQ(harness.turn({messages::CancelInstance{"parent continued as new", itself}}).status,
            ExecutionStatus::kRunning);
}

}  // namespace
}  // namespace perdure::test
