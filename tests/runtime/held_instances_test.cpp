// Messages that reach an instance while it is held: whatever the moment, they are neither lost nor delayed, and no
// completion is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/fast_turns.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeldInstances : public FastTurns {
 protected:
  // Activities 2 and 3 were claimed; the turn that took the outcome of 2 was told of messages, and they are fetched.
  RequestId fetch_what_was_announced() {
    hold("i", {2, 3});
    offer(2);
    run();
    CommitAnswer more = granted(committing());
    more.more_messages = true;
    committed(more);
    answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
    return take<orchestration::Fetch>().first;
  }
};

TEST_F(HeldInstances, AMessageLeadsToATurnAtOnce) {
  hold();
  bring(fetched_anew(1));
  const TurnTask task = run();
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_EQ(task.item.token.value, "new token of i");
  ASSERT_TRUE(task.kept.has_value());
  const TurnCommit commit = committing();
  EXPECT_TRUE(commit.keep_lock.has_value()) << "the activity still runs";
  committed(granted(commit));
  offer(2);
  EXPECT_EQ(begin_turn().item.token.value, "new token of i");
}

TEST_F(HeldInstances, ALockHoldsWhenTheClockJumps) {
  hold();
  const Milliseconds left = options.orchestrator_lock_timeout;
  now += std::chrono::hours(2);
  dispatcher().clock_jumped(std::chrono::hours(2));
  collect();
  now += left / 2;
  offer(2);
  EXPECT_THAT(completed(begin_turn()), ElementsAre(2));
}

TEST_F(HeldInstances, ALockEndsInItsTimeAfterTheClockHasJumped) {
  hold();
  now += std::chrono::hours(2);
  dispatcher().clock_jumped(std::chrono::hours(2));
  now += options.orchestrator_lock_timeout;
  collect();
  offer(2);
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
}

TEST_F(HeldInstances, ATurnThatHasNotBegunTakesTheMessagesAlong) {
  options.orchestration_concurrency = 1;
  hold();
  bring(item("busy"));
  begin_turn();
  const RequestId busy = turn;
  offer(2);
  bring(fetched_anew(1));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  TurnDecision ended{.action = TurnCommit(), .kept = {}, .report = {}};
  answer(busy, std::move(ended));
  const TurnTask task = run();
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_THAT(completed(task), ElementsAre(2));
  EXPECT_EQ(task.item.token.value, "new token of i");
  EXPECT_TRUE(task.kept.has_value());
}

TEST_F(HeldInstances, ATurnThatHasBegunIsCommittedUnderTheNewLock) {
  hold("i", {2, 3});
  offer(2);
  const TurnTask task = begin_turn();
  bring(fetched_anew(1));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U) << "there is one turn at a time";
  decide(task);
  const TurnCommit commit = committing();
  EXPECT_EQ(commit.token.value, "new token of i");
  EXPECT_THAT(commit.consumed, IsEmpty()) << "the turn did not see the message";
  CommitAnswer more = granted(commit);
  more.more_messages = true;
  committed(more);
  // The message comes first now, and what has ended joins it.
  offer(3);
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  bring(fetched_anew(2));
  const TurnTask next = begin_turn();
  EXPECT_EQ(next.item.messages.size(), 1U);
  EXPECT_THAT(completed(next), ElementsAre(3));
}

TEST_F(HeldInstances, ACommitThatComesBehindTheFetchIsRepeatedUnderTheNewLock) {
  hold();
  offer(2);
  run({.activities = {4}});
  const TurnCommit first = committing();
  EXPECT_EQ(first.token.value, "token of i");
  bring(fetched_anew(1));
  committed(error(ProviderErrorKind::kLockLost));
  const TurnCommit second = committing();
  EXPECT_EQ(second.token.value, "new token of i");
  EXPECT_EQ(second.commit_id, first.commit_id);
  EXPECT_THAT(second.completed_work, ElementsAre(work_token(2)));
  EXPECT_EQ(second.claim, first.claim);
  committed(granted(second));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled"));
}

TEST_F(HeldInstances, ACommitThatWaitsForAnotherOneIsMadeUnderTheNewLock) {
  hold();
  bring(item("other"));
  run();
  committing();  // while it is under way the next one waits
  offer(2);
  run();
  bring(fetched_anew(1));
  committed();
  const TurnCommit commit = committing();
  EXPECT_EQ(commit.token.value, "new token of i");
  EXPECT_THAT(commit.completed_work, ElementsAre(work_token(2)));
}

TEST_F(HeldInstances, ACommitThatIsRefusedUnderTheNewLockTooIsGivenUp) {
  hold();
  offer(2);
  run();
  committing();
  bring(fetched_anew(1));
  committed(error(ProviderErrorKind::kLockLost));
  committing();
  committed(error(ProviderErrorKind::kLockLost));
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(give_back().at(0).token.value, "new token of i");
}

TEST_F(HeldInstances, ACommitThatCameBeforeTheFetchIsFollowedByItsTurn) {
  hold("i", {2, 3});
  offer(2);
  run();
  const TurnCommit commit = committing();
  bring(fetched_anew(2));  // it has the event of the commit
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled"));
  const TurnTask task = begin_turn();
  EXPECT_EQ(task.item.token.value, "new token of i");
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_TRUE(task.kept.has_value());
}

// The store knows a commit again only until the next one, and what it claimed with it.
TEST_F(HeldInstances, WhatIsFetchedWhileACommitIsInDoubtWaitsForIt) {
  fetch(item("i"));
  run({.activities = {2}});
  first_commit = committing().commit_id;
  const auto fetching = begin_fetch();
  committed(error(ProviderErrorKind::kUnavailable));
  end_fetch(fetching, fetched_anew(1));  // the store has it, and kept the lock for us
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  EXPECT_EQ(count<orchestration::ReadHistory>(), 0U);
  now += Milliseconds(10);
  const TurnCommit again = committing();
  EXPECT_EQ(again.commit_id, first_commit);
  EXPECT_EQ(again.token.value, "token of i");
  CommitAnswer repeated = granted(again);
  repeated.repeated = true;
  repeated.locked_until.reset();
  committed(repeated);
  EXPECT_EQ(dispatcher().take_effects().claimed.size(), 1U);
  const TurnTask task = begin_turn();
  EXPECT_EQ(task.item.token.value, "new token of i");
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_TRUE(task.kept.has_value());
}

TEST_F(HeldInstances, ACommitInDoubtThatWasNeverMadeMakesWayForWhatIsFetched) {
  fetch(item("i"));
  run({.activities = {2}});
  committing();
  const auto fetching = begin_fetch();
  committed(error(ProviderErrorKind::kUnavailable));
  OrchestrationItem anew = item("i");  // its lock ended
  anew.token = {"new token of i"};
  end_fetch(fetching, anew);
  now += Milliseconds(10);
  EXPECT_EQ(committing().token.value, "token of i");
  committed(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U);
  EXPECT_EQ(begin_turn().item.token.value, "new token of i");
}

TEST_F(HeldInstances, AStateThatSomebodyElseChangedIsNotOverwritten) {
  hold();
  offer(2);
  const TurnTask task = begin_turn();
  bring(fetched_anew(5));  // another node has had it
  decide(task);
  EXPECT_EQ(count<orchestration::Commit>(), 0U);
  auto [id, body] = take<orchestration::ReadHistory>();
  EXPECT_EQ(body.token.value, "new token of i");
  answer(id, ProviderResult<StoredHistory>(StoredHistory()));
  EXPECT_THAT(completed(begin_turn()), ElementsAre(2)) << "the store decides whether it still counts";
}

// The instance was deleted and started again while one of its activities ran here. The ids of both incarnations are
// equal, and the outcome of the earlier one must not reach the code of the later one.
TEST_F(HeldInstances, ALateOutcomeDoesNotReachTheNextIncarnation) {
  hold();
  const std::uint64_t earlier = first_commit;
  bring(item("i"));
  run({.activities = {2}});
  const TurnCommit commit = committing();
  incarnations["i"] = earlier;
  offer(2);  // before the first commit of the next incarnation is done
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  offer(2);  // afterwards
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  over(2);
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U) << "the lock is retained for the activity of the next incarnation";
  incarnations["i"] = commit.commit_id;
  offer(2);
  EXPECT_THAT(completed(begin_turn()), ElementsAre(2));
}

TEST_F(HeldInstances, AWithdrawalNamesTheIncarnation) {
  hold();
  offer(2);
  run({.cancelled = {9}});
  committed(granted(committing()));
  const auto effects = dispatcher().take_effects();
  ASSERT_EQ(effects.withdrawn.size(), 1U);
  EXPECT_EQ(effects.withdrawn[0].incarnation, first_commit);
}

TEST_F(HeldInstances, ARenewalOfTheOldLockSaysNothingOfTheNewOne) {
  hold();
  offer(2);
  const TurnTask task = begin_turn();
  now += options.orchestrator_lock_timeout * 3 / 4;
  const RequestId renewal = take<orchestration::Renew>().first;
  bring(fetched_anew(1));
  answer(renewal, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kLockLost)});
  now += options.orchestrator_lock_timeout / 2;
  EXPECT_THAT(take<orchestration::Renew>().second.tokens, ElementsAre(LockToken{"new token of i"}));
}

TEST_F(HeldInstances, MessagesThatAreAnnouncedComeBeforeTheNextCompletion) {
  hold("i", {2, 3});
  offer(2);
  const TurnTask first = begin_turn();
  offer(3);
  decide(first);
  CommitAnswer more = granted(committing());
  more.more_messages = true;
  committed(more);
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U) << "the fetch comes first";
  answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
  fetch(fetched_anew(2));
  const TurnTask task = begin_turn();
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_THAT(completed(task), ElementsAre(3));
}

TEST_F(HeldInstances, ACompletionDoesNotWaitForMessagesThatDoNotCome) {
  const RequestId fetch_request = fetch_what_was_announced();
  offer(3);
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  answer(fetch_request, ProviderResult<OrchestrationBatch>(OrchestrationBatch{now, {}}));
  EXPECT_THAT(completed(begin_turn()), ElementsAre(3));
}

// A fetch that began before the messages were announced may have come too early for them.
TEST_F(HeldInstances, AFetchThatIsUnderWayIsFollowedByAnother) {
  hold("i", {2, 3});
  answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
  const RequestId early = take<orchestration::Fetch>().first;
  offer(2);
  run();
  CommitAnswer more = granted(committing());
  more.more_messages = true;
  committed(more);
  offer(3);
  answer(early, ProviderResult<OrchestrationBatch>(OrchestrationBatch{now, {}}));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  fetch(fetched_anew(2));
  EXPECT_EQ(begin_turn().item.messages.size(), 1U);
}

TEST_F(HeldInstances, ACompletionDoesNotWaitForAStoreThatFails) {
  const RequestId fetch_request = fetch_what_was_announced();
  offer(3);
  answer(fetch_request, ProviderResult<OrchestrationBatch>(error(ProviderErrorKind::kUnavailable)));
  EXPECT_THAT(completed(begin_turn()), ElementsAre(3));
}

TEST_F(HeldInstances, WhatWasGivenUpByTheCacheIsReadAgain) {
  options.cached_executions = 1;
  hold();
  bring(item("other"));
  run();
  committing();
  committed();
  offer(2);
  auto [id, body] = take<orchestration::ReadHistory>();
  EXPECT_EQ(body.token.value, "token of i");
  EXPECT_EQ(body.after, 0U);
  bring(fetched_anew(1));
  answer(id, ProviderResult<StoredHistory>(error(ProviderErrorKind::kLockLost)));
  auto [again, second] = take<orchestration::ReadHistory>();
  EXPECT_EQ(second.token.value, "new token of i");
  answer(again, ProviderResult<StoredHistory>(StoredHistory()));
  const TurnTask task = begin_turn();
  EXPECT_EQ(task.item.messages.size(), 1U);
  EXPECT_THAT(completed(task), ElementsAre(2));
}

}  // namespace
}  // namespace perdure::test
