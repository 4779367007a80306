// What the audit knows beyond locks, messages and histories: delays, order, sessions, and what should have happened.
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/audit_scene.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::IsEmpty;

// ---- delays, order, sessions ----

TEST_F(Audited, AnInstanceThatComesBackBeforeItsDelayIsOver) {
  fetch_first();
  audit.abandoned({.token = token("t1"), .delay = Milliseconds(300), .ignore_attempt = false}, {}, kNow);
  audit.fetched({}, batch_of(first_item("t2", 2), kNow + Milliseconds(200)));
  expect_problem("'a' was fetched 100 ms before the delay of its abandon had passed");
}

TEST_F(Audited, ACancelEndsADelay) {
  fetch_first();
  audit.abandoned({.token = token("t1"), .delay = Milliseconds(300), .ignore_attempt = false}, {}, kNow);
  audit.enqueued(cancel_message("a"), kNow);
  OrchestrationItem item = first_item("t2", 2);
  item.messages.push_back({8, cancel_message("a")});
  audit.fetched({}, batch_of(item));
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(Audited, ACancelOfAnotherParentEndsNoDelay) {
  fetch_first();
  audit.abandoned({.token = token("t1"), .delay = Milliseconds(300), .ignore_attempt = false}, {}, kNow);
  audit.enqueued(parent_cancel_message("a", "p"), kNow);
  OrchestrationItem item = first_item("t2", 2);
  item.messages.push_back({8, parent_cancel_message("a", "p")});
  audit.fetched({}, batch_of(item));
  expect_problem("'a' was fetched 300 ms before the delay of its abandon had passed");
}

TEST_F(Audited, AnActivityThatComesBackBeforeItsDelayIsOver) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.work_abandoned({.token = token("w1"), .delay = Milliseconds(300), .ignore_attempt = false}, {}, kNow);
  audit.work_fetched({}, work("w2", 2));
  expect_problem("was fetched 300 ms before it was visible");
}

TEST_F(Audited, WhatIsGivenBackUntriedDoesNotCount) {
  fetch_first();
  audit.abandoned({.token = token("t1"), .delay = {}, .ignore_attempt = false}, {}, kNow);
  expect_problem("'a' was given back untried, and yet counts as tried");
}

TEST_F(Audited, WhatTheStoreFailedToTakeDoesNotCount) {
  fetch_first();
  audit.failed(token("t1"));
  audit.abandoned({.token = token("t1"), .delay = Milliseconds(50), .ignore_attempt = false}, {}, kNow);
  expect_problem("'a' was abandoned after a failure of the store, and yet counts as tried");
}

TEST_F(Audited, AnOutcomeThatTheStoreFailedToTakeDoesNotCount) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.failed(token("w1"));
  audit.work_abandoned({.token = token("w1"), .delay = Milliseconds(50), .ignore_attempt = false}, {}, kNow);
  expect_problem(
      "activity 2 of execution 1 of 'a' was abandoned after a failure of the store, and yet counts as tried");
}

TEST_F(Audited, ATurnThatTheStoreTookInTheEndMayCount) {
  fetch_first();
  audit.failed(token("t1"));
  TurnCommit commit = first_commit();
  commit.keep_lock = kLock;
  CommitAnswer answer = accepted();
  answer.locked_until = kNow + kLock;
  audit.committed(commit, answer, kNow);
  audit.abandoned({.token = token("t1"), .delay = Milliseconds(50), .ignore_attempt = false}, {}, kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(Audited, MessagesThatOvertakeEachOther) {
  MessageRecord timer = timer_message("a", 2, kNow - kLock);
  timer.visible_at = kNow - kLock;
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  audit.enqueued(cancel_message("a"), kNow);
  audit.enqueued(timer, kNow);
  OrchestrationItem item = first_item();
  item.messages.push_back({8, timer});
  item.messages.push_back({9, cancel_message("a")});
  audit.fetched({}, batch_of(item));
  EXPECT_THAT(audit.problems(), IsEmpty()) << "the timer was visible first";
  std::swap(item.messages[1], item.messages[2]);
  item.token = token("t2");
  item.attempt_count = 2;
  audit.fetched({}, batch_of(item, kNow + kLock));
  expect_problem("was delivered behind");
}

TEST_F(Audited, ASecondStart) {
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  audit.started(start_message("a"), StartOutcome::kIgnored, kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  expect_problem("a start of 'a' was accepted although there is one already");
}

TEST_F(Audited, ACommitThatComesAgainIsKnown) {
  fetch_first();
  audit.committed(first_commit(), accepted(), kNow);
  audit.committed(first_commit(), ProviderError(ProviderErrorKind::kLockLost, ""), kNow);
  expect_problem("that came again was not recognised");
}

class AuditedClaims : public Audited {
 protected:
  // Activities 2 and 3, of which the commit claims the first.
  AuditedClaims() {
    fetch_first();
    commit.events = {event(1), event(2), event(3)};
    commit.activities = {activity("a", 2), activity("a", 3)};
    commit.claim = WorkFetch();
    answer.claimed = {{.index = 0, .token = token("w1"), .locked_until = kNow + kLock}};
    audit.committed(commit, answer, kNow);
    answer.repeated = true;
  }

  TurnCommit commit = first_commit();
  CommitAnswer answer = accepted();
};

TEST_F(AuditedClaims, ACommitThatComesAgainListsWhatItClaimed) {
  audit.committed(commit, answer, kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
  answer.claimed.clear();
  audit.committed(commit, answer, kNow);
  expect_problem("a commit that came again does not list activity 2 of execution 1 of 'a', which it claimed");
}

TEST_F(AuditedClaims, ACommitThatComesAgainListsNothingThatItHasLost) {
  audit.committed(commit, answer, kNow + kLock);
  expect_problem("a commit that came again lists activity 2 of execution 1 of 'a', which it has not claimed or lost");
}

TEST_F(AuditedClaims, ACommitThatComesAgainListsNothingThatOthersHave) {
  audit.work_abandoned({.token = token("w1"), .delay = {}, .ignore_attempt = true}, {}, kNow);
  WorkBatch others = work("w2", 1);
  others.items.push_back(others.items.front());
  others.items.back().token = token("w3");
  others.items.back().record = activity("a", 3);
  audit.work_fetched({}, others);
  answer.claimed.clear();
  audit.committed(commit, answer, kNow);
  EXPECT_THAT(audit.problems(), IsEmpty());
  answer.claimed = {{.index = 0, .token = token("w2"), .locked_until = kNow + kLock}};
  audit.committed(commit, answer, kNow);
  expect_problem("a commit that came again lists activity 2");
}

TEST_F(AuditedClaims, ACommitThatComesAgainListsTheSameLocks) {
  answer.claimed[0].token = token("w9");
  audit.committed(commit, answer, kNow);
  expect_problem("lists activity 2 of execution 1 of 'a' with another lock than it has");
}

TEST_F(AuditedClaims, ACommitThatComesAgainListsEachClaimOnce) {
  answer.claimed.push_back(answer.claimed[0]);
  audit.committed(commit, answer, kNow);
  expect_problem("that came again lists its claims out of order");
}

TEST_F(Audited, ACommitThatTheStoreHasToRefuse) {
  fetch_first();
  audit.committed(first_commit(), ProviderError(ProviderErrorKind::kDuplicateEvent, "event 1 is there"), kNow);
  expect_problem("a commit of 'a' was refused");
}

TEST_F(Audited, ASessionThatSomebodyElseHolds) {
  fetch_first();
  TurnCommit commit = first_commit();
  commit.events.push_back(event(2));
  commit.activities = {activity("a", 2)};
  commit.activities.front().session = "s";
  audit.committed(commit, accepted(), kNow);
  WorkFetch fetch;
  fetch.session = SessionFetch{.owner = "N", .lock_timeout = kLock * 3, .max_sessions = 1};
  WorkBatch batch = work("w1", 1);
  batch.items.front().record.session = "s";
  audit.work_fetched(fetch, batch);
  EXPECT_THAT(audit.problems(), IsEmpty());
  batch.now = kNow + kLock;
  batch.items.front().token = token("w2");
  batch.items.front().attempt_count = 2;
  fetch.session->owner = "M";
  audit.work_fetched(fetch, batch);
  expect_problem("session 's' went to 'M' while 'N' held it");
}

// Node "N" has claimed session "s".
class AuditedSessions : public Audited {
 protected:
  static constexpr Milliseconds kSessionLock{30'000};
  static constexpr Milliseconds kIdle{300'000};

  AuditedSessions() {
    audit.set_excuse([this](const std::string&, Timestamp) { return hindered; });
    audit.set_session_idle(kIdle);
    fetch_first();
    TurnCommit commit = first_commit();
    commit.events.push_back(event(2));
    commit.activities = {activity("a", 2)};
    commit.activities.front().session = "s";
    audit.committed(commit, accepted(), kNow);
    WorkFetch fetch;
    fetch.session = SessionFetch{.owner = "N", .lock_timeout = kSessionLock, .max_sessions = 1};
    WorkBatch batch = work("w1", 1);
    batch.items.front().record.session = "s";
    audit.work_fetched(fetch, batch);
    audit.work_acked({.token = token("w1"), .completion = {}}, {}, kNow);
  }
  // Every half of its lock, until then.
  void renew_until(Timestamp end, Milliseconds idle = kIdle) {
    for (Timestamp at = kNow; at < end; at += kSessionLock / 2) {
      audit.sessions_renewed(owners, kSessionLock, idle, std::size_t{1}, at);
    }
  }

  bool hindered = false;
  std::vector<std::string> owners = {"N"};
};

TEST_F(AuditedSessions, ASessionThatItsNodeDoesNotRenew) {
  audit.check_sessions(kNow + kSessionLock - Milliseconds(1));
  EXPECT_THAT(audit.problems(), IsEmpty());
  audit.check_sessions(kNow + kSessionLock);
  audit.check_sessions(kNow + kSessionLock);
  expect_problem("session 's' ran out although nothing kept 'N' from its renewal");
}

TEST_F(AuditedSessions, ANodeThatWasHinderedMayLoseASession) {
  hindered = true;
  audit.check_sessions(kNow + kSessionLock);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(AuditedSessions, ASessionThatIsReleasedOnceItIsIdle) {
  renew_until(kNow + kIdle);
  audit.sessions_renewed(owners, kSessionLock, kIdle, std::size_t{0}, kNow + kIdle);
  audit.check_sessions(kNow + kIdle * 2);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(AuditedSessions, ASessionThatItsNodeReleasesBecauseItStops) {
  audit.sessions_renewed(owners, Milliseconds(0), kIdle * 100, std::size_t{1}, kNow + Milliseconds(1));
  audit.check_sessions(kNow + kSessionLock);
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(AuditedSessions, ASessionThatItsNodeKeepsHoweverIdleItIs) {
  renew_until(kNow + kIdle + kSessionLock, kIdle * 100);
  expect_problem("'N' has session 's', which has been idle for 315000 ms");
}

// ---- what should have happened ----

TEST_F(Audited, AnInstanceThatIsLeftOut) {
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  OrchestrationBatch nothing;
  nothing.now = kNow;
  audit.fetched({}, nothing);
  expect_problem("'a' was ready, and a fetch with room for it left it out");
}

TEST_F(Audited, AnActivityThatIsLeftOut) {
  commit_first();
  WorkBatch nothing;
  nothing.now = kNow;
  audit.work_fetched({}, nothing);
  expect_problem("was ready, and a fetch with room for it left it out");
}

TEST_F(Audited, ALockThatRunsOutNeedsAnExcuse) {
  constexpr Milliseconds kLong{30'000};
  bool hindered = true;
  audit.set_excuse([&](const std::string&, Timestamp) { return hindered; });
  OrchestrationFetch fetch;
  fetch.lock_timeout = kLong;
  audit.started(start_message("a"), StartOutcome::kEnqueued, kNow);
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    OrchestrationItem item = first_item("t" + std::to_string(attempt), attempt);
    item.locked_until = kNow + kLong * attempt;
    audit.fetched(fetch, batch_of(item, kNow + kLong * (attempt - 1)));
  }
  EXPECT_THAT(audit.problems(), IsEmpty());
  hindered = false;
  audit.fetched(fetch, batch_of(first_item("t3", 3), kNow + kLong * 2));
  expect_problem("the lock of 'a' ran out although nothing kept");
}

// As a store does whose clock is set forward by an hour, for owners that are alive.
TEST_F(Audited, LocksThatAreExtended) {
  constexpr Milliseconds kHour{3'600'000};
  const auto lock_all = [this] {
    commit_first();
    audit.enqueued(cancel_message("a"), kNow);
    OrchestrationItem item = first_item("t2", 1);
    item.messages = {{8, cancel_message("a")}};
    item.execution_id = 1;
    item.last_event_id = 2;
    audit.fetched({}, batch_of(item));
    audit.work_fetched({}, work("w1", 1));
  };
  lock_all();
  audit.extend_locks(kNow + Milliseconds(1), kHour);
  audit.work_renewed(token("w1"), kNow + kHour + kLock, kNow + kHour + Milliseconds(2));
  audit.renewed(token("t2"), kNow + kHour + kLock, kNow + kHour + Milliseconds(2));
  EXPECT_THAT(audit.problems(), IsEmpty());
  audit.work_fetched({}, work("w2", 2, kNow + kHour + kLock - Milliseconds(1)));
  expect_problem("was locked again 1 ms before its lock ended");
}

TEST_F(Audited, ALockThatHasExpiredIsNotExtended) {
  commit_first();
  audit.work_fetched({}, work("w1", 1));
  audit.extend_locks(kNow + kLock, Milliseconds(3'600'000));
  audit.work_fetched({}, work("w2", 2, kNow + kLock));
  EXPECT_THAT(audit.problems(), IsEmpty());
}

class AuditedFetches : public Audited {
 protected:
  void fetch(const std::string& lock, std::uint32_t attempt, Timestamp now, bool expired = false) {
    WorkBatch batch = work(lock, attempt, now);
    batch.items.front().record.timeouts.schedule_to_start = Milliseconds(1'000);
    batch.items.front().expired = expired;
    audit.work_fetched({}, batch);
  }
  void give_back(const std::string& lock, bool has_begun = false) {
    audit.work_abandoned(
        {.token = token(lock), .delay = Milliseconds(0), .ignore_attempt = true, .has_begun = has_begun}, {}, kNow);
  }
};

TEST_F(AuditedFetches, OneThatANodeDoesNotReturnMayHaveBegun) {
  commit_first();
  fetch("w1", 1, kNow);
  give_back("w1");
  fetch("w2", 1, kNow);
  EXPECT_THAT(audit.fetched_in_vain(), IsEmpty());
  fetch("w3", 2, kNow + kLock);
  EXPECT_THAT(audit.fetched_in_vain(), ::testing::ElementsAre(Audit::ActivityKey("a", kFirstExecutionId, 2)));
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(AuditedFetches, OneThatHasBegunNeverExpires) {
  commit_first();
  fetch("w1", 1, kNow);
  give_back("w1", true);
  fetch("w2", 1, kNow);
  give_back("w2");
  EXPECT_THAT(audit.problems(), IsEmpty());
  fetch("w3", 1, kNow, true);
  expect_problem("has expired as not started although it has begun");
}

TEST_F(AuditedFetches, OneThatHasExpiredStaysExpired) {
  commit_first();
  fetch("w1", 1, kNow, true);
  fetch("w2", 2, kNow + kLock, true);
  EXPECT_THAT(audit.fetched_in_vain(), IsEmpty());
  EXPECT_THAT(audit.problems(), IsEmpty());
}

TEST_F(Audited, AChildThatIsLeftBehind) {
  fetch_first();
  TurnCommit commit = first_commit();
  commit.started->parent = ParentLink{"p", 1, 2};
  audit.committed(commit, accepted(), kNow);
  audit.deleted({"p"});
  expect_problem("'p' was deleted, but its child 'a' was left behind");
}

}  // namespace
}  // namespace perdure::testing::simulation
