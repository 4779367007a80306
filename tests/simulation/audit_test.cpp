// The audit beside the store of a simulated cluster: it is silent about a store that keeps its contract, and notices
// one that does not.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/audit_scene.h"

namespace perdure::testing::simulation {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

TEST_F(Audited, AStoreThatKeepsItsContractGivesNoReasonToComplain) {
  commit_first();
  EXPECT_FALSE(audit.at_rest(kNow)) << "an activity is queued";
  audit.work_fetched({}, work("w1", 1));
  audit.work_renewed(token("w1"), kNow + kLock, kNow);
  audit.work_acked({.token = token("w1"), .completion = completion(activity("a", 2))}, {}, kNow);
  OrchestrationItem item = first_item("t2");
  item.execution_id = kFirstExecutionId;
  item.last_event_id = 2;
  item.messages = {{8, completion(activity("a", 2))}};
  audit.fetched({}, batch_of(item));
  TurnCommit last;
  last.token = token("t2");
  last.commit_id = 2;
  last.consumed = {8};
  last.events = {event(3)};
  audit.committed(last, accepted(), kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
  EXPECT_TRUE(audit.at_rest(kNow));
  EXPECT_EQ(audit.histories().at({"a", kFirstExecutionId}).size(), 3U);
}

TEST_F(Audited, ALockThatIsGivenOutTwice) {
  fetch_first();
  audit.fetched({}, batch_of(first_item("t2", 2)));
  expect_problem("'a' was locked again 5000 ms before its lock ended");
}

TEST_F(Audited, ALockThatEndedMayBeGivenOutAgain) {
  fetch_first();
  OrchestrationItem again = first_item("t2", 2);
  again.locked_until = kNow + kLock * 2;
  audit.fetched({}, batch_of(again, kNow + kLock));
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(Audited, AKeptLockIsForItsKeeperAlone) {
  fetch_first();
  TurnCommit commit = first_commit();
  commit.keep_lock = kLock;
  commit.owner = "N";
  CommitAnswer kept = accepted();
  kept.locked_until = kNow + kLock;
  audit.committed(commit, kept, kNow);
  audit.enqueued(cancel_message("a"), kNow);
  OrchestrationItem item = first_item("t2");
  item.last_event_id = 1;
  item.messages = {{9, cancel_message("a")}};
  OrchestrationFetch fetch;
  fetch.owner = "N";
  audit.fetched(fetch, batch_of(item));
  EXPECT_THAT(audit.problems(), IsEmpty());
  item.token = token("t3");
  item.attempt_count = 2;
  fetch.owner = "M";
  audit.fetched(fetch, batch_of(item));
  expect_problem("was locked again");
}

TEST_F(Audited, ATokenThatComesTwice) {
  fetch_first();
  audit.fetched({}, batch_of(first_item("t1", 2), kNow + kLock));
  expect_problem("the token of 'a' was given out before");
}

TEST_F(Audited, AnAttemptThatIsNotCounted) {
  fetch_first();
  audit.fetched({}, batch_of(first_item("t2", 1), kNow + kLock));
  expect_problem("but the store counts 1");
}

TEST_F(Audited, ACommitOfSomebodyWhoLostTheLock) {
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow + kLock);
  expect_problem("accepted under a lost lock");
}

TEST_F(Audited, ACommitThatIsRefusedAlthoughTheLockHolds) {
  fetch_first();
  audit.committed(first_commit(), ProviderError(ProviderErrorKind::kLockLost, ""), kNow);
  expect_problem("was refused although its lock held");
}

TEST_F(Audited, ACommitThatIsCarriedOutTwice) {
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow);
  OrchestrationItem item = first_item("t2");
  item.last_event_id = 1;
  item.messages.clear();
  audit.fetched({}, batch_of(item));
  TurnCommit again;
  again.token = token("t2");
  again.commit_id = 1;
  audit.committed(again, accepted(), kNow);
  expect_problem("was carried out twice");
}

TEST_F(Audited, ACommitThatPassesForAnEarlierOne) {
  fetch_first();
  CommitAnswer answer = accepted();
  answer.repeated = true;
  audit.committed(first_commit(), answer, kNow);
  expect_problem("passes for one that never was");
}

TEST_F(Audited, AMessageThatIsNotDelivered) {
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  audit.enqueued(cancel_message("a"), kNow);
  audit.fetched({}, batch_of(first_item()));
  expect_problem("was not delivered");
}

TEST_F(Audited, AMessageThatWasSentBeforeTheStartAndIsNotDelivered) {
  audit.enqueued(queue_message("a"), kNow - 1h);
  audit.fetched({}, {.now = kNow - 1h, .items = {}});
  fetch_first();
  expect_problem("was not delivered");
}

// The store drops the messages of an orphan after a day, at the next fetch.
TEST_F(Audited, AMessageThatWasSentTooLongBeforeTheStartMayBeMissing) {
  audit.enqueued(queue_message("a"), kNow - 25h);
  audit.fetched({}, {.now = kNow - 1h, .items = {}});
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
  EXPECT_TRUE(audit.at_rest(kNow));
}

TEST_F(Audited, AMessageThatIsDeliveredAgainAfterItWasConsumed) {
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow);
  OrchestrationItem item = first_item("t2");
  item.last_event_id = 1;
  audit.fetched({}, batch_of(item));
  expect_problem("that was never sent, or was consumed before");
}

TEST_F(Audited, AMessageThatIsDeliveredBeforeItsTime) {
  MessageRecord timer = timer_message("a", 2, kNow + kLock);
  timer.visible_at = kNow + kLock;
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  audit.enqueued(timer, kNow);
  OrchestrationItem item = first_item();
  item.messages.push_back({8, timer});
  audit.fetched({}, batch_of(item));
  expect_problem("that was never sent");
}

TEST_F(Audited, AHistoryThatIsNotWhereItWas) {
  commit_first();
  OrchestrationItem item = first_item("t2");
  item.messages.clear();
  item.last_event_id = 1;
  audit.fetched({}, batch_of(item));
  expect_problem("was fetched at event 1 of execution 1, but event 2 of execution 1 was its last");
}

TEST_F(Audited, AnActivityThatIsGivenToTwo) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.work_fetched({}, work("w2", 2));
  expect_problem("activity 2 of execution 1 of 'a' was locked again");
}

TEST_F(Audited, AnActivityThatComesBackAfterItWasCompleted) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.work_acked({.token = token("w1"), .completion = {}}, {}, kNow);
  audit.work_fetched({}, work("w2", 1));
  expect_problem("was fetched although it was completed");
}

TEST_F(Audited, AnOutcomeOfSomebodyWhoLostTheLock) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.work_acked({.token = token("w1"), .completion = {}}, {}, kNow + kLock);
  expect_problem("accepted under a lost lock");
}

TEST_F(Audited, AnOutcomeThatIsRefusedAlthoughTheLockHolds) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.work_acked({.token = token("w1"), .completion = {}}, ProviderError(ProviderErrorKind::kLockLost, ""), kNow);
  expect_problem("was refused although its lock held");
}

TEST_F(Audited, AnActivityThatWasWithdrawnIsGone) {
  fetch_first();
  TurnCommit commit = first_commit();
  commit.events.push_back(event(2));
  commit.activities = {activity("a", 2)};
  commit.cancelled_activities = {2};
  audit.committed(commit, accepted(), kNow);
  audit.work_fetched({}, work("w1", 1));
  expect_problem("was fetched although it was completed, withdrawn or never scheduled");
}

TEST_F(Audited, ATurnCompletesOnlyWorkWhoseLockHolds) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  OrchestrationItem item = first_item("t2");
  item.messages.clear();
  item.last_event_id = 2;
  item.locked_until = kNow + kLock * 3;
  audit.fetched({}, batch_of(item));
  TurnCommit commit;
  commit.token = token("t2");
  commit.commit_id = 2;
  commit.events = {event(3)};
  commit.completed_work = {token("w1")};
  audit.committed(commit, accepted(), kNow + kLock);
  expect_problem("completed an activity whose lock was lost");
}

TEST_F(Audited, WhatGoesToAWorkerThatDoesNotServeTheTag) {
  fetch_first();
  TurnCommit commit = first_commit();
  commit.events.push_back(event(2));
  commit.activities = {tagged(activity("a", 2), "gpu")};
  audit.committed(commit, accepted(), kNow);
  WorkBatch batch = work("w1", 1);
  batch.items.front().record.tag = "gpu";
  audit.work_fetched({}, batch);
  expect_problem("went to a worker that does not serve its tag");
}

TEST_F(Audited, WhatWasDeletedIsForgotten) {
  commit_first();
  audit.deleted({"a"});
  EXPECT_TRUE(audit.at_rest(kNow));
  EXPECT_THAT(audit.histories(), IsEmpty());
  audit.work_fetched({}, work("w1", 1));
  expect_problem("was fetched although it was completed");
}

TEST_F(Audited, TheTimersOfInstancesThatHaveEndedMayBeLeft) {
  audit.enqueued(timer_message("a", 2, kNow + 1h), kNow);
  fetch_first();
  EXPECT_FALSE(audit.only_ended_are_left(kNow)) << "it is locked, and runs";
  TurnCommit end = first_commit();
  end.status = StatusChange{};
  audit.committed(end, accepted(), kNow);
  EXPECT_TRUE(audit.only_ended_are_left(kNow));
  EXPECT_FALSE(audit.at_rest(kNow));
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(Audited, TheTimersOfInstancesThatRunAreWaitedFor) {
  audit.enqueued(timer_message("a", 2, kNow + 1h), kNow);
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow);
  EXPECT_FALSE(audit.only_ended_are_left(kNow));
}

TEST_F(Audited, MessagesForNobodyAreNotWaitedFor) {
  audit.enqueued(cancel_message("nobody"), kNow);
  EXPECT_TRUE(audit.at_rest(kNow));
  audit.enqueued(start_message("somebody"), kNow);
  EXPECT_FALSE(audit.at_rest(kNow));
}

}  // namespace
}  // namespace perdure::testing::simulation
