// Messages become events: which ones, in which order, and which have no effect.
#include "replay/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// "QueueMessage: the execution has ended", a line for each message that had no effect.
std::vector<std::string> ignored_by(const TurnOutcome& outcome) {
  std::vector<std::string> lines;
  for (const auto& each : outcome.ignored) lines.push_back(each.what + ": " + std::string(to_string(each.reason)));
  return lines;
}

constexpr const char* kOther = ": it belongs to another execution";
constexpr const char* kDuplicate = ": the operation already has its outcome";

// 2 activity, 3 timer, 4 child, 5 wait, 6 dequeue; all of them are awaited, none is dropped.
Orchestration<void> one_of_each(OrchestrationContext ctx) {
  auto activity = ctx.schedule_activity<void>("A");
  auto timer = ctx.schedule_timer(Milliseconds(1));
  auto child = ctx.schedule_sub_orchestration<void>("C");
  auto wait = ctx.schedule_wait<void>("w");
  auto message = ctx.dequeue_event<void>("q");
  co_await join{activity, timer, child, wait, message}.as_result();
  co_await ctx.schedule_wait<void>("end");
}

Harness begun() {
  Harness harness(one_of_each);
  harness.start();
  return harness;
}

MessageBody app_failed(EventId id) {
  return failed(id, "no");
}
MessageBody child_app_failed(EventId id) {
  return child_failed(id, ApplicationError{});
}

// ---- executions ----------------------------------------------------------------------------------------------------

TEST(Intake, CompletionsTimersAndChildrenOfAnotherExecutionAreIgnored) {
  Harness harness = begun();
  std::vector<Message> messages;
  for (const auto& body : {completed(2), app_failed(2), fired(3), child_completed(4), child_app_failed(4)}) {
    messages.push_back({"inst", 2, std::nullopt, body});
  }
  const auto outcome = harness.turn_with(messages);
  EXPECT_THAT(outcome.events, IsEmpty());
  EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);
  EXPECT_THAT(ignored_by(outcome),
              ElementsAre(std::string("ActivityCompleted") + kOther, std::string("ActivityFailed") + kOther,
                          std::string("TimerFired") + kOther, std::string("SubOrchestrationCompleted") + kOther,
                          std::string("SubOrchestrationFailed") + kOther));
}

TEST(Intake, ACompletionThatNamesNoExecutionIsIgnored) {
  Harness harness = begun();
  EXPECT_THAT(ignored_by(harness.turn_with({{"inst", std::nullopt, std::nullopt, completed(2)}})),
              ElementsAre(std::string("ActivityCompleted") + kOther));
}

TEST(Intake, ACompletionOfAnEarlierExecutionDoesNotReachTheSameIdOfTheNext) {
  Harness harness(one_of_each);
  harness.execution = 2;
  harness.turn({messages::ContinueAsNew{"Test", {}, {}, {}, {}, {}}});
  EXPECT_THAT(harness.turn_with({{"inst", 1, std::nullopt, completed(2)}}).events, IsEmpty());
  EXPECT_THAT(lines_of(harness.turn({completed(2)}).events), ElementsAre("7 ActivityCompleted of 2"));
}

TEST(Intake, EventsQueueMessagesAndCancelsPassWhateverExecutionTheyName) {
  for (const std::optional<ExecutionId> execution : {std::optional<ExecutionId>(2), std::optional<ExecutionId>()}) {
    Harness harness = begun();
    const auto outcome = harness.turn_with({{"inst", execution, std::nullopt, raised("w", "1")},
                                            {"inst", execution, std::nullopt, queued("q", "2")},
                                            {"inst", execution, std::nullopt, cancel("r")}});
    EXPECT_THAT(std::vector(outcome.events.begin(), outcome.events.begin() + 3),
                ElementsAre(::testing::Field(&Event::body, EventBody(events::ExternalEvent{"w", "1"})),
                            ::testing::Field(&Event::body, EventBody(events::QueueEventDelivered{"q", "2"})),
                            ::testing::Field(&Event::body, EventBody(events::OrchestrationCancelRequested{"r"}))));
    EXPECT_EQ(outcome.status, ExecutionStatus::kCancelled);
  }
}

TEST(Intake, TerminatePassesWhateverExecutionItNames) {
  Harness harness = begun();
  EXPECT_EQ(harness.turn_with({{"inst", 5, std::nullopt, terminate("r")}}).status, ExecutionStatus::kTerminated);
}

// ---- duplicates (W7) -----------------------------------------------------------------------------------------------

struct Twice {
  MessageBody first;
  MessageBody second;
};
std::vector<Twice> every_pair_of_outcomes() {
  return {{completed(2), completed(2)},
          {completed(2), app_failed(2)},
          {app_failed(2), completed(2)},
          {app_failed(2), app_failed(2)},
          {app_failed(2), failed_with(2, PoisonError{})},
          {fired(3), fired(3)},
          {child_completed(4), child_completed(4)},
          {child_completed(4), child_app_failed(4)},
          {child_app_failed(4), child_completed(4)},
          {child_app_failed(4), child_app_failed(4)}};
}

TEST(Intake, ASecondOutcomeOfAnyKindIsIgnoredInALaterTurn) {
  for (const auto& [first, second] : every_pair_of_outcomes()) {
    SCOPED_TRACE(std::string(kind_name(first)) + " then " + std::string(kind_name(second)));
    Harness harness = begun();
    EXPECT_EQ(harness.turn({first}).events.size(), 1);
    const auto outcome = harness.turn({second});
    EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);
    EXPECT_THAT(outcome.events, IsEmpty());
    EXPECT_THAT(ignored_by(outcome), ElementsAre(std::string(kind_name(second)) + kDuplicate));
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
  }
}

TEST(Intake, ASecondOutcomeOfAnyKindIsIgnoredInTheSameBatch) {
  for (const auto& [first, second] : every_pair_of_outcomes()) {
    SCOPED_TRACE(std::string(kind_name(first)) + " then " + std::string(kind_name(second)));
    Harness harness = begun();
    const auto outcome = harness.turn({first, second});
    EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);
    ASSERT_EQ(outcome.events.size(), 1);
    EXPECT_EQ(kind_name(outcome.events[0].body), kind_name(first));
    EXPECT_THAT(ignored_by(outcome), ElementsAre(std::string(kind_name(second)) + kDuplicate));
  }
}

TEST(Intake, ExternalEventsAndQueueMessagesAreNeverDuplicates) {
  Harness harness = begun();
  const auto outcome = harness.turn({raised("w", "1"), raised("w", "1"), queued("q", "1"), queued("q", "1")});
  EXPECT_THAT(lines_of(outcome.events),
              ElementsAre("7 ExternalEvent 'w' data=1", "8 ExternalEvent 'w' data=1",
                          "9 QueueEventDelivered 'q' data=1", "10 QueueEventDelivered 'q' data=1"));
  EXPECT_THAT(ignored_by(outcome), ElementsAre("ExternalEvent 'w': no subscription is open for an event of that name"));
}

// ---- messages that no history explains -----------------------------------------------------------------------------

TEST(Intake, ACompletionWithoutAScheduleAbortsTheTurn) {
  for (const auto& body : {completed(99), app_failed(99), fired(99), child_completed(99), child_app_failed(0)}) {
    SCOPED_TRACE(kind_name(body));
    Harness harness = begun();
    const auto outcome = harness.turn({body, queued("q", "1")});
    EXPECT_EQ(outcome.status, ExecutionStatus::kFailed);
    EXPECT_THAT(divergence_of(outcome.error), StartsWith("no matching schedule for " + std::string(kind_name(body))));
    EXPECT_EQ(lines_of(outcome.events)[0], "7 QueueEventDelivered 'q' data=1") << "the others are converted";
    EXPECT_THAT(lines_of(outcome.events)[1], StartsWith("8 ")) << "and the code did not run";
  }
}

TEST(Intake, ACompletionOfAnotherKindOfScheduleAbortsTheTurn) {
  for (const auto& body :
       {completed(3), app_failed(4), fired(2), child_completed(2), child_app_failed(3), completed(1)}) {
    SCOPED_TRACE(kind_name(body));
    Harness harness = begun();
    const auto outcome = harness.turn({body});
    EXPECT_EQ(outcome.status, ExecutionStatus::kFailed);
    EXPECT_THAT(divergence_of(outcome.error), StartsWith("completion kind mismatch for id="));
  }
}

// ---- errors that are not for the code ------------------------------------------------------------------------------

TEST(Intake, AnErrorThatIsNotTheApplicationsIsRecordedAndEndsTheExecutionWithoutItsCode) {
  const std::vector<ErrorDetails> errors = {PoisonError{}, InfrastructureError{"op", "broken", true},
                                            ConfigurationError{ConfigurationErrorKind::kNondeterminism, "x", "y"}};
  for (const auto& error : errors) {
    for (const auto& body : {failed_with(2, error), child_failed(4, error)}) {
      SCOPED_TRACE(describe(error));
      Harness harness(one_of_each);
      harness.also_rebuild = false;
      harness.start();
      const auto outcome = harness.turn({body, raised("w"), fired(3)});
      EXPECT_EQ(outcome.status, ExecutionStatus::kFailed);
      EXPECT_EQ(outcome.error, error);
      EXPECT_THAT(lines_of(outcome.events)[0], HasSubstr("Failed of "));
      EXPECT_EQ(lines_of(outcome.events)[1], "8 ExternalEvent 'w'");
      EXPECT_EQ(lines_of(outcome.events)[2], "9 TimerFired of 3 fire_at=0");
      EXPECT_THAT(outcome.ignored, IsEmpty()) << "the code ran: it found that nobody waits";
      EXPECT_EQ(harness.replay_failure(), std::nullopt);
    }
  }
}

TEST(Intake, TheCodeDoesNotRunBehindAnAbort) {
  int resumed = 0;
  Harness harness([&resumed](OrchestrationContext ctx) -> Orchestration<void> {
    auto activity = ctx.schedule_activity<void>("A");
    co_await ctx.schedule_wait<void>("w");
    ++resumed;
    co_await activity;
  });
  harness.also_rebuild = false;
  harness.start();
  EXPECT_EQ(harness.turn({failed_with(2, PoisonError{}), raised("w")}).status, ExecutionStatus::kFailed);
  EXPECT_EQ(resumed, 0);
}

TEST(Intake, AnApplicationErrorIsForTheCode) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    const auto result = co_await ctx.schedule_activity<int>("A").as_result();
    co_return result.error().message();
  });
  harness.start();
  EXPECT_EQ(harness.turn({failed(2, "card declined")}).output, "\"card declined\"");
}

// ---- cancel, end, start --------------------------------------------------------------------------------------------

TEST(Intake, TheSecondCancelOfABatchIsIgnoredAndTheFirstReasonCounts) {
  Harness harness(one_of_each);
  const auto outcome = harness.start(std::nullopt, {cancel("first"), cancel("second")});
  EXPECT_THAT(ignored_by(outcome), ElementsAre("CancelInstance: cancellation was already requested"));
  EXPECT_EQ(describe(outcome.error.value()), "cancelled: first");
}

TEST(Intake, TheFirstTerminateOfABatchCounts) {
  Harness harness = begun();
  EXPECT_EQ(describe(harness.turn({terminate("first"), terminate("second")}).error.value()), "terminated: first");
}

TEST(Intake, ATerminalInstanceTakesNothingIn) {
  Harness harness([](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  harness.start();
  const auto outcome = harness.turn({queued("q"), cancel("late"), terminate("late"), completed(2)});
  EXPECT_EQ(outcome.status, ExecutionStatus::kRunning);  // no change
  EXPECT_THAT(outcome.events, IsEmpty());
  EXPECT_THAT(outcome.messages, IsEmpty());
  EXPECT_THAT(outcome.cancelled_activities, IsEmpty());
  EXPECT_THAT(ignored_by(outcome),
              ElementsAre("QueueMessage: the execution has ended", "CancelInstance: the execution has ended",
                          "TerminateInstance: the execution has ended", "ActivityCompleted: the execution has ended"));
}

TEST(Intake, ASecondStartOfARunningInstanceIsIgnored) {
  Harness harness(one_of_each);
  harness.start("1");
  const auto outcome = harness.turn(
      {messages::StartOrchestration{"Other", SemanticVersion{9, 0, 0}, "2", ParentLink{"x", 1, 1}}, completed(2)});
  EXPECT_THAT(ignored_by(outcome), ElementsAre("StartOrchestration: the execution has started already"));
  EXPECT_THAT(lines_of(outcome.events), ElementsAre("7 ActivityCompleted of 2"));
  EXPECT_EQ(harness.kept().facts().name(), "Test");
  EXPECT_EQ(harness.kept().facts().parent(), std::nullopt);
}

TEST(Intake, TheFirstOfTwoStartsInABatchWins) {
  Harness harness(one_of_each);
  const auto outcome = harness.start("1", {messages::StartOrchestration{"Test", {}, "2", {}}});
  EXPECT_EQ(harness.lines()[0], "1 OrchestrationStarted 'Test' version=1.0.0 input=1");
  EXPECT_THAT(ignored_by(outcome), ElementsAre("StartOrchestration: the execution has started already"));
}

TEST(Intake, ContinueAsNewBeatsAStartOfTheSameBatch) {
  const ParentLink parent{"boss", 7, 9};
  for (const bool start_first : {true, false}) {
    Harness harness(one_of_each);
    harness.execution = 2;
    std::vector<MessageBody> bodies{messages::StartOrchestration{"Test", {}, "start", {}},
                                    messages::ContinueAsNew{"Test", {}, "next", parent, {{"q", "m"}}, "busy"}};
    if (!start_first) std::swap(bodies[0], bodies[1]);
    const auto outcome = harness.turn(bodies);
    EXPECT_THAT(ignored_by(outcome), ElementsAre("StartOrchestration: the execution has started already"));
    EXPECT_EQ(harness.lines()[0],
              "1 OrchestrationStarted 'Test' version=1.0.0 input=next parent=boss of 9 carried=1 custom_status=busy");
    EXPECT_EQ(harness.kept().facts().parent(), parent);
  }
}

TEST(Intake, AContinueAsNewForARunningExecutionIsIgnored) {
  Harness harness = begun();
  const auto outcome = harness.turn({messages::ContinueAsNew{"Test", {}, {}, {}, {{"q", "m"}}, {}}});
  EXPECT_THAT(outcome.events, IsEmpty());
  EXPECT_THAT(ignored_by(outcome), ElementsAre("ContinueAsNew: the execution has started already"));
}

TEST(Intake, CarriedMessagesComeBeforeEverythingElseOfTheBatch) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("end"); });
  harness.execution = 2;
  harness.turn(
      {queued("q", "new"), messages::ContinueAsNew{"Test", {}, {}, {}, {{"q", "a"}, {"p", {}}, {"q", "b"}}, {}}});
  EXPECT_THAT(harness.lines(),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0 carried=3", "2 QueueEventDelivered 'q' data=a",
                          "3 QueueEventDelivered 'p'", "4 QueueEventDelivered 'q' data=b",
                          "5 QueueEventDelivered 'q' data=new", "6 ExternalSubscribed 'end'"));
}

TEST(Intake, MessagesInFrontOfTheStartAreKept) {
  Harness harness(one_of_each);
  harness.turn({queued("q", "early"), messages::StartOrchestration{"Test", {}, {}, {}}});
  EXPECT_EQ(harness.lines()[1], "2 QueueEventDelivered 'q' data=early");
}

TEST(Intake, AnActivityDoesNotBelongOnTheOrchestratorQueue) {
  Harness harness = begun();
  const auto outcome = harness.turn({messages::ExecuteActivity{2, "A", {}, {}, {}, {}, "Test", {}}});
  EXPECT_THAT(outcome.events, IsEmpty());
  EXPECT_THAT(ignored_by(outcome), ElementsAre("ExecuteActivity: its kind does not belong in the orchestrator queue"));
}

TEST(Intake, WithNeitherAStartNorAHistoryNothingHappens) {
  Harness harness(one_of_each);
  const auto outcome = harness.turn({queued("q"), raised("w"), cancel("r"), terminate("r"), completed(2)});
  EXPECT_THAT(outcome.events, IsEmpty());
  EXPECT_THAT(outcome.messages, IsEmpty());
  EXPECT_EQ(outcome.ignored.size(), 5);
  for (const auto& each : outcome.ignored) EXPECT_EQ(each.reason, IgnoreReason::kNotStarted) << each.what;
}

TEST(Intake, ATurnWithoutEffectWritesNothingAndUsesUpNoTurnNumber) {
  Harness harness = begun();
  harness.turn({fired(3), fired(3)});
  harness.turn({fired(3)});
  harness.turn({completed(2)});
  EXPECT_EQ(harness.history.back().turn, 3);
  EXPECT_EQ(harness.history.back().id, 8);
}

TEST(Intake, InputsKeepTheOrderOfTheMessages) {
  Harness harness = begun();
  harness.turn({child_completed(4), queued("q"), fired(3), raised("w"), completed(2)});
  const auto lines = harness.lines();
  EXPECT_THAT(
      std::vector<std::string>(lines.begin() + 6, lines.end()),
      ElementsAre("7 SubOrchestrationCompleted of 4", "8 QueueEventDelivered 'q'", "9 TimerFired of 3 fire_at=0",
                  "10 ExternalEvent 'w'", "11 ActivityCompleted of 2", "12 ExternalSubscribed 'end'"));
}

}  // namespace
}  // namespace perdure::test
