// What a history says by itself: whether it can be one, what is open in it, how it ended.
#include "replay/history_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using detail::OperationKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using Match = HistoryFacts::Match;

Event event(EventId id, TurnNumber turn, EventBody body) {
  return {id, turn, Timestamp{}, SemanticVersion{0, 1, 0}, std::move(body)};
}

events::OrchestrationStarted started() {
  return {"Test", SemanticVersion{1, 0, 0}, std::nullopt, std::nullopt, {}, std::nullopt};
}

events::ActivityScheduled activity() {
  return {"A", std::nullopt, std::nullopt, std::nullopt, {}};
}

// Numbers the bodies 1, 2, 3, ... in turn 1.
HistoryFacts facts_of(const std::vector<EventBody>& bodies) {
  HistoryFacts facts;
  for (const EventBody& body : bodies) {
    const Event next = event(facts.next_event_id(), 1, body);
    EXPECT_EQ(facts.problem_with(next), std::nullopt);
    facts.record(next);
  }
  return facts;
}

// ---- facts ---------------------------------------------------------------------------------------------------------

TEST(HistoryFacts, AnOperationIsOpenUntilItHasItsOutcome) {
  const auto facts = facts_of({started(), activity(), events::TimerCreated{}, activity(), events::TimerCreated{},
                               events::ActivityCompleted{2, std::nullopt}, events::TimerFired{3, Timestamp{}}});
  EXPECT_EQ(facts.match(2, OperationKind::kActivity), Match::kResolved);
  EXPECT_EQ(facts.match(3, OperationKind::kTimer), Match::kResolved);
  EXPECT_EQ(facts.match(4, OperationKind::kActivity), Match::kOpen);
  EXPECT_EQ(facts.match(5, OperationKind::kTimer), Match::kOpen);
  EXPECT_EQ(facts.match(5, OperationKind::kActivity), Match::kOtherKind);
  EXPECT_EQ(facts.match(1, OperationKind::kActivity), Match::kOtherKind);
  EXPECT_EQ(facts.match(0, OperationKind::kActivity), Match::kMissing);
  EXPECT_EQ(facts.match(8, OperationKind::kActivity), Match::kMissing);
}

TEST(HistoryFacts, AFailureIsAnOutcomeToo) {
  const auto facts =
      facts_of({started(), activity(), events::SubOrchestrationScheduled{"C", "c", {}, {}},
                events::ActivityFailed{2, ApplicationError{}}, events::SubOrchestrationFailed{3, ApplicationError{}}});
  EXPECT_EQ(facts.match(2, OperationKind::kActivity), Match::kResolved);
  EXPECT_EQ(facts.match(3, OperationKind::kSubOrchestration), Match::kResolved);
  EXPECT_THAT(facts.open_activities(), IsEmpty());
  EXPECT_THAT(facts.open_children(), IsEmpty());
}

TEST(HistoryFacts, ACancelRequestIsNoOutcomeButTheOperationIsNotAskedForAgain) {
  const auto facts = facts_of({started(), activity(), events::SubOrchestrationScheduled{"C", "c", {}, {}},
                               events::ActivityCancelRequested{2, CancelReason::kDroppedFuture},
                               events::SubOrchestrationCancelRequested{3, CancelReason::kDroppedFuture}});
  EXPECT_EQ(facts.match(2, OperationKind::kActivity), Match::kOpen);
  EXPECT_EQ(facts.match(3, OperationKind::kSubOrchestration), Match::kOpen);
  EXPECT_THAT(facts.open_activities(), IsEmpty());
  EXPECT_THAT(facts.open_children(), IsEmpty());
}

TEST(HistoryFacts, OpenActivitiesAndChildrenAreListedInOrder) {
  const auto facts = facts_of({started(), activity(), events::SubOrchestrationScheduled{"C", "c3", {}, {}}, activity(),
                               events::SubOrchestrationScheduled{"C", "c5", {}, {}}, activity(),
                               events::ActivityCompleted{4, std::nullopt}, events::SubOrchestrationCompleted{3, {}}});
  EXPECT_THAT(facts.open_activities(), ElementsAre(2, 6));
  EXPECT_THAT(facts.open_children(), ElementsAre(Pair(5, "c5")));
}

TEST(HistoryFacts, TheStartAndTheFirstCancelRequestAreRemembered) {
  auto start = started();
  start.parent = ParentLink{"boss", 7, 9};
  const auto facts =
      facts_of({start, events::OrchestrationCancelRequested{"first"}, events::OrchestrationCancelRequested{"second"}});
  EXPECT_EQ(facts.name(), "Test");
  EXPECT_EQ(facts.version(), (SemanticVersion{1, 0, 0}));
  EXPECT_EQ(facts.parent(), (ParentLink{"boss", 7, 9}));
  EXPECT_EQ(facts.cancel_requested(), "first");
  EXPECT_EQ(facts.next_event_id(), 4);
  EXPECT_FALSE(facts.terminal());
}

TEST(HistoryFacts, EveryTerminalEventEndsTheExecution) {
  EXPECT_TRUE(facts_of({started(), events::OrchestrationCompleted{}}).terminal());
  EXPECT_TRUE(facts_of({started(), events::OrchestrationFailed{}}).terminal());
  EXPECT_TRUE(facts_of({started(), events::OrchestrationContinuedAsNew{}}).terminal());
}

TEST(HistoryFacts, CancelRequestsOfActivitiesMayFollowTheEndInItsTurnOnly) {
  const auto facts = facts_of({started(), activity(), activity(), events::OrchestrationCompleted{}});
  const events::ActivityCancelRequested request{2, CancelReason::kOrchestrationTerminalCompleted};
  EXPECT_EQ(facts.problem_with(event(5, 1, request)), std::nullopt);
  EXPECT_EQ(facts.problem_with(event(5, 2, request)),
            "event 5 (ActivityCancelRequested) follows the end of the execution");
}

TEST(HistoryFacts, ASecondCancelRequestForOneOperationIsAProblem) {
  const auto facts =
      facts_of({started(), activity(), events::ActivityCancelRequested{2, CancelReason::kDroppedFuture}});
  EXPECT_THAT(*facts.problem_with(event(4, 1, events::ActivityCancelRequested{2, CancelReason::kDroppedFuture})),
              AllOf(StartsWith("event 4 (ActivityCancelRequested)"), HasSubstr("was requested already")));
}

TEST(HistoryFacts, BreadcrumbsBelongToAnOperationOfTheirKind) {
  const auto facts = facts_of({started(), activity()});
  EXPECT_THAT(*facts.problem_with(event(3, 1, events::QueueSubscriptionCancelled{2, CancelReason::kDroppedFuture})),
              StartsWith("event 3 (QueueSubscriptionCancelled): event 2 is no queue subscription"));
  EXPECT_THAT(*facts.problem_with(event(3, 1, events::ExternalSubscriptionCancelled{9, CancelReason::kDroppedFuture})),
              StartsWith("event 3 (ExternalSubscriptionCancelled): there is no event 9"));
}

// ---- corrupt histories, seen by an instance ------------------------------------------------------------------------

Orchestration<int> a_before_b(OrchestrationContext ctx) {
  const int a = co_await ctx.schedule_activity<int>("A", 1);
  co_return a + co_await ctx.schedule_activity<int>("B", 2);
}

// 1 Started, 2 ActivityScheduled; 3 ActivityCompleted of 2, 4 ActivityScheduled; 5 ActivityCompleted of 4, 6 Completed.
template <class Change>
std::string corrupted(Change change) {
  Harness harness(a_before_b);
  harness.start();
  harness.turn({completed(2, "1")});
  harness.turn({completed(4, "2")});
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  change(harness.history);
  const auto error = harness.replay_failure();
  if (!error) return "no error at all";
  const auto* configuration = std::get_if<ConfigurationError>(&*error);
  if (!configuration || configuration->kind != ConfigurationErrorKind::kCorruptHistory) return "another error";
  EXPECT_EQ(configuration->resource, "inst");
  return configuration->message;
}

using History = std::vector<Event>;

TEST(CorruptHistory, AMissingFirstEventIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history.erase(history.begin()); }),
              StartsWith("event 2 (ActivityScheduled) is at the position of event 1"));
}

TEST(CorruptHistory, AFirstEventThatIsNoStartIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[0].body = history[1].body; }),
              StartsWith("event 1 (ActivityScheduled): the first event must be OrchestrationStarted"));
}

TEST(CorruptHistory, AGapIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history.erase(history.begin() + 3); }),
              StartsWith("event 5 (ActivityCompleted) is at the position of event 4"));
}

TEST(CorruptHistory, ARepeatedIdIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history.insert(history.begin() + 2, history[1]); }),
              StartsWith("event 2 (ActivityScheduled) is at the position of event 3"));
}

TEST(CorruptHistory, ATurnThatGoesBackwardsIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[3].turn = 1; }),
              StartsWith("event 4 (ActivityScheduled) has turn 1 after turn 2"));
}

TEST(CorruptHistory, ATurnZeroIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[0].turn = 0; }),
              StartsWith("event 1 (OrchestrationStarted) has turn 0"));
}

TEST(CorruptHistory, ACompletionOfNothingIsFound) {
  EXPECT_THAT(corrupted([](History& history) { std::get<events::ActivityCompleted>(history[2].body).source = 9; }),
              StartsWith("event 3 (ActivityCompleted): there is no event 9"));
}

TEST(CorruptHistory, ACompletionOfALaterScheduleIsFound) {
  EXPECT_THAT(corrupted([](History& history) { std::get<events::ActivityCompleted>(history[2].body).source = 4; }),
              StartsWith("event 3 (ActivityCompleted): there is no event 4"));
}

TEST(CorruptHistory, ACompletionOfAnotherKindIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[2].body = events::TimerFired{2, Timestamp{}}; }),
              StartsWith("event 3 (TimerFired): event 2 is no timer"));
  EXPECT_THAT(corrupted([](History& history) { std::get<events::ActivityCompleted>(history[2].body).source = 1; }),
              StartsWith("event 3 (ActivityCompleted): event 1 is no activity"));
}

TEST(CorruptHistory, ASecondOutcomeIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[4].body = events::ActivityFailed{2, ApplicationError{}}; }),
              StartsWith("event 5 (ActivityFailed): the activity of event 2 has its outcome already"));
}

TEST(CorruptHistory, AnEventBehindTheEndIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history.push_back(event(7, 4, events::QueueEventDelivered{"q", {}})); }),
              StartsWith("event 7 (QueueEventDelivered) follows the end of the execution"));
  EXPECT_THAT(corrupted([](History& history) { history.push_back(event(7, 3, events::OrchestrationCompleted{})); }),
              StartsWith("event 7 (OrchestrationCompleted) follows the end of the execution"));
}

TEST(CorruptHistory, ASecondStartIsFound) {
  EXPECT_THAT(corrupted([](History& history) { history[3].body = started(); }),
              StartsWith("event 4 (OrchestrationStarted): the execution has started already"));
}

// ---- the end of an execution whose history is corrupt (W13)
// ----------------------------------------------------------

Harness corrupt_and_running() {
  Harness harness(a_before_b);
  harness.parent = ParentLink{"boss", 7, 9};
  harness.start();
  harness.turn({completed(2, "1")});
  std::get<events::ActivityCompleted>(harness.history[2].body).source = 1;
  harness.evict();
  return harness;
}

TEST(CorruptHistory, TheExecutionFailsWithItAndTheParentIsTold) {
  Harness harness = corrupt_and_running();
  harness.also_rebuild = false;
  const auto last = harness.turn({queued("q", "1")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(last.error.value()), StartsWith("corrupt history: event 3 (ActivityCompleted)"));
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to boss: SubOrchestrationFailed"));
}

TEST(CorruptHistory, TheFailureIsNumberedBehindAllStoredEvents) {
  Harness harness = corrupt_and_running();
  const EventId last_stored = harness.history.back().id;
  const auto last = harness.turn({queued("q", "1")});
  ASSERT_FALSE(last.events.empty());
  EXPECT_EQ(last.events.front().id, last_stored + 1) << "the store has an event of that id";
}

TEST(CorruptHistory, WithoutAnyUsableEventTheExecutionFailsAllTheSame) {
  Harness harness(a_before_b);
  harness.start();
  harness.history[0].body = events::QueueEventDelivered{"q", "1"};
  harness.evict();
  EXPECT_EQ(harness.turn({queued("q", "1")}).status, ExecutionStatus::kFailed);
}

TEST(CorruptHistory, AStartThatIsDeliveredAgainDoesNotBeginAnew) {
  Harness harness(a_before_b);
  harness.start();
  harness.history[0].body = events::QueueEventDelivered{"q", "1"};
  harness.evict();
  for (const Event& each : harness.start().events) {
    EXPECT_FALSE(std::holds_alternative<events::OrchestrationStarted>(each.body));
  }
}

}  // namespace
}  // namespace perdure::test
