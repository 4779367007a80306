// The worker dispatcher by itself: the sessions that its node holds, from the first claim to the end of the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HoldSessions : public DispatchActivities {
 protected:
  HoldSessions() { keeps_sessions = true; }

  RenewSessions renew_sessions(ProviderResult<std::size_t> outcome = 1U) {
    auto [id, body] = take<RenewSessions>();
    answer(id, outcome);
    return body;
  }
  // A wait for work ends when the node is to end.
  void end_waits() {
    while (count<EndWait>() > 0) {
      answer(take<EndWait>().first, Done());
      const RequestId ended = count<Await>() > 0 ? take<Await>().first : take<Watch>().first;
      answer(ended, ProviderResult<bool>(false));
    }
  }
  // Answers whatever is wanted until that time, and notes the times at which sessions are renewed.
  std::vector<Milliseconds> renewals_until(Timestamp end, std::size_t held) {
    std::vector<Milliseconds> times;
    for (;;) {
      if (count<Renew>() > 0) answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{now + 30s});
      end_waits();
      while (count<RenewSessions>() > 0) {
        times.push_back(now - kBegin);
        renew_sessions(held);
      }
      const Timestamp next = dispatcher().wake_at();
      if (next > end) break;
      now = next;
    }
    now = end;
    return times;
  }
  // That the node does not hold any sessions any more.
  static void expect_given_up(const RenewSessions& request) {
    EXPECT_EQ(request.owner, "node");
    EXPECT_EQ(request.extend_for, 0ms);
    EXPECT_GT(request.idle_timeout, 24h * 365) << "however long ago they were used";
  }
};

// ---- how many ----

// W34: the store counts what the node holds, in use or not, and serves that in any case.
TEST_F(HoldSessions, AFetchSaysHowManyTheNodeMayHold) {
  options.worker_concurrency = 4;
  options.max_sessions_per_runtime = 2;
  fetch({in_session(1), in_session(2), in_session(3, "other")});
  EXPECT_EQ(take<Await>().second.fetch.session,
            (SessionFetch{.owner = "node", .lock_timeout = 30s, .max_sessions = 2}));
}

// ---- renewal ----

TEST_F(HoldSessions, TheyAreRenewedAtHalfTime) {
  fetch({in_session(1)});
  start();
  collect();
  now += 14'999ms;
  EXPECT_EQ(count<RenewSessions>(), 0U);
  now += 1ms;
  const RenewSessions request = renew_sessions();
  EXPECT_EQ(request.owner, "node");
  EXPECT_EQ(request.extend_for, 30s);
  EXPECT_EQ(request.idle_timeout, 5min);
}

TEST_F(HoldSessions, WithoutAnyThereIsNothingToRenew) {
  fetch({item(1)});
  start();
  EXPECT_THAT(renewals_until(kBegin + 10min, 0), IsEmpty());
}

// The store says when the last one has gone.
TEST_F(HoldSessions, TheyAreRenewedAsLongAsTheStoreSaysThatThereAreAny) {
  fetch({in_session(1)});
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 60s, 1), ElementsAre(15s, 30s, 45s, 60s));
  EXPECT_THAT(renewals_until(kBegin + 120s, 0), ElementsAre(75s));
}

TEST_F(HoldSessions, ANewOneIsRenewedAfterTheOthersHaveGone) {
  fetch({in_session(1)});
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 40s, 0), ElementsAre(15s));
  fetch({in_session(2)});
  start();
  EXPECT_THAT(renewals_until(kBegin + 60s, 1), ElementsAre(55s));
}

// Its answer says that there are none: but that was before the fetch.
TEST_F(HoldSessions, OneThatIsClaimedDuringARenewalIsRenewedToo) {
  fetch({in_session(1)});
  finish(start());
  ack();
  collect();
  now += 15s;
  const RequestId renewal = take<RenewSessions>().first;
  fetch({in_session(2)});
  start();
  answer(renewal, ProviderResult<std::size_t>(0U));
  EXPECT_THAT(renewals_until(kBegin + 40s, 1), ElementsAre(30s));
}

// A session is used as long as one of its activities runs, however long ago that was fetched.
TEST_F(HoldSessions, OneIsRenewedAsLongAsAnActivityOfItRuns) {
  fetch({in_session(1)});
  start();
  const auto times = renewals_until(kBegin + 20min, 1);
  ASSERT_FALSE(times.empty());
  Milliseconds before{0};
  for (const Milliseconds time : times) {
    EXPECT_LT(time - before, 30s) << "its lock has lapsed under an activity that runs";
    before = time;
  }
  EXPECT_GT(before, 19min);
}

// A renewal releases sessions that were not used for that long, so a renewal is due at that moment.
TEST_F(HoldSessions, OneIsReleasedWhenItsIdleTimeoutEnds) {
  options.session_idle_timeout = 50s;
  fetch({in_session(1)});
  now += 10s;
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 59'999ms, 1), ElementsAre(15s, 30s, 45s));
  now += 1ms;
  EXPECT_EQ(renew_sessions(0U).idle_timeout, 50s);
  EXPECT_THAT(renewals_until(kBegin + 10min, 0), IsEmpty());
}

// The commit of a turn had the outcome, and its answer was lost: the store counts a use that the node has not heard of.
TEST_F(HoldSessions, AnOutcomeThatIsRefusedCountsAsAUse) {
  options.session_idle_timeout = 50s;
  fetch({in_session(1)});
  now += 10s;
  finish(start());
  ack(error(ProviderErrorKind::kLockLost));
  EXPECT_THAT(renewals_until(kBegin + 1min, 1), ElementsAre(15s, 30s, 45s, 60s));
}

TEST_F(HoldSessions, EachIsReleasedWhenItsOwnIdleTimeoutEnds) {
  options.worker_lock_timeout = 10s;
  options.session_idle_timeout = 10s;
  fetch({in_session(1), in_session(2, "other")});
  finish(start());
  const RunId other = start();
  ack();
  now += 3s;
  finish(other);
  ack();
  EXPECT_THAT(renewals_until(kBegin + 12'999ms, 1), ElementsAre(10s));
  EXPECT_THAT(renewals_until(kBegin + 1min, 0), ElementsAre(13s));
}

TEST_F(HoldSessions, OneThatIsUsedAgainIsReleasedLater) {
  options.session_idle_timeout = 20s;
  fetch({in_session(1)});
  finish(start());
  ack();
  now += 12s;
  fetch({in_session(2)});
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 31'999ms, 1), ElementsAre(15s, 30s)) << "not after 20 s";
  EXPECT_THAT(renewals_until(kBegin + 1min, 0), ElementsAre(32s));
}

TEST_F(HoldSessions, AFailedReleaseIsRepeated) {
  options.session_idle_timeout = 20s;
  fetch({in_session(1)});
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 19'999ms, 1), ElementsAre(15s));
  now += 1ms;
  renew_sessions(error(ProviderErrorKind::kBusy));
  EXPECT_THAT(renewals_until(kBegin + 1min, 0), ElementsAre(20s + 30'000ms / 16));
}

TEST_F(HoldSessions, AFailedRenewalIsRepeatedBeforeTheLocksEnd) {
  fetch({in_session(1)});
  start();
  collect();
  now += 15s;
  renew_sessions(error(ProviderErrorKind::kBusy));
  EXPECT_EQ(count<RenewSessions>(), 0U) << "not at once";
  ASSERT_EQ(log->find("sessions could not be renewed").size(), 1U);
  for (int tries = 1; now < kBegin + 29s; ++tries) {
    ASSERT_LT(tries, 100);
    while (count<RenewSessions>() == 0) {
      if (count<Renew>() > 0) answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{now + 30s});
      now = dispatcher().wake_at();
    }
    ASSERT_LT(now, kBegin + 30s);
    if (tries == 3) break;
    renew_sessions(error(ProviderErrorKind::kUnavailable));
  }
  renew_sessions();
  EXPECT_THAT(renewals_until(now + 20s, 1), ElementsAre(now - kBegin + 15s)) << "then as before";
}

// ---- names ----

TEST_F(HoldSessions, ANodeWithANameTakesUpTheSessionsThatItsProcessBeforeHasLeft) {
  options.worker_node_id = "node";
  const RenewSessions request = renew_sessions(2U);
  EXPECT_EQ(request.owner, "node");
  EXPECT_EQ(request.extend_for, 30s);
  fetch();
  EXPECT_THAT(renewals_until(kBegin + 31s, 2), ElementsAre(15s, 30s)) << "and keeps them without any activity";
}

TEST_F(HoldSessions, ANodeWithANameThatHasLeftNothingRestsAfterOneLook) {
  options.worker_node_id = "node";
  renew_sessions(0U);
  fetch();
  EXPECT_THAT(renewals_until(kBegin + 10min, 0), IsEmpty());
}

TEST_F(HoldSessions, ANodeWithoutANameHasNothingToTakeUp) {
  fetch();
  EXPECT_EQ(count<RenewSessions>(), 0U);
}

// ---- the end ----

TEST_F(HoldSessions, ANodeWithoutANameGivesThemUpWhenItEnds) {
  fetch({in_session(1)});
  finish(start());
  ack();
  dispatcher().drain();
  const auto [id, body] = take<RenewSessions>();
  expect_given_up(body);
  end_waits();
  EXPECT_FALSE(dispatcher().idle()) << "it has not been told to the store";
  answer(id, ProviderResult<std::size_t>(1U));
  EXPECT_TRUE(dispatcher().idle());
  EXPECT_THAT(renewals_until(kBegin + 10min, 0), IsEmpty());
}

TEST_F(HoldSessions, ANodeWithANameKeepsThemForItsNextProcess) {
  options.worker_node_id = "node";
  renew_sessions(0U);
  fetch({in_session(1)});
  finish(start());
  ack();
  dispatcher().drain();
  EXPECT_THAT(renewals_until(kBegin + 10min, 1), IsEmpty());
}

TEST_F(HoldSessions, ANodeThatHasNoneGivesNothingUp) {
  fetch({item(1)});
  finish(start());
  ack();
  dispatcher().drain();
  EXPECT_EQ(count<RenewSessions>(), 0U);
}

// The last of them may have lapsed by the store's judgement, and still be locked for a while.
TEST_F(HoldSessions, OneThatIsNotRenewedAnyMoreIsGivenUpAllTheSame) {
  fetch({in_session(1)});
  finish(start());
  ack();
  EXPECT_THAT(renewals_until(kBegin + 20s, 0), ElementsAre(15s));
  dispatcher().drain();
  expect_given_up(renew_sessions());
}

TEST_F(HoldSessions, OneWhoseActivityIsStillRunningAtTheEndIsKeptUntilThatHasEnded) {
  options.worker_lock_timeout = 2min;  // so that only the session is renewed
  fetch({in_session(1)});
  const RunId run = start();
  dispatcher().drain();
  EXPECT_THAT(renewals_until(kBegin + 40s, 1), ElementsAre(15s, 30s)) << "nobody else may serve it meanwhile";
  finish(run);
  EXPECT_EQ(count<RenewSessions>(), 0U) << "the outcome is not in the store";
  ack();
  expect_given_up(renew_sessions());
  end_waits();
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(HoldSessions, OneWhoseActivityIsStoppedAtTheEndIsGivenUpWhenThatIsGivenBack) {
  fetch({in_session(1)});
  start();
  dispatcher().drain();
  dispatcher().stop_all(now);
  stopped();
  EXPECT_EQ(count<RenewSessions>(), 0U);
  end_waits();
  give_back();
  EXPECT_FALSE(dispatcher().all_told()) << "others should not have to wait for the lock";
  expect_given_up(renew_sessions());
  EXPECT_TRUE(dispatcher().all_told());
}

// The fetch has claimed it.
TEST_F(HoldSessions, OneThatAFetchBringsAfterTheEndIsGivenUp) {
  const RequestId fetching = take<Fetch>().first;
  dispatcher().drain();
  EXPECT_EQ(count<RenewSessions>(), 0U);
  answer(fetching, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {in_session(1)}}));
  give_back();
  expect_given_up(renew_sessions());
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(HoldSessions, ARenewalThatIsUnderWayAtTheEndIsWaitedFor) {
  fetch({in_session(1)});
  finish(start());
  ack();
  collect();
  now += 15s;
  const RequestId renewal = take<RenewSessions>().first;
  dispatcher().drain();
  EXPECT_EQ(count<RenewSessions>(), 0U) << "or it might be carried out last";
  answer(renewal, ProviderResult<std::size_t>(1U));
  expect_given_up(renew_sessions());
}

// While an activity without a session goes on for a while.
class HoldSessionsNoMore : public HoldSessions, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Successful, HoldSessionsNoMore, ::testing::Bool());

TEST_P(HoldSessionsNoMore, WhatWasGivenUpIsNotRenewedAnyMore) {
  fetch({in_session(1), item(2)});
  finish(start());
  start();
  ack();
  dispatcher().drain();
  expect_given_up(renew_sessions(GetParam() ? ProviderResult<std::size_t>(1U)
                                            : ProviderResult<std::size_t>(error(ProviderErrorKind::kBusy))));
  EXPECT_THAT(renewals_until(kBegin + 10min, 0), IsEmpty());
}

TEST_F(HoldSessions, ANodeThatCannotGiveThemUpEndsAndSaysSo) {
  const RequestId fetching = take<Fetch>().first;
  dispatcher().drain();
  answer(fetching, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {in_session(1)}}));
  give_back();
  renew_sessions(error(ProviderErrorKind::kUnavailable));
  EXPECT_EQ(count<RenewSessions>(), 0U);
  EXPECT_TRUE(dispatcher().idle());
  const auto told = log->find("sessions could not be released");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].message, HasSubstr("when the locks expire"));
}

}  // namespace
}  // namespace perdure::test
