// Activities that a commit of the same node claimed: they run without a fetch, their outcome is offered before it goes
// to the queue, and whatever else becomes of them is told once.
#include <atomic>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerClaims : public DispatchActivities {
 protected:
  WorkerClaims() {
    places = std::make_shared<WorkPlaces>(WorkFetch(), [](const std::string&) { return true; });
  }

  // A commit has reserved a place for each and claimed them.
  void claim(std::vector<WorkItem> items) {
    if (!std::exchange(looked, true)) fetch();  // nothing is queued
    EXPECT_EQ(places->reserve(items.size()), items.size());
    NewsForWorker news;
    for (WorkItem& item : items) news.claimed.push_back({std::move(item), incarnation});
    dispatcher().hear(std::move(news), now);
  }
  RunId run_claimed(EventId id = 2, ActivityTimeouts timeouts = {}) {
    claim({item(id, "Work", 1, timeouts)});
    return start();
  }
  void judge(RunId run, bool settled) {
    NewsForWorker news;
    news.verdicts.push_back({run, settled});
    dispatcher().hear(std::move(news), now);
  }
  std::vector<LocalCompletion> offers() {
    NewsForTurns news = dispatcher().take_news();
    EXPECT_THAT(news.over, IsEmpty());
    return std::move(news.offered);
  }
  // Claimed activities that will offer nothing, as told since the last look.
  std::vector<EventId> over() {
    collect();
    NewsForTurns news = dispatcher().take_news();
    EXPECT_THAT(news.offered, IsEmpty());
    std::vector<EventId> ids;
    for (const ActivityOfInstance& activity : news.over) ids.push_back(activity.activity_id);
    return ids;
  }
  void answer_upkeep(const worker::Request& wanted) {
    if (std::holds_alternative<worker::ReadGauges>(wanted.body)) {
      answer(wanted.id, worker::Gauges());
    } else {
      answer(wanted.id, ProviderResult<std::size_t>(0U));
    }
  }
  static MessageKind kind_of(const LocalCompletion& completion) { return completion.message.kind; }

  bool looked = false;
  std::uint64_t incarnation = 0;  // of the instance that claims
};

// ---- The way it is meant -------------------------------------------------------------------------------------------

TEST_F(WorkerClaims, AClaimedActivityRunsWithoutAFetchAndItsOutcomeIsOffered) {
  const RunId run = run_claimed();
  finish(run);
  EXPECT_EQ(count<worker::Ack>(), 0U);
  const auto offered = offers();
  ASSERT_EQ(offered.size(), 1U);
  EXPECT_EQ(offered[0].run, run);
  EXPECT_EQ(offered[0].work.value, "token 2");
  EXPECT_EQ(offered[0].activity_id, 2U);
  EXPECT_EQ(offered[0].execution, 1U);
  EXPECT_EQ(kind_of(offered[0]), MessageKind::kActivityCompleted);
  EXPECT_FALSE(dispatcher().all_told());
  judge(run, true);
  EXPECT_EQ(count<worker::Ack>(), 0U) << "the store knows it";
  EXPECT_TRUE(dispatcher().all_told());
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(WorkerClaims, WhatIsDeclinedGoesThroughTheQueue) {
  const RunId run = run_claimed();
  finish(run);
  const auto offered = offers();
  judge(run, false);
  const auto acks = ack();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].token.value, "token 2");
  EXPECT_EQ(acks[0].completion, offered.at(0).message);
  judge(run, false);
  EXPECT_EQ(count<worker::Ack>(), 0U) << "a verdict counts once";
}

TEST_F(WorkerClaims, TheLockIsRenewedUntilThereIsAVerdict) {
  const RunId run = run_claimed();
  finish(run);
  now += options.worker_lock_timeout / 2;
  EXPECT_THAT(take<worker::Renew>().second.tokens, ElementsAre(LockToken{"token 2"}));
}

// So that its place is free for what the next turn schedules.
TEST_F(WorkerClaims, AnOutcomeIsOfferedWhenItsThreadIsBack) {
  const RunId run = run_claimed();
  dispatcher().ended(run, Payload("1"), now);
  EXPECT_THAT(offers(), IsEmpty());
  dispatcher().returned(run);
  EXPECT_EQ(offers().size(), 1U);
}

TEST_F(WorkerClaims, AFunctionThatGoesOnDoesNotKeepItsOutcomeWaiting) {
  const RunId run = run_claimed();
  dispatcher().ended(run, Payload("1"), now);
  now += Milliseconds(10);
  collect();
  EXPECT_EQ(offers().size(), 1U);
  dispatcher().returned(run);
  EXPECT_THAT(offers(), IsEmpty());
}

TEST_F(WorkerClaims, AFetchedActivityIsNotOffered) {
  fetch({item(2)});
  finish(start());
  EXPECT_EQ(ack().size(), 1U);
  EXPECT_THAT(offers(), IsEmpty());
}

TEST_F(WorkerClaims, FailuresAndTimeoutsAreOffered) {
  const RunId failed = run_claimed(2);
  finish(failed, ApplicationError{ApplicationErrorKind::kActivityFailed, "no", true});
  auto offered = offers();
  ASSERT_EQ(offered.size(), 1U);
  EXPECT_EQ(kind_of(offered[0]), MessageKind::kActivityFailed);
  ActivityTimeouts brief;
  brief.start_to_close = Milliseconds(1'000);
  const RunId slow = run_claimed(3, brief);
  now += Milliseconds(1'000);
  EXPECT_EQ(stopped(), slow);
  offered = offers();
  ASSERT_EQ(offered.size(), 1U);
  EXPECT_EQ(kind_of(offered[0]), MessageKind::kActivityFailed);
  dispatcher().ended(slow, Payload("late"), now);
  EXPECT_THAT(offers(), IsEmpty());
}

TEST_F(WorkerClaims, AVerdictForALockThatWasLostMeanwhileSettlesItToo) {
  const RunId run = run_claimed();
  finish(run);
  now += options.worker_lock_timeout;
  collect();
  judge(run, false);
  ack(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(count<worker::Ack>(), 0U);
  EXPECT_EQ(count<worker::GiveBack>(), 0U);
}

TEST_F(WorkerClaims, AClaimThatIsListedTwiceRunsOnce) {
  const RunId run = run_claimed();
  claim({item(2)});
  EXPECT_EQ(count<worker::Start>(), 0U);
  finish(run);
  EXPECT_EQ(offers().size(), 1U);
  judge(run, true);
  collect();
  EXPECT_TRUE(dispatcher().all_told());
  EXPECT_EQ(places->reserve(options.worker_concurrency), options.worker_concurrency) << "no place is left reserved";
}

// Of an instance that was deleted and started anew, say.
TEST_F(WorkerClaims, AClaimUnderANewLockIsNotTakenForTheOldOne) {
  const RunId old = run_claimed();
  WorkItem anew = item(2);
  anew.token = {"another token"};
  claim({anew});
  EXPECT_NE(start(), old);
}

// ---- Other ends ----------------------------------------------------------------------------------------------------

TEST_F(WorkerClaims, AWithdrawnActivityIsOver) {
  const RunId run = run_claimed();
  NewsForWorker news;
  news.withdrawn.push_back({.instance = "i", .execution = 1, .activity_id = 2});
  dispatcher().hear(std::move(news), now);
  EXPECT_THAT(over(), ElementsAre(2));
  EXPECT_EQ(stopped(), run);
  finish(run);
  EXPECT_THAT(over(), IsEmpty());
}

TEST_F(WorkerClaims, AnActivityThatIsClaimedAndWithdrawnInOneBreathDoesNotBegin) {
  dispatcher();
  EXPECT_EQ(places->reserve(1), 1U);
  NewsForWorker news;
  news.claimed = {{item(2), incarnation}};
  news.withdrawn.push_back({.instance = "i", .execution = 1, .activity_id = 2});
  dispatcher().hear(std::move(news), now);
  EXPECT_EQ(count<worker::Start>(), 0U);
  EXPECT_THAT(over(), ElementsAre(2));
}

// Updates of two threads may arrive in one go, and in another order than that of their commits.
TEST_F(WorkerClaims, AWithdrawalOfAnEarlierIncarnationLeavesTheClaimOfItsSuccessorAlone) {
  dispatcher();
  EXPECT_EQ(places->reserve(1), 1U);
  NewsForWorker news;
  news.claimed = {{of_incarnation(2, 8), 8}};
  news.withdrawn.push_back({.instance = "i", .incarnation = 7, .execution = 1, .activity_id = 2});
  dispatcher().hear(std::move(news), now);
  finish(start());
  const auto offered = offers();
  ASSERT_EQ(offered.size(), 1U);
  EXPECT_EQ(offered[0].incarnation, 8U);
}

// Even if its item cannot be decoded: the commit that claimed it knows the incarnation.
TEST_F(WorkerClaims, WhatIsOverNamesItsIncarnation) {
  incarnation = 8;
  WorkItem damaged = item(3);
  damaged.record.body = "no activity";
  claim({damaged});
  collect();
  const NewsForTurns news = dispatcher().take_news();
  ASSERT_EQ(news.over.size(), 1U);
  EXPECT_EQ(news.over[0].incarnation, 8U);
}

TEST_F(WorkerClaims, AnActivityWhoseLockIsLostIsOver) {
  run_claimed();
  now += options.worker_lock_timeout / 2;
  answer(take<worker::Renew>().first, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kLockLost)});
  EXPECT_THAT(over(), ElementsAre(2));
}

TEST_F(WorkerClaims, AnActivityThatIsGivenBackIsOver) {
  claim({item(2, "Unknown")});
  EXPECT_THAT(over(), ElementsAre(2));
  WorkItem damaged = item(3);
  damaged.record.body = "no activity";
  claim({damaged});
  EXPECT_THAT(over(), ElementsAre(3));
  EXPECT_EQ(give_back().size() + give_back().size(), 2U);
  EXPECT_THAT(over(), IsEmpty());
}

TEST_F(WorkerClaims, ANodeThatStopsGivesClaimedActivitiesBackUncounted) {
  run_claimed();
  dispatcher().stop_all(now);
  EXPECT_THAT(over(), ElementsAre(2));
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_TRUE(given[0].ignore_attempt);
}

TEST_F(WorkerClaims, WhatIsClaimedForANodeThatDrainsIsGivenBackUncounted) {
  dispatcher();
  EXPECT_EQ(places->reserve(1), 1U);
  dispatcher().drain();
  NewsForWorker news;
  news.claimed = {{item(2), incarnation}};
  dispatcher().hear(std::move(news), now);
  EXPECT_THAT(over(), ElementsAre(2));
  const auto given = give_back();
  ASSERT_EQ(given.size(), 1U);
  EXPECT_TRUE(given[0].ignore_attempt);
}

// ---- Places --------------------------------------------------------------------------------------------------------

TEST_F(WorkerClaims, AFetchLeavesReservedPlacesAlone) {
  options.worker_concurrency = 3;
  dispatcher();
  EXPECT_EQ(places->reserve(2), 2U);
  EXPECT_EQ(take<worker::Fetch>().second.fetch.limit, 1U);
  EXPECT_EQ(places->reserve(2), 0U) << "the fetch is about to take the last one";
}

// A wait for no items ends for none: with the last place reserved at the wrong moment, the worker was deaf until the
// end of its long poll.
TEST_F(WorkerClaims, NothingIsLookedForWithoutAPlaceHoweverTurnsReserveIt) {
  options.worker_concurrency = 1;
  dispatcher();
  const std::jthread turns([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) places->release(places->reserve(1));
  });
  for (int looks = 0; looks < 20'000;) {
    const auto wanted = dispatcher().next(now);
    if (!wanted) continue;
    if (const auto* fetch = std::get_if<worker::Fetch>(&wanted->body)) {
      ++looks;
      ASSERT_EQ(fetch->fetch.limit, 1U) << "of a fetch";
      answer(wanted->id, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {}}));
    } else if (const auto* await = std::get_if<worker::Await>(&wanted->body)) {
      ++looks;
      ASSERT_EQ(await->fetch.limit, 1U) << "of a wait";
      answer(wanted->id, ProviderResult<bool>(true));
    } else {
      answer_upkeep(*wanted);
    }
  }
}

// An activity would else wait for the thread of another one while its time runs. What a turn has reserved it keeps
// until this thread has counted.
TEST_F(WorkerClaims, APlaceIsNotReservedAndFetchedForAtOnce) {
  options.worker_concurrency = 1;
  dispatcher();
  std::atomic<int> counted = 0;
  const std::jthread turns([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const int before = counted;
      if (places->reserve(1) == 0) continue;
      while (counted == before && !stop.stop_requested()) std::this_thread::yield();
      places->release(1);
    }
  });
  for (; counted < 200'000; ++counted) {
    const auto wanted = dispatcher().next(now);
    if (!wanted) {
      std::this_thread::yield();  // the place is a turn's
    } else if (const auto* fetch = std::get_if<worker::Fetch>(&wanted->body)) {
      ASSERT_LE(places->reserved() + fetch->fetch.limit, 1U);
      answer(wanted->id, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {}}));
    } else if (std::holds_alternative<worker::Await>(wanted->body)) {
      answer(wanted->id, ProviderResult<bool>(true));
    } else {
      answer_upkeep(*wanted);
    }
  }
}

TEST_F(WorkerClaims, PlacesAreFreeAgainWhenTheirThreadIsBack) {
  options.worker_concurrency = 1;
  const RunId run = run_claimed();
  EXPECT_EQ(places->reserve(1), 0U);
  finish(run);
  collect();
  EXPECT_EQ(places->reserve(1), 1U) << "an outcome that is offered occupies no thread";
}

TEST_F(WorkerClaims, NothingIsReservedWhileTheQueueHoldsMoreThanWasFetched) {
  options.worker_concurrency = 2;
  fetch({item(2), item(3)});
  const RunId first = start();
  finish(first);
  ack();
  EXPECT_EQ(places->reserve(1), 0U) << "the fetch was full";
  fetch();
  collect();
  EXPECT_EQ(places->reserve(1), 1U);
}

TEST_F(WorkerClaims, ANodeThatDrainsHasNoPlaces) {
  dispatcher().drain();
  EXPECT_EQ(places->reserve(1), 0U);
}

}  // namespace
}  // namespace perdure::test
