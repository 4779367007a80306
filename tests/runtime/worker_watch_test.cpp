// How the worker dispatcher learns that an activity it runs was cancelled or deleted, with answers made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class WatchActivities : public DispatchActivities {
 protected:
  static constexpr Milliseconds kSoon = HeldWatch::kWatchAfter;

  // The running activity, which is watched.
  RunId watched_run() {
    fetch({item(1)});
    const RunId run = start();
    now += kSoon;
    return run;
  }
  std::vector<LockToken> renew(const ProviderResult<Timestamp>& outcome) {
    auto [id, body] = take<Renew>();
    answer(id, std::vector<ProviderResult<Timestamp>>(body.tokens.size(), outcome));
    return body.tokens;
  }
  static ProviderError lock_lost() { return {ProviderErrorKind::kLockLost, "it was cancelled"}; }
};

TEST_F(WatchActivities, ShortOnesAreNotWatched) {
  fetch({item(1)});
  const RunId run = start();
  now += kSoon - 1ms;
  EXPECT_EQ(count<Watch>(), 0U);
  finish(run);
  ack();
  now += 1h;
  EXPECT_EQ(count<Watch>(), 0U);
}

TEST_F(WatchActivities, OneThatRunsForAWhileIsWatched) {
  watched_run();
  const auto [id, watch] = take<Watch>();
  EXPECT_THAT(watch.held, ElementsAre(LockToken{"token 1"}));
  EXPECT_EQ(watch.deadline, now + options.long_poll_timeout);
  now += kSoon;
  EXPECT_EQ(count<Watch>(), 0U) << "it is watched already";
}

TEST_F(WatchActivities, ALossIsConfirmedByARenewalAndStopsTheActivity) {
  const RunId run = watched_run();
  answer(take<Watch>().first, ProviderResult<bool>(true));
  EXPECT_THAT(renew(lock_lost()), ElementsAre(LockToken{"token 1"}));
  EXPECT_EQ(take<Stop>().second.run, run);
  EXPECT_EQ(count<Watch>(), 0U);
}

TEST_F(WatchActivities, OnlyTheLostOneIsStopped) {
  options.worker_concurrency = 2;
  fetch({item(1), item(2)});
  start();
  const RunId lost = start();
  now += kSoon;
  answer(take<Watch>().first, ProviderResult<bool>(true));
  auto [id, renewal] = take<Renew>();
  ASSERT_THAT(renewal.tokens, SizeIs(2));
  answer(id, std::vector<ProviderResult<Timestamp>>{now + 30s, lock_lost()});
  EXPECT_EQ(take<Stop>().second.run, lost);
  EXPECT_EQ(count<Stop>(), 0U);
  now += kSoon;
  EXPECT_THAT(take<Watch>().second.held, ElementsAre(LockToken{"token 1"})) << "the other is watched again";
}

TEST_F(WatchActivities, ANewerOneJoinsTheWatch) {
  options.worker_concurrency = 2;
  watched_run();
  const auto [first, watch] = take<Watch>();
  fetch({item(2)});
  start();
  EXPECT_EQ(count<EndWait>(), 0U) << "it may be a short one";
  now += kSoon;
  const auto [end, wait] = take<EndWait>();
  EXPECT_EQ(count<EndWait>() + count<Watch>(), 0U) << "once is enough";
  answer(end, Done());
  answer(first, ProviderResult<bool>(false));
  EXPECT_THAT(take<Watch>().second.held, ElementsAre(LockToken{"token 1"}, LockToken{"token 2"}));
}

TEST_F(WatchActivities, AWatchNamesNoShortActivity) {
  options.worker_concurrency = 2;
  fetch({item(1)});
  start();
  now += kSoon - 1ms;
  fetch({item(2)});
  start();
  now += 1ms;
  EXPECT_THAT(take<Watch>().second.held, ElementsAre(LockToken{"token 1"}));
}

TEST_F(WatchActivities, ActivitiesJoinTheWatchTogether) {
  options.worker_concurrency = 3;
  fetch({item(1)});
  start();
  now += 1ms;
  fetch({item(2)});
  start();
  now += 1ms;
  fetch({item(3)});
  start();
  now += kSoon - 2ms;
  const auto [first, watch] = take<Watch>();
  EXPECT_THAT(watch.held, ElementsAre(LockToken{"token 1"}));
  now += kSoon - 1ms;
  EXPECT_EQ(count<EndWait>(), 0U) << "each join costs a call";
  now += 1ms;
  answer(take<EndWait>().first, Done());
  answer(first, ProviderResult<bool>(false));
  EXPECT_THAT(take<Watch>().second.held, SizeIs(3));
}

TEST_F(WatchActivities, TheEndOfAnActivityHereIsNoLoss) {
  options.worker_concurrency = 2;
  fetch({item(1), item(2)});
  const RunId run = start();
  start();
  now += kSoon;
  const auto [id, watch] = take<Watch>();
  finish(run);
  ack();
  now += kSoon;
  answer(id, ProviderResult<bool>(true));
  EXPECT_EQ(count<Renew>(), 0U);
  EXPECT_THAT(take<Watch>().second.held, ElementsAre(LockToken{"token 2"})) << "at once";
}

// On a busy node an activity ends during almost every watch.
TEST_F(WatchActivities, ASecondLossInARowIsConfirmedWhateverEndedHere) {
  options.worker_concurrency = 4;
  fetch({item(1), item(2), item(3), item(4)});
  std::vector<RunId> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(start());
  now += kSoon;
  const auto loses = [&](RunId ended_here) {
    const RequestId id = take<Watch>().first;
    finish(ended_here);
    ack();
    answer(id, ProviderResult<bool>(true));
  };
  loses(runs[0]);
  EXPECT_EQ(count<Renew>() + count<Watch>(), 0U);
  now += kSoon;
  loses(runs[1]);
  auto [id, renewal] = take<Renew>();
  ASSERT_THAT(renewal.tokens, ElementsAre(LockToken{"token 3"}, LockToken{"token 4"}));
  answer(id, std::vector<ProviderResult<Timestamp>>{now + 30s, lock_lost()});
  EXPECT_EQ(take<Stop>().second.run, runs[3]);
  now += kSoon - 1ms;
  EXPECT_EQ(count<Watch>(), 0U) << "a pause follows, as after each loss";
  now += 1ms;
  loses(runs[2]);
  EXPECT_EQ(count<Watch>() + count<Renew>(), 0U) << "nothing is left";
}

TEST_F(WatchActivities, ALossBeforeALongWatchIsNotInARow) {
  options.worker_concurrency = 3;
  fetch({item(1), item(2), item(3)});
  const RunId first = start();
  const RunId second = start();
  start();
  now += kSoon;
  RequestId watch = take<Watch>().first;
  finish(first);
  ack();
  now += kSoon;
  answer(watch, ProviderResult<bool>(true));
  answer(take<Watch>().first, ProviderResult<bool>(false));
  now += kSoon;
  watch = take<Watch>().first;
  finish(second);
  ack();
  answer(watch, ProviderResult<bool>(true));
  EXPECT_EQ(count<Renew>(), 0U);
}

TEST_F(WatchActivities, AWatchThatTheStoreEndsIsRepeated) {
  watched_run();
  const RequestId watch = take<Watch>().first;
  now += kSoon;
  answer(watch, ProviderResult<bool>(false));
  EXPECT_EQ(count<Watch>(), 1U) << "the deadline has passed, or the store has woken all waiters";
}

TEST_F(WatchActivities, AWatchThatEndsAtOnceIsRepeatedAfterAPause) {
  watched_run();
  answer(take<Watch>().first, ProviderResult<bool>(false));
  now += kSoon - 1ms;
  EXPECT_EQ(count<Watch>(), 0U);
  now += 1ms;
  EXPECT_EQ(count<Watch>(), 1U);
}

TEST_F(WatchActivities, AFailingStoreIsLeftAloneForAWhile) {
  watched_run();
  for (const Milliseconds pause : {200ms, 400ms, 800ms}) {
    answer(take<Watch>().first, ProviderResult<bool>(error(ProviderErrorKind::kUnavailable)));
    now += pause - 1ms;
    EXPECT_EQ(count<Watch>(), 0U);
    now += 1ms;
  }
  EXPECT_EQ(count<Watch>(), 1U);
}

TEST_F(WatchActivities, AnActivityThatBeginsDoesNotShortenThePauseAfterAFailure) {
  options.worker_concurrency = 2;
  watched_run();
  Milliseconds pause{100};
  for (int failure = 0; failure < 3; ++failure) {
    pause *= 2;
    answer(take<Watch>().first, ProviderResult<bool>(error(ProviderErrorKind::kUnavailable)));
    if (failure < 2) now += pause;
  }
  fetch({item(2)});
  start();
  now += pause - 1ms;
  EXPECT_EQ(count<Watch>(), 0U);
  EXPECT_LE(dispatcher().wake_at(), now + 1ms);
  now += 1ms;
  EXPECT_THAT(take<Watch>().second.held, SizeIs(2));
}

TEST_F(WatchActivities, APauseAfterALossCollectsOthers) {
  options.worker_concurrency = 3;
  watched_run();
  answer(take<Watch>().first, ProviderResult<bool>(true));
  renew(now + 30s);
  fetch({item(2), item(3)});
  start();
  start();
  now += kSoon - 1ms;
  EXPECT_EQ(count<Watch>(), 0U);
  now += 1ms;
  EXPECT_THAT(take<Watch>().second.held, SizeIs(3));
}

TEST_F(WatchActivities, AStoreWithoutWakeUpsIsNotAsked) {
  capabilities.wake_ups = false;
  fetch({item(1)});
  start();
  now += 1min;
  EXPECT_EQ(count<Watch>(), 0U);
}

TEST_F(WatchActivities, ANodeThatEndsDoesNotWaitForItsWatch) {
  const RunId run = watched_run();
  const auto [id, watch] = take<Watch>();
  dispatcher().drain();
  EXPECT_EQ(count<EndWait>(), 1U) << "the wait for work";
  answer(take<EndWait>().first, Done());
  answer(take<Await>().first, ProviderResult<bool>(false));
  EXPECT_EQ(count<EndWait>(), 0U) << "the activity still runs, and may be cancelled";
  finish(run);
  ack();
  answer(take<EndWait>().first, Done());
  EXPECT_TRUE(watch.stop.stop_possible());
  EXPECT_FALSE(dispatcher().idle());
  answer(id, ProviderResult<bool>(false));
  EXPECT_EQ(count<Watch>(), 0U);
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(WatchActivities, ANodeRestsWhileItOnlyWatches) {
  const RunId run = watched_run();
  collect();
  EXPECT_EQ(count<Watch>(), 1U);
  finish(run);
  ack();
  fetch();
  collect();
  EXPECT_TRUE(dispatcher().resting()) << "both waits are no work";
}

}  // namespace
}  // namespace perdure::test
