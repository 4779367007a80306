// The last turn of an execution: which request decides how it ends, and which instances hear of it.
#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/turn_end.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const ParentLink kParent{"boss", 7, 9};

// ---- who has the last word
// -------------------------------------------------------------------------------------------

// 2 a child and 3 an activity are in flight; 4 tells it to go on, and then it ends.
Orchestration<int> ends(OrchestrationContext ctx, std::string how) {
  auto child = ctx.schedule_sub_orchestration<int>("Child");
  auto activity = ctx.schedule_activity<int>("InFlight");
  const int go = co_await ctx.schedule_activity<int>("Go");
  ctx.schedule_orchestration("Audit", "audit-1", 5);
  if (how == "return") co_return go;
  if (how == "throw") throw OrchestrationError("no luck");
  if (how == "panic") throw 42;
  if (how == "continue") co_await ctx.continue_as_new(go);
  if (how == "continue and return") co_return ((void)ctx.continue_as_new(go), 5);
  if (how == "continue and throw") throw OrchestrationError(((void)ctx.continue_as_new(go), "no luck"));
  if (how == "continue and panic") throw((void)ctx.continue_as_new(go), 42);
  if (how == "limit") ctx.set_custom_status(std::string(300'000, 'x'));
  co_await ctx.schedule_wait<void>("never");
  co_return 0;
}

struct Ended {
  TurnOutcome outcome;
  std::string error;
};

Ended ended(const std::string& how, std::vector<MessageBody> bodies, bool diverge = false) {
  Harness harness(ends);
  harness.parent = kParent;
  harness.start("\"" + how + "\"");
  if (diverge) harness.redeploy([](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  auto outcome = harness.turn(std::move(bodies));
  EXPECT_TRUE(diverge || !harness.replay_failure()) << how;
  auto error = outcome.error ? describe(*outcome.error) : std::string();
  return {std::move(outcome), std::move(error)};
}

const ErrorDetails kBroken = InfrastructureError{"op", "broken", false};
const ErrorDetails kPoisonedActivity =
    PoisonError{PoisonSubject::kActivity, "inst", 1, "Go", 4, 11, 10, "ExecuteActivity"};

TEST(LastWord, TheEnginesFailureBeatsTerminateAbortAndCancel) {
  EXPECT_THAT(ended("", {terminate("t")}, true).error, StartsWith("nondeterministic"));
  EXPECT_THAT(ended("", {failed_with(3, kBroken)}, true).error, StartsWith("nondeterministic"));
  EXPECT_THAT(ended("", {cancel("c")}, true).error, StartsWith("nondeterministic"));
  EXPECT_THAT(ended("limit", {completed(4, "1"), cancel("c")}).error, StartsWith("the custom status has 300000 bytes"));
}

TEST(LastWord, TerminateBeatsAbortAndCancel) {
  EXPECT_EQ(ended("", {failed_with(3, kBroken), terminate("t")}).error, "terminated: t");
  EXPECT_EQ(ended("", {cancel("c"), terminate("t")}).error, "terminated: t");
  EXPECT_EQ(ended("panic", {completed(4, "1"), terminate("t")}).error, "terminated: t");
}

TEST(LastWord, AnAbortBeatsCancelAndWhateverTheCodeWouldDoBehindIt) {
  EXPECT_EQ(ended("panic", {failed_with(3, kBroken), completed(4, "1")}).error, "infrastructure:op: broken");
  EXPECT_EQ(ended("", {cancel("c"), failed_with(3, kBroken)}).error, "infrastructure:op: broken");
  EXPECT_EQ(ended("", {failed_with(3, kBroken), cancel("c")}).error, "infrastructure:op: broken");
  EXPECT_EQ(ended("return", {failed_with(3, kBroken), completed(4, "1")}).error, "infrastructure:op: broken");
}

// Code that has ended waits for nothing, whichever turn delivers the outcome.
TEST(LastWord, TheEndOfTheCodeBeatsAnAbortBehindIt) {
  EXPECT_THAT(ended("panic", {completed(4, "1"), failed_with(3, kBroken)}).error, StartsWith("orchestration panicked"));
  EXPECT_EQ(ended("return", {completed(4, "1"), failed_with(3, kBroken)}).outcome.output, "1");
}

TEST(LastWord, APanicBeatsCancel) {
  EXPECT_THAT(ended("panic", {completed(4, "1"), cancel("c")}).error, StartsWith("orchestration panicked"));
  EXPECT_THAT(ended("panic", {cancel("c"), completed(4, "1")}).error, StartsWith("orchestration panicked"));
}

TEST(LastWord, APanicBeatsContinueAsNew) {
  EXPECT_EQ(ended("continue and panic", {completed(4, "1")}).outcome.status, ExecutionStatus::kFailed);
}

TEST(LastWord, CancelBeatsContinueAsNewResultAndError) {
  for (const auto* how : {"continue", "return", "throw"}) {
    const auto end = ended(how, {completed(4, "1"), cancel("c")});
    EXPECT_EQ(end.outcome.status, ExecutionStatus::kCancelled) << how;
    EXPECT_EQ(end.error, "cancelled: c") << how;
    EXPECT_EQ(end.outcome.output, std::nullopt) << how;
  }
}

TEST(LastWord, ContinueAsNewBeatsResultAndError) {
  for (const auto* how : {"continue and return", "continue and throw"}) {
    const auto end = ended(how, {completed(4, "1")});
    EXPECT_EQ(end.outcome.status, ExecutionStatus::kContinuedAsNew) << how;
    EXPECT_EQ(end.outcome.output, "1") << how;
  }
}

TEST(LastWord, TheFirstContinueAsNewWins) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    (void)ctx.continue_as_new(1);
    co_await ctx.continue_as_new(2);
  });
  EXPECT_EQ(harness.start().output, "1");
}

TEST(LastWord, ACodesExceptionFailsWithItsTextAndEndsLikeAReturn) {
  const auto thrown = ended("throw", {completed(4, "1")}).outcome;
  EXPECT_EQ(thrown.error, ErrorDetails(ApplicationError{ApplicationErrorKind::kOrchestrationFailed, "no luck", false}));
  EXPECT_THAT(
      lines_of(thrown.events),
      ElementsAre("5 ActivityCompleted of 4 result=1", "6 OrchestrationChained 'Audit' instance=audit-1 input=5",
                  "7 SubOrchestrationCancelRequested of 2 reason=dropped_future",
                  "8 ActivityCancelRequested of 3 reason=dropped_future", "9 OrchestrationFailed error=no luck"));
  const auto returned = ended("return", {completed(4, "1")}).outcome;
  EXPECT_TRUE(
      std::equal(thrown.events.begin(), thrown.events.end() - 1, returned.events.begin(), returned.events.end() - 1));
  EXPECT_EQ(thrown.cancelled_activities, returned.cancelled_activities);
  EXPECT_THAT(lines_of(thrown.messages),
              ElementsAre("to audit-1: StartOrchestration", "to boss: SubOrchestrationFailed",
                          "to inst::sub::2: CancelInstance"));
}

TEST(LastWord, WhatIsNoExceptionIsAPanic) {
  const auto error = ended("panic", {completed(4, "1")}).outcome.error;
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(std::get<ApplicationError>(*error).kind, ApplicationErrorKind::kPanicked);
}

TEST(LastWord, TerminateDoesNotRunTheCode) {
  int resumed = 0;
  Harness harness([&resumed](OrchestrationContext ctx) -> Orchestration<void> {
    co_await ctx.schedule_wait<void>("w");
    ++resumed;
    co_await ctx.schedule_wait<void>("w");
  });
  harness.also_rebuild = false;
  harness.start();
  const auto last = harness.turn({raised("w"), terminate("by hand")});
  EXPECT_EQ(resumed, 0);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("3 ExternalEvent 'w'", "4 ExternalSubscriptionCancelled of 2 reason=orchestration_terminal",
                          "5 OrchestrationFailed error=terminated: by hand"));
}

TEST(LastWord, TerminateInTheFirstBatchRecordsTheStartAndRunsNothing) {
  Harness harness(ends);
  const auto last = harness.start("\"\"", {terminate("by hand")});
  EXPECT_EQ(last.status, ExecutionStatus::kTerminated);
  EXPECT_THAT(lines_of(last.events), ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0 input=\"\"",
                                                 "2 OrchestrationFailed error=terminated: by hand"));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- everybody is told, however it ends (W2, W5, W11, W12)
// -----------------------------------------------------------

struct End {
  std::string how;
  std::vector<MessageBody> bodies;
  bool diverge = false;
  ExecutionStatus status = ExecutionStatus::kFailed;
  std::string child_reason;
  std::string activity_reason;
  bool code_ran = true;  // to its end
};

std::vector<End> every_end() {
  const MessageBody go = completed(4, "1");
  const std::string dropped = "parent dropped sub-orchestration future";
  const std::string failed_reason = "orchestration_terminal_failed";
  return {
      {"return", {go}, false, ExecutionStatus::kCompleted, dropped, "dropped_future", true},
      {"throw", {go}, false, ExecutionStatus::kFailed, dropped, "dropped_future", true},
      {"panic", {go}, false, ExecutionStatus::kFailed, dropped, "dropped_future", true},
      {"continue",
       {go},
       false,
       ExecutionStatus::kContinuedAsNew,
       "parent continued as new",
       "orchestration_terminal_continued_as_new",
       true},
      {"", {go, cancel("c")}, false, ExecutionStatus::kCancelled, "parent cancelled", failed_reason, true},
      {"limit", {go}, false, ExecutionStatus::kFailed, "parent failed", failed_reason, false},
      {"", {go}, true, ExecutionStatus::kFailed, "parent failed", failed_reason, false},
      {"", {go, completed(99)}, false, ExecutionStatus::kFailed, "parent failed", failed_reason, false},
      {"", {failed_with(4, kBroken)}, false, ExecutionStatus::kFailed, "parent failed", failed_reason, false},
      {"", {failed_with(4, kPoisonedActivity)}, false, ExecutionStatus::kFailed, "parent failed", failed_reason, false},
      {"", {terminate("t")}, false, ExecutionStatus::kTerminated, "parent terminated", failed_reason, false},
  };
}

template <class Body>
const Message* find_message(const TurnOutcome& outcome, const std::string& instance) {
  const auto found = std::find_if(outcome.messages.begin(), outcome.messages.end(), [&](const Message& message) {
    return message.instance == instance && std::holds_alternative<Body>(message.body);
  });
  return found == outcome.messages.end() ? nullptr : &*found;
}

TEST(EveryEnd, ItsChildrenAreCancelledWithAReason) {
  for (const auto& end : every_end()) {
    SCOPED_TRACE(end.how + " " + end.child_reason);
    const auto outcome = ended(end.how, end.bodies, end.diverge).outcome;
    EXPECT_EQ(to_string(outcome.status), to_string(end.status));
    const auto* cancelled = find_message<messages::CancelInstance>(outcome, "inst::sub::2");
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(std::get<messages::CancelInstance>(cancelled->body).reason, end.child_reason);
  }
}

TEST(EveryEnd, ItsActivitiesAreWithdrawnWithABreadcrumb) {
  for (const auto& end : every_end()) {
    SCOPED_TRACE(end.how + " " + end.child_reason);
    const auto outcome = ended(end.how, end.bodies, end.diverge).outcome;
    EXPECT_THAT(outcome.cancelled_activities, ::testing::Contains(3));
    EXPECT_THAT(lines_of(outcome.events),
                ::testing::Contains(::testing::EndsWith("ActivityCancelRequested of 3 reason=" + end.activity_reason)));
    EXPECT_THAT(outcome.activities, IsEmpty());
  }
}

TEST(EveryEnd, ItsParentIsToldOnceAtTheRightExecutionAndSchedule) {
  for (const auto& end : every_end()) {
    SCOPED_TRACE(end.how + " " + end.child_reason);
    const auto outcome = ended(end.how, end.bodies, end.diverge).outcome;
    const auto told = std::count_if(outcome.messages.begin(), outcome.messages.end(),
                                    [](const Message& message) { return message.instance == "boss"; });
    if (end.status == ExecutionStatus::kContinuedAsNew) {
      EXPECT_EQ(told, 0) << "it goes on";
      continue;
    }
    EXPECT_EQ(told, 1);
    if (end.status == ExecutionStatus::kCompleted) {
      const auto* message = find_message<messages::SubOrchestrationCompleted>(outcome, "boss");
      ASSERT_TRUE(message);
      EXPECT_EQ(message->execution, 7);
      EXPECT_EQ(message->body, MessageBody(messages::SubOrchestrationCompleted{9, "1"}));
    } else {
      const auto* message = find_message<messages::SubOrchestrationFailed>(outcome, "boss");
      ASSERT_TRUE(message);
      EXPECT_EQ(message->execution, 7);
      EXPECT_EQ(message->body, MessageBody(messages::SubOrchestrationFailed{9, outcome.error.value()}));
    }
  }
}

TEST(EveryEnd, ADetachedStartLeavesWheneverTheCodeGotThere) {
  for (const auto& end : every_end()) {
    SCOPED_TRACE(end.how + " " + end.child_reason);
    const auto outcome = ended(end.how, end.bodies, end.diverge).outcome;
    const auto* start = find_message<messages::StartOrchestration>(outcome, "audit-1");
    ASSERT_EQ(start != nullptr, end.code_ran);
    if (!start) continue;
    EXPECT_EQ(start->body, MessageBody(messages::StartOrchestration{"Audit", {}, "5", {}}));
  }
}

TEST(EveryEnd, AChildWhoseFutureIsStillSomewhereIsCancelledOnCompletion) {
  static std::vector<Future<int>> hidden;
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    hidden.push_back(ctx.schedule_sub_orchestration<int>("C"));
    hidden.push_back(ctx.schedule_activity<int>("A"));
    co_await ctx.schedule_wait<void>("go");
    co_return 1;
  });
  harness.start();
  const auto last = harness.turn({raised("go")});
  ASSERT_THAT(lines_of(last.messages), ElementsAre("to inst::sub::2: CancelInstance"));
  EXPECT_EQ(std::get<messages::CancelInstance>(last.messages[0].body).reason, "parent completed");
  EXPECT_EQ(lines_of(last.events).back(), "7 ActivityCancelRequested of 3 reason=orchestration_terminal_completed");
  hidden.clear();
}

TEST(EveryEnd, AChildThatIsScheduledInTheLastTurnNeverStarts) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto child = ctx.schedule_sub_orchestration<int>("C");
    auto activity = ctx.schedule_activity<int>("A");
    auto timer = ctx.schedule_timer(Milliseconds(1));
    co_await ctx.continue_as_new();
  });
  const auto last = harness.start();
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst: ContinueAsNew"));
  EXPECT_THAT(last.activities, IsEmpty());
  EXPECT_THAT(last.cancelled_activities, IsEmpty());
  EXPECT_EQ(lines_of(last.events).back(),
            "6 ActivityCancelRequested of 3 reason=orchestration_terminal_continued_as_new");
}

// ---- links and names
// -------------------------------------------------------------------------------------------------

TEST(ContinueAsNew, ItsMessageCarriesTheParentVersionStatusAndInput) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    ctx.set_custom_status("busy");
    co_await ctx.continue_as_new(2, StartOptions().version("2.0.0"));
  });
  harness.parent = kParent;
  const auto last = harness.start();
  ASSERT_EQ(last.messages.size(), 1);
  EXPECT_EQ(last.messages[0].body,
            MessageBody(messages::ContinueAsNew{"Test", SemanticVersion{2, 0, 0}, "2", kParent, {}, "busy"}));
  EXPECT_EQ(last.messages[0].instance, "inst");
}

TEST(ContinueAsNew, TheNextExecutionReportsToTheSameParent) {
  Harness harness(
      [](OrchestrationContext ctx) -> Orchestration<int> { co_return ctx.get_custom_status() == "busy" ? 1 : 2; });
  harness.execution = 2;
  const auto last = harness.turn({messages::ContinueAsNew{"Test", {}, {}, kParent, {}, "busy"}});
  ASSERT_THAT(lines_of(last.messages), ElementsAre("to boss: SubOrchestrationCompleted"));
  EXPECT_EQ(last.messages[0].execution, 7);
  EXPECT_EQ(last.messages[0].body, MessageBody(messages::SubOrchestrationCompleted{9, "1"}));
}

TEST(Children, TheirStartCarriesTheParentsExecutionAndScheduleAndTheirNameIsNewInEveryExecution) {
  for (const ExecutionId execution : {1U, 2U, 13U}) {
    Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("C", 1, SubOrchestrationOptions().version("1.2.3"));
    });
    harness.execution = execution;
    const auto turn = harness.turn({messages::ContinueAsNew{"Test", {}, {}, {}, {}, {}}});
    ASSERT_EQ(turn.messages.size(), 1);
    EXPECT_EQ(turn.messages[0].instance,
              execution == 1 ? "inst::sub::2" : "inst::sub::" + std::to_string(execution) + "::2");
    EXPECT_EQ(turn.messages[0].body, MessageBody(messages::StartOrchestration{"C", SemanticVersion{1, 2, 3}, "1",
                                                                              ParentLink{"inst", execution, 2}}));
  }
}

// ---- without code --------------------------------------------------------------------------------------------------

const ErrorDetails kPoison = PoisonError{PoisonSubject::kOrchestration, "inst", 1, "", 0, 11, 10, "start"};

TEST(EndWithoutCode, AHistoryIsEndedWithItsChildrenActivitiesAndParent) {
  Harness harness(ends);
  harness.parent = kParent;
  harness.start("\"\"");
  HistoryFacts facts = harness.kept().facts();
  const auto last =
      end_without_code({"inst", 1, 0, Timestamp{}, {{"inst", 1, std::nullopt, completed(3, "1")}}, kPoison}, facts);
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(last.error, kPoison);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("5 ActivityCompleted of 3 result=1",
                          "6 OrchestrationFailed error=poison: orchestration inst exceeded 11 attempts (max 10)",
                          "7 ActivityCancelRequested of 4 reason=orchestration_terminal_failed"));
  EXPECT_THAT(last.cancelled_activities, ElementsAre(4));
  EXPECT_THAT(lines_of(last.messages),
              ElementsAre("to boss: SubOrchestrationFailed", "to inst::sub::2: CancelInstance"));
  EXPECT_TRUE(facts.terminal());
  harness.history.insert(harness.history.end(), last.events.begin(), last.events.end());
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(EndWithoutCode, WithoutAHistoryTheStartIsWrittenFirst) {
  HistoryFacts facts;
  const Message start{"inst", 1, std::nullopt,
                      messages::StartOrchestration{"Gone", SemanticVersion{2, 0, 0}, "1", kParent}};
  const auto last = end_without_code({"inst", 1, 0, Timestamp{}, {start}, kPoison}, facts);
  EXPECT_THAT(lines_of(last.events), ElementsAre("1 OrchestrationStarted 'Gone' version=2.0.0 input=1 parent=boss of 9",
                                                 StartsWith("2 OrchestrationFailed error=poison")));
  ASSERT_THAT(lines_of(last.messages), ElementsAre("to boss: SubOrchestrationFailed"));
  EXPECT_EQ(last.messages[0].execution, 7);
}

TEST(EndWithoutCode, AStartWithoutAVersionLeavesItAbsent) {
  HistoryFacts facts;
  const Message start{"inst", 2, std::nullopt, messages::ContinueAsNew{"Gone", {}, {}, {}, {{"q", "m"}}, {}}};
  const auto last = end_without_code({"inst", 2, 0, Timestamp{}, {start}, kPoison}, facts);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("1 OrchestrationStarted 'Gone' carried=1", "2 QueueEventDelivered 'q' data=m",
                          StartsWith("3 OrchestrationFailed")));
}

TEST(EndWithoutCode, ACancelWithoutAHandlerEndsAsCancelled) {
  Harness harness(ends);
  HistoryFacts facts;
  const std::vector<Message> batch{
      {"inst", 1, std::nullopt, messages::StartOrchestration{"Test", SemanticVersion{1, 0, 0}, "\"\"", {}}},
      {"inst", 1, std::nullopt, cancel("c")}};
  const auto last = end_without_code(
      {"inst", 1, 0, Timestamp{}, batch, application_error(ApplicationErrorKind::kCancelled, "c")}, facts);
  EXPECT_EQ(last.status, ExecutionStatus::kCancelled);
  EXPECT_THAT(lines_of(last.events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0 input=\"\"",
                          "2 OrchestrationCancelRequested reason=c", "3 OrchestrationFailed error=cancelled: c"));
  harness.history = last.events;
  EXPECT_EQ(divergence_of(harness.replay_failure()), "no error at all")
      << "the handler is back, and the history is sound";
}

}  // namespace
}  // namespace perdure::test
