// The worker dispatcher by itself: what the silence of a running activity means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::HasSubstr;

class Silence : public DispatchActivities {
 protected:
  RunId run_one(WorkItem fetched) {
    fetch({std::move(fetched)});
    return start();
  }
  void says(RunId run, Payload details = std::nullopt) { dispatcher().heartbeat(run, std::move(details), now); }
  // An attempt with this limit on its silence.
  [[nodiscard]] WorkItem speaking_within(Milliseconds silence) const {
    return item(1, "Copy", 1, {.start_to_close = {}, .schedule_to_start = {}, .heartbeat = silence});
  }
};

TEST_F(Silence, ForTooLongFailsTheAttemptAndStopsIt) {
  const RunId run = run_one(speaking_within(5s));
  begin_watch();
  EXPECT_EQ(dispatcher().wake_at(), kBegin + 5s);
  now = kBegin + 4'999ms;
  EXPECT_EQ(count<Ack>(), 0U);
  now += 1ms;
  const auto failed = application_failure(ack().at(0));
  EXPECT_EQ(failed.kind, ApplicationErrorKind::kTimedOut);
  EXPECT_TRUE(failed.retryable);
  EXPECT_THAT(failed.message, HasSubstr("'Copy'"));
  EXPECT_THAT(failed.message, HasSubstr("no heartbeat for 5000 ms"));
  EXPECT_EQ(stopped(), run);
  says(run, "I was there all the time");
  now += 5s;
  EXPECT_EQ(count<Ack>(), 0U) << "and its silence concerns nobody any more";
  finish(run);
  EXPECT_EQ(count<Ack>() + count<Beat>(), 0U) << "the first outcome counts";
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(metrics->counter_value(
                "perdure_activity_executions_total",
                {{"activity_name", "Copy"}, {"outcome", "timed_out"}, {"retry_attempt", "0"}, {"tag", "default"}}),
            1U);
}

TEST_F(Silence, ThatIsBrokenInTimeEndsNothing) {
  for (const bool with_details : {true, false}) {
    const RunId run = run_one(speaking_within(5s));
    const Timestamp begin = now;
    while (now < begin + 1h) {
      now += 4'999ms;
      if (count<Renew>() > 0) answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{now + 30s});
      says(run, with_details ? Payload("1") : Payload());
      if (count<Beat>() > 0) beat();
      ASSERT_EQ(count<Ack>() + count<Stop>(), 0U) << "after " << (now - begin).count() << " ms";
    }
    finish(run);
    EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
    now += 1h;
    EXPECT_EQ(count<Ack>() + count<Stop>(), 0U) << "it is over";
  }
}

TEST_F(Silence, IsMeasuredFromTheLastHeartbeat) {
  const RunId run = run_one(speaking_within(5s));
  now += 3s;
  says(run);
  collect();
  now += 4'999ms;
  EXPECT_EQ(count<Ack>(), 0U);
  now += 1ms;
  EXPECT_EQ(application_failure(ack().at(0)).kind, ApplicationErrorKind::kTimedOut);
}

TEST_F(Silence, ThatIsBrokenDoesNotMoveTheEndOfAnAttempt) {
  const RunId run = run_one(item(1, "Copy", 1, {.start_to_close = 10s, .schedule_to_start = {}, .heartbeat = 5s}));
  for (int second = 0; second < 10; ++second) {
    ASSERT_EQ(count<Ack>(), 0U) << second;
    now += 1s;
    says(run);
  }
  EXPECT_THAT(application_failure(ack().at(0)).message, HasSubstr("did not end within 10000 ms"));
}

TEST_F(Silence, AfterTheEndConcernsNobody) {
  const RunId run = run_one(speaking_within(5s));
  finish(run);
  const auto [id, body] = take<Ack>();
  now += 5s;
  EXPECT_EQ(count<Stop>(), 0U);
  answer(id, std::vector<ProviderResult<void>>{{}});
  EXPECT_EQ(count<Ack>(), 0U);
  EXPECT_EQ(metrics->counter_total("perdure_activity_executions_total"), 1U);
}

TEST_F(Silence, OfAnAsynchronousActivityCountsAsWell) {
  const RunId run = run_one(speaking_within(5s));
  dispatcher().returned(run);
  collect();
  now += 5s;
  EXPECT_EQ(application_failure(ack().at(0)).kind, ApplicationErrorKind::kTimedOut);
  EXPECT_EQ(stopped(), run);
}

TEST_F(Silence, ForEverDoesNotWrapIntoThePast) {
  const RunId run = run_one(speaking_within(Milliseconds::max()));
  EXPECT_EQ(count<Ack>() + count<Stop>(), 0U);
  says(run);
  EXPECT_EQ(count<Ack>() + count<Stop>(), 0U);
}

}  // namespace
}  // namespace perdure::test
