// The fast path of the orchestration dispatcher: what its commits ask for, held instances, and completions that come
// without the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/fast_turns.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using FastPath = FastTurns;

// ---- What a commit asks for ----------------------------------------------------------------------------------------

TEST_F(FastPath, ACommitClaimsWhatItSchedulesAndKeepsTheLock) {
  fetch(item("i"));
  run({.activities = {2}});
  const TurnCommit commit = committing();
  ASSERT_TRUE(commit.claim.has_value());
  EXPECT_EQ(commit.claim->limit, 1U);
  EXPECT_EQ(commit.keep_lock, options.orchestrator_lock_timeout);
  EXPECT_EQ(commit.owner, "node");
  committed(granted(commit));
  const OrchestrationEffects effects = dispatcher().take_effects();
  ASSERT_EQ(effects.claimed.size(), 1U);
  EXPECT_EQ(effects.claimed[0].item.token, work_token(2));
  EXPECT_EQ(effects.claimed[0].item.attempt_count, 1U);
  EXPECT_EQ(effects.claimed[0].item.record, commit.activities[0]);
  EXPECT_FALSE(dispatcher().idle()) << "it is locked";
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U);
}

TEST_F(FastPath, CommitsOfABatchShareTheFreePlaces) {
  options.orchestration_concurrency = 3;
  fetch(item("first"), item("a"), item("b"), item("c"));
  run();
  committing();  // while it is under way the others gather
  for (int i = 0; i < 3; ++i) run({.activities = {2}});
  committed();
  auto [id, body] = take<orchestration::Commit>();
  ASSERT_EQ(body.commits->size(), 3U);
  EXPECT_TRUE((*body.commits)[0].claim.has_value());
  EXPECT_TRUE((*body.commits)[1].claim.has_value());
  EXPECT_FALSE((*body.commits)[2].claim.has_value()) << "there are two places";
}

TEST_F(FastPath, NothingIsClaimedWithoutFreePlaces) {
  places->publish(0, true);
  fetch(item("i"));
  run({.activities = {2}});
  const TurnCommit commit = committing();
  EXPECT_FALSE(commit.claim.has_value());
  EXPECT_FALSE(commit.keep_lock.has_value());
}

TEST_F(FastPath, AClaimIsNoLargerThanThePlacesAreFree) {
  fetch(item("i"));
  run({.activities = {2, 3, 4}});
  EXPECT_EQ(committing().claim->limit, 2U);
}

TEST_F(FastPath, NothingIsClaimedWhileOtherWorkIsAhead) {
  fetch(item("i"));
  run({.activities = {2}});
  CommitAnswer refused = granted(committing());
  refused.claimed.clear();
  committed(refused);
  EXPECT_EQ(give_back().size(), 1U) << "the lock is of no use";
  bring(item("j"));
  run({.activities = {2}});
  EXPECT_FALSE(committing().claim.has_value());
  committed();
  places->queue_seen(false);
  bring(item("k"));
  run({.activities = {2}});
  EXPECT_TRUE(committing().claim.has_value()) << "the worker has seen the end of the queue";
}

TEST_F(FastPath, NothingIsClaimedThatHasNoCodeHere) {
  fetch(item("i"));
  run({.activities = {2}, .activity_name = "Unknown"});
  EXPECT_FALSE(committing().claim.has_value());
}

TEST_F(FastPath, ACommitThatEndsTheExecutionAsksForNothing) {
  for (const ExecutionStatus status : {ExecutionStatus::kCompleted, ExecutionStatus::kContinuedAsNew}) {
    const std::string instance = "i" + std::to_string(static_cast<int>(status));
    bring(item(instance));
    run({.activities = {2}, .status = status});
    const TurnCommit commit = committing();
    EXPECT_FALSE(commit.claim.has_value()) << instance;
    EXPECT_FALSE(commit.keep_lock.has_value()) << instance;
    committed();
  }
}

TEST_F(FastPath, ItNeedsTheOptionTheStoreAndTheCache) {
  for (int missing = 0; missing < 3; ++missing) {
    RuntimeOptions some = options;
    Capabilities store = capabilities;
    if (missing == 0) some.fast_path = false;
    if (missing == 1) store.fast_path = false;
    if (missing == 2) some.cached_executions = 0;
    OrchestrationDispatcher plain(some, store, "node", CapabilityFilter(), RandomIds(1), places);
    const auto fetch_request = plain.next(now);
    OrchestrationItem first = item("i");
    plain.answer(fetch_request->id, ProviderResult<OrchestrationBatch>(OrchestrationBatch{now, {first}}), now);
    const auto run_request = plain.next(now);
    TurnCommit commit;
    commit.token = first.token;
    commit.commit_id = 1;
    commit.started.emplace().name = "Flow";
    commit.activities.emplace_back().kind = MessageKind::kExecuteActivity;
    TurnDecision decision{.action = commit, .kept = {}, .report = {}};
    decision.kept.emplace().code = std::make_unique<FakeExecution>(1);
    plain.answer(run_request->id, std::move(decision), now);
    const auto commit_wanted = plain.next(now);
    const auto& body = std::get<orchestration::Commit>(commit_wanted->body);
    EXPECT_FALSE(body.commits->front().claim.has_value()) << missing;
    EXPECT_FALSE(body.commits->front().keep_lock.has_value()) << missing;
  }
}

TEST_F(FastPath, TheLockIsKeptAsLongAsAnotherClaimedActivityRuns) {
  hold("i", {2, 3});
  offer(2);
  EXPECT_THAT(completed(run()), ElementsAre(2));
  TurnCommit commit = committing();
  EXPECT_TRUE(commit.keep_lock.has_value());
  EXPECT_FALSE(commit.claim.has_value());
  committed(granted(commit));
  offer(3);
  run();
  commit = committing();
  EXPECT_FALSE(commit.keep_lock.has_value()) << "nothing of it runs any more";
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled", "3 settled"));
  answer(take<orchestration::Await>().first, ProviderResult<bool>(false));
  fetch();
  EXPECT_TRUE(dispatcher().resting());
}

// ---- What comes of it ----------------------------------------------------------------------------------------------

TEST_F(FastPath, ACompletionLeadsToATurnWithoutAFetch) {
  hold();
  offer(2);
  const TurnTask task = run({.activities = {4}});
  EXPECT_THAT(completed(task), ElementsAre(2));
  EXPECT_THAT(task.item.messages, IsEmpty());
  EXPECT_EQ(task.item.token.value, "token of i");
  EXPECT_EQ(task.item.last_event_id, 1U);
  EXPECT_EQ(task.item.incarnation, first_commit);
  ASSERT_TRUE(task.item.metadata.has_value());
  EXPECT_EQ(task.item.metadata->name, "Flow");
  ASSERT_TRUE(task.kept.has_value()) << "it was not at hand";
  const TurnCommit commit = committing();
  EXPECT_THAT(commit.completed_work, ElementsAre(work_token(2)));
  EXPECT_THAT(commit.consumed, IsEmpty());
  EXPECT_TRUE(commit.claim.has_value());
  EXPECT_THAT(verdicts(), IsEmpty()) << "nothing is known yet";
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled"));
}

TEST_F(FastPath, AHeldInstanceTakesNoRoom) {
  options.max_locked_instances = 2;
  hold();
  answer(take<orchestration::Await>().first, ProviderResult<bool>(true));
  EXPECT_EQ(take<orchestration::Fetch>().second.fetch.limit, 2U);
}

TEST_F(FastPath, ALockThatWasKeptForNothingIsGivenBack) {
  fetch(item("i"));
  run({.activities = {2}});
  CommitAnswer refused = granted(committing());
  refused.claimed.clear();
  committed(refused);
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].token.value, "token of i");
  EXPECT_TRUE(given[0].ignore_attempt);
  EXPECT_EQ(places->reserve(2), 0U) << "there is other work";
  places->queue_seen(false);
  EXPECT_EQ(places->reserve(2), 2U) << "the place is still reserved";
}

TEST_F(FastPath, TheLockIsGivenBackWhenTheLastClaimedActivityIsOver) {
  hold("i", {2, 3});
  over(2);
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U);
  over(3);
  EXPECT_EQ(give_back().size(), 1U);
  over(3);
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U);
}

TEST_F(FastPath, ALapsedLockLeavesTheCompletionToTheQueue) {
  hold();
  now += options.orchestrator_lock_timeout;
  EXPECT_EQ(count<orchestration::Renew>(), 0U) << "it is not renewed by a timer";
  EXPECT_TRUE(dispatcher().resting()) << "nothing is locked any more";
  offer(2);
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
  EXPECT_EQ(count<orchestration::GiveBack>(), 0U);
}

TEST_F(FastPath, ALockWithLittleTimeLeftIsNoPlaceForATurn) {
  hold();
  now += options.orchestrator_lock_timeout * 3 / 4;
  offer(2);
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(give_back().size(), 1U) << "nothing of it runs here any more";
}

TEST_F(FastPath, TheLockOfATurnThatTakesLongIsRenewed) {
  hold();
  offer(2);
  const TurnTask task = begin_turn();
  now += options.orchestrator_lock_timeout * 3 / 4;
  auto [id, body] = take<orchestration::Renew>();
  EXPECT_THAT(body.tokens, ElementsAre(task.item.token));
}

TEST_F(FastPath, WhatIsOfferedDuringATurnIsForTheNextOne) {
  hold("i", {2, 3});
  offer(2);
  const TurnTask first = begin_turn();
  offer(3);
  EXPECT_THAT(verdicts(), IsEmpty());
  decide(first);
  const TurnCommit commit = committing();
  EXPECT_TRUE(commit.keep_lock.has_value()) << "it is kept for what has ended meanwhile, too";
  committed(granted(commit));
  EXPECT_THAT(completed(begin_turn()), ElementsAre(3));
}

TEST_F(FastPath, WhatATurnWithdrewIsNotConsumedByTheNext) {
  hold("i", {2, 3});
  offer(2);
  const TurnTask first = begin_turn();
  offer(3);
  decide(first, {.cancelled = {3}});
  const TurnCommit commit = committing();
  EXPECT_FALSE(commit.keep_lock.has_value()) << "nothing is left to wait for";
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled", "3 settled"));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
}

TEST_F(FastPath, ACompletionThatNobodyKnowsIsDeclined) {
  hold();
  offer(9);
  offer(2, "other");
  EXPECT_THAT(verdicts(), ElementsAre("9 declined", "2 declined"));
  EXPECT_EQ(count<orchestration::RunTurn>(), 0U);
}

TEST_F(FastPath, ATurnThatGivesItsInstanceBackDeclinesWhatItGot) {
  hold();
  offer(2);
  const TurnTask task = begin_turn();
  answer(turn,
         TurnDecision{
             .action = Abandon{.token = task.item.token, .delay = Milliseconds(1'000)}, .kept = {}, .report = {}});
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].delay, Milliseconds(1'000));
}

TEST_F(FastPath, WhatATurnDidNotConsumeGoesThroughTheQueue) {
  hold();
  offer(2);
  TurnTask task = begin_turn();
  task.completions.clear();  // it could not be decoded, or the turn ended without its code
  decide(task);
  committed(granted(committing()));
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
}

// ---- When the commit fails -----------------------------------------------------------------------------------------

TEST_F(FastPath, ARepeatedCommitIsTakenLikeAFirstOne) {
  hold();
  offer(2);
  run({.activities = {4}});
  const TurnCommit first = committing();
  committed(error(ProviderErrorKind::kUnavailable));
  EXPECT_THAT(verdicts(), IsEmpty()) << "its fate is not known";
  EXPECT_EQ(places->reserve(2), 1U) << "the place is reserved all the while";
  places->release(1);
  now += Milliseconds(10);
  const TurnCommit second = committing();
  EXPECT_EQ(second.commit_id, first.commit_id);
  EXPECT_EQ(second.claim, first.claim);
  CommitAnswer repeated = granted(second);
  repeated.repeated = true;
  committed(repeated);
  OrchestrationEffects effects = dispatcher().take_effects();
  ASSERT_EQ(effects.verdicts.size(), 1U);
  EXPECT_TRUE(effects.verdicts[0].settled);
  ASSERT_EQ(effects.claimed.size(), 1U);
  EXPECT_EQ(effects.claimed[0].item.token, work_token(4));
  EXPECT_EQ(effects.claimed[0].item.record, second.activities[0]);
  places->release(1);  // the worker has it
  offer(4);
  const TurnTask task = begin_turn();
  EXPECT_THAT(completed(task), ElementsAre(4)) << "the lock was kept";
  EXPECT_EQ(task.item.last_event_id, 2U);
  EXPECT_EQ(places->reserve(2), 2U);
}

TEST_F(FastPath, ARepeatedCommitThatHoldsNoClaimAnyMoreGivesTheLockBack) {
  hold();
  offer(2);
  run({.activities = {4}});
  committing();
  committed(error(ProviderErrorKind::kUnavailable));
  now += Milliseconds(10);
  CommitAnswer repeated = granted(committing());
  repeated.repeated = true;
  repeated.claimed.clear();
  committed(repeated);
  EXPECT_THAT(verdicts(), ElementsAre("2 settled"));
  EXPECT_EQ(give_back().at(0).token.value, "token of i");
  EXPECT_EQ(places->reserve(2), 2U) << "that the claim is gone does not mean that other work was ahead";
}

TEST_F(FastPath, ALostLockMayBeThatOfTheWorkSoTheInstanceIsGivenBack) {
  hold();
  offer(2);
  run();
  committing();
  committed(error(ProviderErrorKind::kLockLost));
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].token.value, "token of i");
  EXPECT_TRUE(given[0].ignore_attempt);
  EXPECT_EQ(given[0].delay, Milliseconds(0));
}

TEST_F(FastPath, ACommitThatFailsForGoodDeclinesAndFreesThePlaces) {
  hold();
  offer(2);
  run({.activities = {4}});
  EXPECT_EQ(committing().claim->limit, 1U);
  EXPECT_EQ(places->reserve(2), 1U) << "one is reserved";
  places->release(1);
  committed(error(ProviderErrorKind::kInvalidArgument));
  OrchestrationEffects effects = dispatcher().take_effects();
  ASSERT_EQ(effects.verdicts.size(), 1U);
  EXPECT_FALSE(effects.verdicts[0].settled);
  EXPECT_TRUE(effects.places_freed) << "the worker may wait for it";
  EXPECT_EQ(effects.given_up.size(), 1U);
  EXPECT_EQ(places->reserve(2), 2U);
  EXPECT_EQ(give_back().size(), 1U);
}

// ---- The end of a node ---------------------------------------------------------------------------------------------

TEST_F(FastPath, DrainingGivesHeldInstancesBack) {
  hold();
  dispatcher().drain();
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_TRUE(given[0].ignore_attempt);
  offer(2);
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
}

TEST_F(FastPath, DrainingDeclinesWhatNoTurnHasBegunWith) {
  hold("i", {2, 3});
  offer(2);  // its turn has not begun
  dispatcher().drain();
  EXPECT_THAT(verdicts(), ElementsAre("2 declined"));
  EXPECT_EQ(give_back().size(), 1U);
}

TEST_F(FastPath, ADrainingNodeKeepsNoLock) {
  hold("i", {2, 3});
  offer(2);
  const TurnTask task = begin_turn();
  dispatcher().drain();
  decide(task, {.activities = {5}});
  const TurnCommit commit = committing();
  EXPECT_FALSE(commit.claim.has_value());
  EXPECT_FALSE(commit.keep_lock.has_value());
  committed(granted(commit));
  EXPECT_THAT(verdicts(), ElementsAre("2 settled"));
}

TEST_F(FastPath, ALockThatIsKeptWhileTheNodeDrainsIsGivenBack) {
  fetch(item("i"));
  run({.activities = {2}});
  const TurnCommit commit = committing();
  dispatcher().drain();
  committed(granted(commit));
  EXPECT_EQ(dispatcher().take_effects().claimed.size(), 1U) << "the worker gives it back";
  EXPECT_EQ(give_back().size(), 1U);
}

}  // namespace
}  // namespace perdure::test
