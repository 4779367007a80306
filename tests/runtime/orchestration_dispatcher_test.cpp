// The orchestration dispatcher by itself: what it wants, given answers that are made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/orchestration_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::orchestration;
using ::testing::ElementsAre;

// ---- looking for work ----

TEST_F(DispatchOrchestrations, FetchesFirstAndWaitsWhenThereIsNothing) {
  const auto [id, body] = take<Fetch>();
  EXPECT_EQ(body.fetch.limit, options.max_locked_instances);
  EXPECT_EQ(body.fetch.lock_timeout, 5s);
  EXPECT_EQ(body.fetch.owner, "node");
  EXPECT_TRUE(body.fetch.suspects.admit);
  answer(id, ProviderResult<OrchestrationBatch>(OrchestrationBatch()));
  const auto [wait, await] = take<Await>();
  EXPECT_EQ(await.deadline, now + 30s);
  EXPECT_EQ(count<Fetch>(), 0U);
  answer(wait, ProviderResult<bool>(true));
  EXPECT_EQ(count<Fetch>(), 1U);
}

TEST_F(DispatchOrchestrations, LooksAgainAtTheEndOfAWait) {
  fetch();
  answer(take<Await>().first, ProviderResult<bool>(false));
  EXPECT_EQ(count<Fetch>(), 1U);
}

TEST_F(DispatchOrchestrations, PollsAStoreWithoutWakeUps) {
  capabilities.wake_ups = false;
  fetch();
  EXPECT_EQ(count<Await>(), 0U);
  EXPECT_EQ(count<Fetch>(), 0U);
  EXPECT_EQ(dispatcher().wake_at(), now + 100ms);
  now += 100ms;
  EXPECT_EQ(count<Fetch>(), 1U);
}

TEST_F(DispatchOrchestrations, LocksNoMoreThanThereIsRoomFor) {
  options.max_locked_instances = 3;
  fetch(item("a"), item("b"), item("c"));
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
  run();
  commit();
  EXPECT_EQ(take<Fetch>().second.fetch.limit, 1U);
}

TEST_F(DispatchOrchestrations, RunsNoMoreTurnsThanItMay) {
  options.orchestration_concurrency = 2;
  fetch(item("a"), item("b"), item("c"));
  EXPECT_EQ(count<RunTurn>(), 2U);
  run();
  EXPECT_EQ(count<RunTurn>(), 2U) << "the place of one that has run is free";
}

TEST_F(DispatchOrchestrations, FetchErrorsAreAnsweredWithPatience) {
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 100; ++i) {
    answer(take<Fetch>().first, ProviderResult<OrchestrationBatch>(error(ProviderErrorKind::kBusy)));
    EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
    rests.push_back((dispatcher().wake_at() - now).count());
    now = dispatcher().wake_at();
  }
  EXPECT_THAT(std::vector<std::int64_t>(rests.begin(), rests.begin() + 6),
              ElementsAre(200, 400, 800, 1600, 3000, 3000));
  EXPECT_EQ(rests.back(), 3'000) << "W15: it neither overflows nor spins";
  answer(take<Fetch>().first, ProviderResult<OrchestrationBatch>(error(ProviderErrorKind::kStoreFailed)));
  collect();
  EXPECT_EQ(dispatcher().wake_at(), now + 3s) << "whatever the error is";
}

TEST_F(DispatchOrchestrations, AStoreThatCannotBeWaitedOnIsLeftAloneToo) {
  fetch();
  answer(take<Await>().first, ProviderResult<bool>(error(ProviderErrorKind::kUnavailable)));
  EXPECT_EQ(count<Fetch>(), 0U);
  EXPECT_EQ(dispatcher().wake_at(), now + 200ms);
}

TEST_F(DispatchOrchestrations, AtMostOneSuspectIsInFlight) {
  EXPECT_EQ(take<Fetch>().second.fetch.suspects.from_attempts, 5U) << "half of max_attempts";
}

TEST_F(DispatchOrchestrations, ASuspectKeepsOtherSuspectsAway) {
  fetch(item("suspect", 0, 6));
  const auto [id, body] = take<Fetch>();
  EXPECT_FALSE(body.fetch.suspects.admit);
  answer(id, ProviderResult<OrchestrationBatch>(OrchestrationBatch()));
  const auto [wait, await] = take<Await>();
  EXPECT_FALSE(await.fetch.suspects.admit);
  run();
  commit();
  EXPECT_EQ(count<EndWait>(), 1U) << "the wait knows nothing of the suspects that may come now";
  answer(wait, ProviderResult<bool>(false));
  EXPECT_TRUE(take<Fetch>().second.fetch.suspects.admit);
}

// ---- histories and the cache ----

TEST_F(DispatchOrchestrations, AHistoryIsReadOnlyIfThereIsOne) {
  fetch(item("new"), item("old", 3));
  EXPECT_EQ(count<RunTurn>(), 1U);
  const auto [id, body] = take<ReadHistory>();
  EXPECT_EQ(body.token.value, "token of old");
  EXPECT_EQ(body.after, 0U);
  answer(id, ProviderResult<StoredHistory>(
                 StoredHistory{.events = {EventRecord(), EventRecord()}, .key_values = {}, .error = {}}));
  EXPECT_EQ(take<RunTurn>().second.task.item.instance, "new");
  EXPECT_EQ(take<RunTurn>().second.task.history.events.size(), 2U);
}

// Renewals and commits would else stand behind all of them in the queue for a thread.
TEST_F(DispatchOrchestrations, HistoriesAreReadAFewAtATime) {
  options.orchestration_concurrency = 2;
  fetch(item("a", 3), item("b", 3), item("c", 3), item("d", 3), item("e", 3));
  EXPECT_EQ(count<ReadHistory>(), 3U) << "one more than there are turns";
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kLockLost)));
  EXPECT_EQ(count<ReadHistory>(), 3U) << "an answer makes room, whatever it says";
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
  EXPECT_EQ(count<RunTurn>(), 1U);
  EXPECT_EQ(count<ReadHistory>(), 3U);
  for (int left = 3; left > 0; --left) {
    answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
  }
  EXPECT_EQ(count<ReadHistory>(), 0U);
  for (int turns = 4; turns > 0; --turns) run();
}

TEST_F(DispatchOrchestrations, WhatIsKeptIsUsedAgain) {
  fetch(item("i"));
  run({}, 3);
  commit();
  answer(take<Await>().first, ProviderResult<bool>(true));
  fetch(item("i", 3));
  EXPECT_EQ(count<ReadHistory>(), 0U);
  EXPECT_TRUE(take<RunTurn>().second.task.kept);
}

TEST_F(DispatchOrchestrations, WhatIsKeptCatchesUpWithOthers) {
  fetch(item("i"));
  run({}, 3);
  commit();
  answer(take<Await>().first, ProviderResult<bool>(true));
  fetch(item("i", 7));
  const auto [id, body] = take<ReadHistory>();
  EXPECT_EQ(body.after, 3U);
  answer(id, ProviderResult<StoredHistory>(StoredHistory()));
  EXPECT_TRUE(take<RunTurn>().second.task.kept);
}

TEST_F(DispatchOrchestrations, WhatIsKeptAndDoesNotFitIsRebuilt) {
  auto ahead = item("ahead", 2);
  auto next = item("next", 3);
  next.execution_id = 2;
  auto poison = item("poison", 3, 11);
  for (const OrchestrationItem& each : {ahead, next, poison}) {
    fetch(item(each.instance));
    run({}, 3);
    commit();
    EXPECT_TRUE(dispatcher().take_effects().given_up.empty());
    answer(take<Await>().first, ProviderResult<bool>(true));
    fetch(each);
    EXPECT_EQ(dispatcher().take_effects().given_up.size(), 1U)
        << each.instance << ": destroyed where user code may run";
    const auto [id, body] = take<ReadHistory>();
    EXPECT_EQ(body.after, 0U) << each.instance;
    answer(id, ProviderResult<StoredHistory>(StoredHistory()));
    run();
    commit();
    if (each.instance != "poison") answer(take<Await>().first, ProviderResult<bool>(true));
  }
}

TEST_F(DispatchOrchestrations, WithoutACacheHistoriesComeWithTheFetch) {
  options.cached_executions = 0;
  const auto [id, body] = take<Fetch>();
  EXPECT_TRUE(body.fetch.with_history);
  auto whole = item("i", 3);
  whole.history = StoredHistory();
  answer(id, ProviderResult<OrchestrationBatch>(OrchestrationBatch{.now = now, .items = {std::move(whole)}}));
  EXPECT_EQ(count<ReadHistory>(), 0U);
  run({}, 4);
  commit();
  EXPECT_EQ(dispatcher().take_effects().given_up.size(), 1U);
}

TEST_F(DispatchOrchestrations, AHistoryThatCannotBeReadIsReadAgain) {
  fetch(item("busy", 3), item("lost", 3), item("broken", 3));
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kBusy)));
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kLockLost)));
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kStoreFailed)));
  EXPECT_EQ(count<GiveBack>() + count<ReadHistory>(), 0U) << "a lock that is lost is not given back";
  now += 10ms;
  EXPECT_EQ(take<ReadHistory>().second.token.value, "token of busy");
  EXPECT_EQ(take<ReadHistory>().second.token.value, "token of broken");
}

// ---- locks ----

TEST_F(DispatchOrchestrations, LocksAreRenewedAtHalfTime) {
  for (const Milliseconds timeout : {5'000ms, 1'000ms, 100ms, 10ms}) {  // W18: below two seconds too
    RuntimeOptions each;
    each.orchestrator_lock_timeout = timeout;
    OrchestrationDispatcher alone(each, capabilities, "node", CapabilityFilter(), RandomIds(1));
    const auto first = alone.next(kStart);
    auto locked = item("i");
    locked.locked_until = kStart + timeout;
    alone.answer(first->id, ProviderResult<OrchestrationBatch>(OrchestrationBatch{.now = kStart, .items = {locked}}),
                 kStart);
    while (alone.next(kStart)) {
    }
    EXPECT_EQ(alone.wake_at(), kStart + timeout / 2) << timeout.count();
    EXPECT_FALSE(alone.next(kStart + timeout / 2 - 1ms));
    const auto wanted = alone.next(kStart + timeout / 2);
    ASSERT_TRUE(wanted && std::holds_alternative<Renew>(wanted->body)) << timeout.count();
    EXPECT_EQ(std::get<Renew>(wanted->body).tokens, std::vector{locked.token});
    EXPECT_EQ(std::get<Renew>(wanted->body).extend_for, timeout);
    const Timestamp later = kStart + timeout / 2;
    alone.answer(wanted->id, std::vector<ProviderResult<Timestamp>>{later + timeout}, later);
    EXPECT_EQ(alone.wake_at(), later + timeout - timeout / 2) << "and so on";
  }
}

TEST_F(DispatchOrchestrations, ATransientRenewalErrorIsTriedAgainWhileTheLockHolds) {
  fetch(item("i"));
  collect();
  now += 2'500ms;
  answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kBusy)});
  collect();
  EXPECT_LT(dispatcher().wake_at(), kStart + 5s);
  now = dispatcher().wake_at();
  EXPECT_EQ(count<Renew>(), 1U);
}

// The store extends the lock by as much, so it holds although its end has passed.
TEST_F(DispatchOrchestrations, ARenewalThatFailsAfterAClockJumpIsTriedAgain) {
  fetch(item("a"));
  static_cast<void>(take<orchestration::RunTurn>());
  now += std::chrono::hours(2);
  dispatcher().clock_jumped(std::chrono::hours(2));
  answer(take<orchestration::Renew>().first, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kBusy)});
  EXPECT_EQ(count<orchestration::Renew>(), 0U);
  now += options.orchestrator_lock_timeout / 16;
  EXPECT_EQ(count<orchestration::Renew>(), 1U);
}

TEST_F(DispatchOrchestrations, ALockThatIsLostIsNotRenewedAndItsTurnIsNotStopped) {
  fetch(item("i"));
  collect();
  now += 2'500ms;
  answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kLockLost)});
  now += 10s;
  EXPECT_EQ(count<Renew>(), 0U);
  run();
  commit(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(count<GiveBack>(), 0U);
}

TEST_F(DispatchOrchestrations, ALockIsRenewedUntilItsCommitIsAnswered) {
  fetch(item("i"));
  run();
  const auto [id, body] = take<Commit>();
  now += 2'500ms;
  const auto [renewal, tokens] = take<Renew>();
  answer(id, std::vector<ProviderResult<CommitAnswer>>(1, CommitAnswer()));
  answer(renewal, std::vector<ProviderResult<Timestamp>>{now + 5s});  // comes late, and concerns nobody
  now += 10s;
  EXPECT_EQ(count<Renew>(), 0U);
}

// ---- commits ----

TEST_F(DispatchOrchestrations, ACommitThatSucceedsLateIsASuccess) {
  fetch(item("i"));
  run({7}, 3);
  commit(error(ProviderErrorKind::kUnavailable));
  EXPECT_TRUE(dispatcher().take_effects().withdrawn.empty()) << "nothing is known yet";
  now += 10ms;
  CommitAnswer repeated;
  repeated.repeated = true;
  commit(repeated);
  const auto effects = dispatcher().take_effects();
  ASSERT_EQ(effects.withdrawn.size(), 1U);
  EXPECT_EQ(effects.withdrawn[0].instance, "i");
  EXPECT_EQ(effects.withdrawn[0].activity_id, 7U);
  EXPECT_TRUE(effects.given_up.empty());
  EXPECT_EQ(count<GiveBack>(), 0U);
}

TEST_F(DispatchOrchestrations, ALostLockIsDropped) {
  fetch(item("i"));
  run({}, 1);
  commit(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(count<GiveBack>() + count<Commit>(), 0U) << "it is somebody else's";
  EXPECT_EQ(dispatcher().take_effects().given_up.size(), 1U);
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(DispatchOrchestrations, APermanentErrorGivesTheInstanceBackAndForgetsIt) {
  fetch(item("i"));
  const TurnCommit wanted = run({}, 1);
  commit(error(ProviderErrorKind::kDuplicateEvent));
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = wanted.token, .delay = 50ms, .ignore_attempt = false}));  // W14
  EXPECT_EQ(dispatcher().take_effects().given_up.size(), 1U);
  answer(take<Await>().first, ProviderResult<bool>(true));
  fetch(item("i", 1));
  EXPECT_EQ(take<ReadHistory>().second.after, 0U) << "it is not in the cache";
}

TEST_F(DispatchOrchestrations, ABadCommitFailsAlone) {
  options.orchestration_concurrency = 3;
  fetch(item("first"), item("good"), item("bad"));
  run();
  const RequestId first = take<Commit>().first;
  run();
  run();
  answer(first, std::vector<ProviderResult<CommitAnswer>>(1, CommitAnswer()));
  auto [id, body] = take<Commit>();
  ASSERT_EQ(body.commits->size(), 2U) << "what is ready at the same time is committed together";
  answer(id, std::vector<ProviderResult<CommitAnswer>>{CommitAnswer(), error(ProviderErrorKind::kInvalidArgument)});
  EXPECT_EQ(count<GiveBack>(), 0U) << "another may be to blame";
  commit(error(ProviderErrorKind::kInvalidArgument));
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token of bad"}, .delay = 50ms, .ignore_attempt = false}));
}

TEST_F(DispatchOrchestrations, CommitsGatherWhileOneIsUnderWay) {
  fetch(item("a"), item("b"), item("c"));
  run();
  auto [id, body] = take<Commit>();
  run();
  run();
  EXPECT_EQ(count<Commit>(), 0U);
  answer(id, std::vector<ProviderResult<CommitAnswer>>(1, CommitAnswer()));
  EXPECT_EQ(take<Commit>().second.commits->size(), 2U);
}

// ---- the end ----

TEST_F(DispatchOrchestrations, DrainingFinishesWhatHasBegunAndGivesBackTheRest) {
  options.orchestration_concurrency = 1;
  fetch(item("begun"), item("waits"), item("unread", 3));
  collect();
  const RequestId reading = take<ReadHistory>().first;
  dispatcher().drain();
  answer(reading, ProviderResult<StoredHistory>(StoredHistory()));
  std::vector<Abandon> given = give_back();
  if (given.size() == 1) given.push_back(give_back().front());
  EXPECT_THAT(given, ::testing::UnorderedElementsAre(
                         Abandon{.token = {"token of waits"}, .delay = 0ms, .ignore_attempt = true},
                         Abandon{.token = {"token of unread"}, .delay = 0ms, .ignore_attempt = true}));
  EXPECT_FALSE(dispatcher().idle());
  run();
  commit(error(ProviderErrorKind::kBusy));
  now += 10ms;
  commit();
  while (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(false));
  while (count<EndWait>() > 0) answer(take<EndWait>().first, Done());
  EXPECT_EQ(count<Fetch>() + count<Await>() + count<RunTurn>(), 0U);
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(DispatchOrchestrations, WhatAFetchBringsAfterTheEndIsGivenBack) {
  const RequestId fetching = take<Fetch>().first;
  dispatcher().drain();
  answer(fetching, ProviderResult<OrchestrationBatch>(OrchestrationBatch{.now = now, .items = {item("late")}}));
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token of late"}, .delay = 0ms, .ignore_attempt = true}));
  collect();
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(DispatchOrchestrations, AWaitThatHasNotBegunYetIsEndedToo) {
  fetch();
  const auto [wait, await] = take<Await>();
  dispatcher().drain();
  EXPECT_FALSE(await.stop.stop_requested());
  auto [end, body] = take<EndWait>();
  body.wait.request_stop();
  EXPECT_TRUE(await.stop.stop_requested());
  answer(end, Done());
  EXPECT_EQ(count<EndWait>(), 0U) << "once is enough";
  answer(wait, ProviderResult<bool>(false));
  EXPECT_TRUE(dispatcher().idle());
}

}  // namespace
}  // namespace perdure::test
