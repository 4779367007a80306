// The worker dispatcher by itself: what running activities tell of themselves, and where that goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Heartbeats : public DispatchActivities {
 protected:
  RunId run_one(WorkItem fetched) {
    fetch({std::move(fetched)});
    return start();
  }
  RunId run_one() { return run_one(item(1)); }
  void says(RunId run, Payload details = std::nullopt) { dispatcher().heartbeat(run, std::move(details), now); }
  static std::vector<std::string> details_of(const std::vector<Heartbeat>& heartbeats) {
    std::vector<std::string> details;
    for (const Heartbeat& each : heartbeats) details.push_back(each.details.value_or("nothing"));
    return details;
  }
  void fail_now(RunId run) { finish(run, ApplicationError{ApplicationErrorKind::kActivityFailed, "no luck", true}); }
};

// ---- writing them ----

TEST_F(Heartbeats, TheFirstIsWrittenAtOnceAndRenewsTheLock) {
  const RunId run = run_one();
  now += 10s;
  says(run, "\"10 %\"");
  EXPECT_THAT(beat(), ElementsAre(Heartbeat{.token = {"token 1"}, .details = "\"10 %\"", .extend_for = 30s}));
  collect();
  EXPECT_EQ(dispatcher().wake_at(), now + 15s) << "half of the lock's time from here on";
}

TEST_F(Heartbeats, TheNewestDetailsAreWrittenAtMostEveryInterval) {
  options.heartbeat_interval = 5s;
  const RunId run = run_one();
  says(run, "1");
  EXPECT_THAT(details_of(beat()), ElementsAre("1"));
  for (const char* each : {"2", "3", "4"}) {
    now += 1s;
    says(run, each);
    EXPECT_EQ(count<Beat>(), 0U);
  }
  EXPECT_EQ(dispatcher().wake_at(), kBegin + 5s);
  now = kBegin + 5s;
  EXPECT_THAT(details_of(beat()), ElementsAre("4"));
  now += 10s;
  EXPECT_EQ(count<Beat>(), 0U) << "there is nothing new";
  says(run, "5");
  EXPECT_THAT(details_of(beat()), ElementsAre("5"));
}

TEST_F(Heartbeats, OneWithoutDetailsIsNotWritten) {
  const RunId run = run_one();
  begin_watch();
  says(run);
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(dispatcher().wake_at(), kBegin + 15s);
}

TEST_F(Heartbeats, TheyAreWrittenTogetherOneWriteAtATime) {
  options.worker_concurrency = 3;
  fetch({item(1), item(2), item(3)});
  const std::vector<RunId> runs{start(), start(), start()};
  says(runs[0], "1");
  const auto [id, body] = take<Beat>();
  says(runs[0], "1 again");
  says(runs[1], "2");
  says(runs[2], "3");
  EXPECT_EQ(count<Beat>(), 0U) << "while one is under way";
  now += 15s;
  EXPECT_EQ(count<Renew>(), 1U);
  EXPECT_EQ(count<Beat>(), 0U) << "whatever else falls due";
  answer(id, std::vector<ProviderResult<Timestamp>>{now + 30s});
  EXPECT_THAT(details_of(beat()), ElementsAre("1 again", "2", "3"));
  says(runs[1], "2 again");
  EXPECT_EQ(count<Beat>(), 0U) << "it has had its turn";
  now += 1s;
  EXPECT_THAT(details_of(beat()), ElementsAre("2 again"));
}

TEST_F(Heartbeats, WhatCouldNotBeWrittenIsWrittenAtTheNextTime) {
  const RunId run = run_one();
  says(run, "1");
  beat(error(ProviderErrorKind::kBusy));
  EXPECT_EQ(count<Beat>() + count<Stop>(), 0U) << "the lock holds, and the work goes on";
  now += 1s;
  EXPECT_THAT(details_of(beat(error(ProviderErrorKind::kUnavailable))), ElementsAre("1"));
  says(run, "2");
  now += 1s;
  EXPECT_THAT(details_of(beat()), ElementsAre("2")) << "the newest";
  now += 1s;
  EXPECT_EQ(count<Beat>(), 0U);
}

TEST_F(Heartbeats, TheyDoNotKeepALockThatCannotBeRenewed) {
  const RunId run = run_one();
  while (now < kBegin + 30s) {
    says(run, "still here");
    if (count<Beat>() > 0) beat(error(ProviderErrorKind::kUnavailable));
    if (count<Renew>() > 0) {
      answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kUnavailable)});
    }
    EXPECT_EQ(count<Stop>(), 0U);
    now += 500ms;
  }
  EXPECT_EQ(stopped(), run);
  says(run, "too late");
  EXPECT_EQ(count<Beat>(), 0U);
}

TEST_F(Heartbeats, ALostLockStopsTheActivity) {
  const RunId run = run_one();
  says(run, "1");
  beat(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(stopped(), run);
  finish(run);
  EXPECT_EQ(count<Ack>() + count<GiveBack>() + count<Beat>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(Heartbeats, AFailureOfTheStoreStopsNothing) {
  const RunId run = run_one();
  says(run, "1");
  beat(error(ProviderErrorKind::kStoreFailed));
  EXPECT_EQ(count<Stop>(), 0U);
  now += 1s;
  EXPECT_THAT(details_of(beat()), ElementsAre("1"));
}

TEST_F(Heartbeats, DetailsThatTheStoreRefusesAreDropped) {
  const RunId run = run_one();
  says(run, "1");
  beat(error(ProviderErrorKind::kInvalidArgument));
  now += 1s;
  EXPECT_EQ(count<Beat>() + count<Stop>(), 0U);
  says(run, "2");
  EXPECT_THAT(details_of(beat()), ElementsAre("2"));
}

// ---- for whom nobody waits ----

TEST_F(Heartbeats, AfterTheEndTheyHaveNoEffect) {
  const RunId run = run_one();
  finish(run);
  says(run, "1");
  EXPECT_EQ(count<Beat>(), 0U);
  ack();
  says(run, "2");
  says(4'711, "3");
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(Heartbeats, OfAWithdrawnActivityTheyHaveNoEffect) {
  const RunId run = run_one();
  says(run, "1");
  dispatcher().withdrawn({.instance = "i", .execution = 1, .activity_id = 1}, now);
  EXPECT_EQ(stopped(), run);
  says(run, "2");
  EXPECT_EQ(count<Beat>(), 0U);
  finish(run);
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(Heartbeats, WhatWasNotWrittenBeforeASuccessNobodyWillAskFor) {
  const RunId run = run_one();
  says(run, "1");
  beat();
  says(run, "2");
  finish(run);
  now += 1s;
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(Heartbeats, AnAnswerThatComesBehindTheEndIsHarmless) {
  for (const auto& late :
       {ProviderResult<Timestamp>(now + 30s), ProviderResult<Timestamp>(error(ProviderErrorKind::kLockLost)),
        ProviderResult<Timestamp>(error(ProviderErrorKind::kBusy))}) {
    const RunId before = run_one();
    says(before, "1");
    const RequestId early = take<Beat>().first;
    finish(before);
    answer(early, std::vector<ProviderResult<Timestamp>>{late});  // in front of the acknowledgement's answer
    ack();
    const RunId behind = run_one();
    says(behind, "1");
    const RequestId beating = take<Beat>().first;
    finish(behind);
    ack();
    answer(beating, std::vector<ProviderResult<Timestamp>>{late});
    EXPECT_EQ(count<Stop>() + count<GiveBack>() + count<Ack>() + count<Beat>(), 0U);
    EXPECT_TRUE(dispatcher().resting());
  }
  EXPECT_EQ(log->count(LogLevel::kWarn), 0U);
}

// ---- for the next attempt ----

TEST_F(Heartbeats, AnAttemptGetsWhatTheOneBeforeLeft) {
  options.worker_concurrency = 3;
  auto again = item(1, "Work", 2);
  again.heartbeat_details = "\"of this activity\"";
  auto both = retried(3, "\"of the activity before\"");
  both.heartbeat_details = "\"of this activity\"";
  fetch({again, retried(2, "\"of the activity before\""), both});
  std::map<EventId, Payload> told;
  for (int i = 0; i < 3; ++i) {
    auto [id, body] = take<Start>();
    told[body.about.activity_id] = body.about.progress;
    answer(id, Done());
  }
  EXPECT_EQ(told[1], "\"of this activity\"");
  EXPECT_EQ(told[2], "\"of the activity before\"");
  EXPECT_EQ(told[3], "\"of this activity\"") << "the newer of the two";
}

TEST_F(Heartbeats, AFirstAttemptGetsNothing) {
  fetch({item(1)});
  EXPECT_EQ(take<Start>().second.about.progress, std::nullopt);
}

TEST_F(Heartbeats, AFailureCarriesTheNewestDetailsWrittenOrNot) {
  const RunId run = run_one();
  says(run, "1");
  beat();
  says(run, "2");
  fail_now(run);
  EXPECT_EQ(count<Beat>(), 0U) << "the failure says it";
  EXPECT_EQ(progress_of(ack().at(0)), "2");
}

TEST_F(Heartbeats, AFailureWithoutDetailsPassesOnWhatItWasTold) {
  RunId run = run_one(retried(1, "\"half\""));
  says(run);
  fail_now(run);
  EXPECT_EQ(progress_of(ack().at(0)), "\"half\"");
  run = run_one(retried(2, "\"half\""));
  says(run, "\"more\"");
  fail_now(run);
  EXPECT_EQ(progress_of(ack().at(0)), "\"more\"");
  run = run_one(item(3));
  fail_now(run);
  EXPECT_EQ(progress_of(ack().at(0)), std::nullopt);
}

TEST_F(Heartbeats, ATimeoutCarriesThemToo) {
  const RunId run = run_one(item(1, "Copy", 1, {.start_to_close = 10s, .schedule_to_start = {}, .heartbeat = 5s}));
  now += 4s;
  says(run, "1");
  beat();
  now += 5s;
  EXPECT_EQ(progress_of(ack().at(0)), "1");
}

TEST_F(Heartbeats, TheirLimitIsThatOfPayloads) {
  options.limits.max_payload_bytes = 77;
  fetch({item(1)});
  EXPECT_EQ(take<Start>().second.about.max_payload_bytes, 77U);
}

// ---- when an attempt is given back ----

class HeartbeatsOfWhatIsGivenBack : public Heartbeats {
 protected:
  // A run whose last details are in the store, but for these.
  RunId run_with_unwritten(const std::string& details) {
    const RunId run = run_one();
    says(run, "\"written\"");
    beat();
    says(run, details);
    return run;
  }
  void stop_now() {
    dispatcher().stop_all(now);
    stopped();
  }
  void come_during_a_write(const ProviderResult<Timestamp>& outcome) {
    const RunId run = run_one();
    says(run, "1");
    const RequestId beating = take<Beat>().first;
    says(run, "2");
    stop_now();
    answer(beating, std::vector<ProviderResult<Timestamp>>{outcome});
    EXPECT_EQ(count<GiveBack>(), 0U);
    EXPECT_THAT(details_of(beat()), ElementsAre("2"));
    EXPECT_EQ(give_back().size(), 1U);
  }
};

TEST_F(HeartbeatsOfWhatIsGivenBack, TheNewestDetailsAreWrittenFirst) {
  run_with_unwritten("2");
  stop_now();
  EXPECT_EQ(count<GiveBack>(), 0U);
  EXPECT_THAT(details_of(beat()), ElementsAre("2"));
  EXPECT_THAT(give_back(),
              ElementsAre(Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true}));
}

TEST_F(HeartbeatsOfWhatIsGivenBack, TheyWaitForTheWriteOfAnother) {
  fetch({item(1), item(2)});
  const RunId first = start();
  const RunId second = start();
  says(first, "1");
  const RequestId beating = take<Beat>().first;
  says(second, "2");
  dispatcher().stop_all(now);
  EXPECT_EQ(count<GiveBack>(), 0U);
  answer(beating, std::vector<ProviderResult<Timestamp>>{now + 30s});
  EXPECT_THAT(details_of(beat()), ElementsAre("2"));
  std::size_t given = 0;
  while (count<GiveBack>() > 0) given += give_back().size();
  EXPECT_EQ(given, 2U);
}

TEST_F(HeartbeatsOfWhatIsGivenBack, WhatIsSaidAfterTheStopIsNotWritten) {
  const RunId run = run_one();
  stop_now();
  says(run, "too late");
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(give_back().size(), 1U);
}

TEST_F(HeartbeatsOfWhatIsGivenBack, AWriteThatIsUnderWayIsWaitedFor) {
  const RunId run = run_one();
  says(run, "1");
  const RequestId beating = take<Beat>().first;
  stop_now();
  EXPECT_EQ(count<GiveBack>(), 0U) << "or it would find the lock gone";
  answer(beating, std::vector<ProviderResult<Timestamp>>{now + 30s});
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(give_back().size(), 1U);
}

TEST_F(HeartbeatsOfWhatIsGivenBack, WhatCameDuringAWriteIsWrittenBehindIt) {
  come_during_a_write(now + 30s);
}

TEST_F(HeartbeatsOfWhatIsGivenBack, WhatCameDuringAWriteThatFailedIsWrittenBehindIt) {
  come_during_a_write(error(ProviderErrorKind::kBusy));
}

TEST_F(HeartbeatsOfWhatIsGivenBack, WhatCameDuringAWriteThatFoundTheLockGoneIsNotWritten) {
  const RunId run = run_one();
  says(run, "1");
  const RequestId beating = take<Beat>().first;
  says(run, "2");
  stop_now();
  answer(beating, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kLockLost)});
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(give_back().size(), 1U);
}

TEST_F(HeartbeatsOfWhatIsGivenBack, AWriteThatHangsIsWaitedForWhileTheLockHolds) {
  const RunId run = run_one();
  says(run, "1");
  const RequestId beating = take<Beat>().first;
  stop_now();
  now = kBegin + 29'999ms;
  EXPECT_EQ(count<GiveBack>(), 0U);
  now = kBegin + 30s;
  EXPECT_EQ(give_back().size(), 1U);
  answer(beating, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kLockLost)});
  EXPECT_EQ(count<GiveBack>() + count<Beat>() + count<Stop>(), 0U);
}

class HeartbeatsThatCannotBeWritten : public HeartbeatsOfWhatIsGivenBack,
                                      public ::testing::WithParamInterface<ProviderErrorKind> {};
INSTANTIATE_TEST_SUITE_P(Errors, HeartbeatsThatCannotBeWritten,
                         ::testing::Values(ProviderErrorKind::kBusy, ProviderErrorKind::kLockLost,
                                           ProviderErrorKind::kStoreFailed));

TEST_P(HeartbeatsThatCannotBeWritten, DoNotHoldUpWhatIsGivenBack) {
  const RunId run = run_with_unwritten("2");
  stop_now();
  beat(error(GetParam()));
  EXPECT_EQ(count<Beat>(), 0U);
  EXPECT_EQ(give_back().size(), 1U);
  dispatcher().returned(run);
  EXPECT_EQ(count<Beat>() + count<GiveBack>(), 0U);
  EXPECT_TRUE(dispatcher().running_names().empty());
}

// ---- limits ----

TEST_F(Heartbeats, AnIntervalOfYearsDoesNotWrapIntoThePast) {
  options.heartbeat_interval = std::chrono::hours(24 * 3'652);
  const RunId run = run_one();
  says(run, "1");
  beat();
  says(run, "2");
  EXPECT_EQ(count<Beat>(), 0U);
}

}  // namespace
}  // namespace perdure::test
