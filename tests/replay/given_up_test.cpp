// Errors that the code cannot handle (poison, nondeterminism) end the execution that waits for the operation. For an
// operation that the code has dropped or detached, they are only recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

const PoisonError kPoison{PoisonSubject::kActivity, "inst", 1, "A", 2, 11, 10, "ExecuteActivity"};
const ConfigurationError kNondeterminism{ConfigurationErrorKind::kNondeterminism, "Child", "changed code"};

// Waits for "go" after `give_up`.
template <class GiveUp>
auto waits_after(GiveUp give_up) {
  return [give_up](Ctx ctx) -> Orchestration<int> {
    give_up(ctx);
    co_return co_await ctx.schedule_wait<int>("go");
  };
}

// The outcome of event 2 changes nothing: neither for an instance that was kept nor for one that was rebuilt.
void expect_history_only(Harness& harness, const MessageBody& outcome, const char* recorded) {
  harness.start();
  const auto turn = harness.turn({outcome});
  EXPECT_EQ(turn.status, ExecutionStatus::kRunning);
  EXPECT_THAT(lines_of(turn.events), ElementsAre(HasSubstr(recorded)));
  EXPECT_THAT(turn.messages, IsEmpty());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.evict();
  const auto last = harness.turn({raised("go", "7")});
  EXPECT_EQ(last.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(last.output, "7");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(GivenUp, ADetachedActivityEndsAsPoison) {
  Harness harness(waits_after([](Ctx ctx) { ctx.schedule_activity<int>("A").detach(); }));
  expect_history_only(harness, failed_with(2, kPoison), "ActivityFailed of 2");
}

TEST(GivenUp, ADetachedActivityWithARetryPolicyEndsAsPoison) {
  Harness harness(
      waits_after([](Ctx ctx) { ctx.schedule_activity<int>("A", ActivityOptions().retry(RetryPolicy(5))).detach(); }));
  expect_history_only(harness, failed_with(2, kPoison), "ActivityFailed of 2");
}

TEST(GivenUp, ADetachedChildEndsAsPoison) {
  Harness harness(waits_after([](Ctx ctx) { ctx.schedule_sub_orchestration<int>("Child").detach(); }));
  expect_history_only(harness, child_failed(2, kPoison), "SubOrchestrationFailed of 2");
}

TEST(GivenUp, ADetachedChildEndsWithNondeterminism) {
  Harness harness(waits_after([](Ctx ctx) { ctx.schedule_sub_orchestration<int>("Child").detach(); }));
  expect_history_only(harness, child_failed(2, kNondeterminism), "SubOrchestrationFailed of 2");
}

TEST(GivenUp, ADroppedActivityEndsAsPoison) {
  Harness harness(waits_after([](Ctx ctx) { const auto dropped = ctx.schedule_activity<int>("A"); }));
  expect_history_only(harness, failed_with(2, kPoison), "ActivityFailed of 2");
}

TEST(GivenUp, ADroppedChildEndsWithNondeterminism) {
  Harness harness(waits_after([](Ctx ctx) { const auto dropped = ctx.schedule_sub_orchestration<int>("Child"); }));
  expect_history_only(harness, child_failed(2, kNondeterminism), "SubOrchestrationFailed of 2");
}

// ---- in one batch --------------------------------------------------------------------------------------------------

// The order of messages decides, not how many of them come in one turn.
TEST(GivenUp, ByTheMessageBeforeInTheSameBatch) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    const auto first = co_await select{ctx.schedule_sub_orchestration<int>("Child"), ctx.schedule_wait<int>("stop")};
    if (first.index() == 0) co_return -1;
    co_return co_await ctx.schedule_wait<int>("go");
  });
  harness.start();
  const auto turn = harness.turn({raised("stop", "1"), child_failed(2, kNondeterminism)});
  EXPECT_EQ(turn.status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  EXPECT_EQ(harness.turn({raised("go", "7")}).output, "7");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(GivenUp, ByTheEndOfTheCodeInTheSameBatch) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("A");
    co_return co_await ctx.schedule_wait<int>("go");
  });
  harness.start();
  const auto last = harness.turn({raised("go", "7"), failed_with(2, kPoison)});
  EXPECT_EQ(last.status, ExecutionStatus::kCompleted);
  EXPECT_EQ(last.output, "7");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(GivenUp, ByContinueAsNewInTheSameBatch) {
  Harness harness([](Ctx ctx) -> Orchestration<void> {
    auto activity = ctx.schedule_activity<int>("A");
    co_await ctx.schedule_wait<void>("go");
    co_await ctx.continue_as_new();
  });
  harness.start();
  EXPECT_EQ(harness.turn({raised("go"), failed_with(2, kPoison)}).status, ExecutionStatus::kContinuedAsNew);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- not given up --------------------------------------------------------------------------------------------------

TEST(NotGivenUp, TheExecutionEndsAndWhatTheTurnDecidedIsDiscarded) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto activity = ctx.schedule_activity<int>("A");
    auto queue = ctx.dequeue_event<int>("q");
    co_await ctx.schedule_wait<void>("go");
    auto more = ctx.schedule_activity<int>("B");
    auto wait = ctx.schedule_wait<int>("never");
    co_return co_await activity;
  });
  harness.start();
  const auto last = harness.turn({raised("go"), failed_with(2, kPoison), raised("never", "1")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, ErrorDetails(kPoison));
  EXPECT_THAT(last.activities, IsEmpty());
  EXPECT_THAT(
      lines_of(last.events),
      ElementsAre(HasSubstr("ExternalEvent 'go'"), HasSubstr("ActivityFailed of 2"), HasSubstr("ExternalEvent 'never'"),
                  HasSubstr("QueueSubscriptionCancelled of 3"), HasSubstr("OrchestrationFailed")));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(NotGivenUp, AFutureThatIsKeptWithoutBeingAwaited) {
  Harness harness([](Ctx ctx) -> Orchestration<int> {
    auto child = ctx.schedule_sub_orchestration<int>("Child");
    const int went = co_await ctx.schedule_wait<int>("go");
    co_return went + co_await child;
  });
  harness.start();
  EXPECT_EQ(harness.turn({child_failed(2, kNondeterminism)}).error, ErrorDetails(kNondeterminism));
}

TEST(NotGivenUp, ByChangedCodeIsADivergence) {
  Harness harness(waits_after([](Ctx ctx) { ctx.schedule_activity<int>("A").detach(); }));
  harness.start();
  harness.turn({failed_with(2, kPoison)});
  harness.redeploy([](Ctx ctx) -> Orchestration<int> {
    auto kept = ctx.schedule_activity<int>("A");
    const int went = co_await ctx.schedule_wait<int>("go");
    co_return went + co_await kept;
  });
  EXPECT_THAT(divergence_of(harness.replay_failure()),
              HasSubstr("the code still uses an operation that it had dropped when this was recorded"));
}

}  // namespace
}  // namespace perdure::test
