// The worker dispatcher by itself: fetching, starting, acknowledging, draining, with answers that are made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/reserved_names.h"
#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- looking for work ----

TEST_F(DispatchActivities, FetchesAsManyAsThereAreThreads) {
  options.worker_concurrency = 3;
  options.worker_tag_filter = TagFilter::tags({"gpu"});
  const auto [id, body] = take<Fetch>();
  EXPECT_EQ(body.fetch.limit, 3U);
  EXPECT_EQ(body.fetch.lock_timeout, 30s);
  EXPECT_TRUE(body.fetch.tags.matches("gpu"));
  EXPECT_FALSE(body.fetch.tags.takes_untagged());
  ASSERT_TRUE(body.fetch.session);
  EXPECT_EQ(body.fetch.session->owner, "node");
  EXPECT_EQ(body.fetch.session->max_sessions, 10U);
  EXPECT_EQ(body.fetch.suspects.from_attempts, 5U);
  answer(id, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {item(1)}}));
  EXPECT_EQ(take<Await>().second.fetch.limit, 2U);
}

TEST_F(DispatchActivities, AFullNodeLooksForNothing) {
  fetch({item(1), item(2)});
  const RunId run = start();
  start();
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
  finish(run);
  EXPECT_EQ(take<Fetch>().second.fetch.limit, 1U) << "the thread is free, whatever becomes of the outcome";
}

TEST_F(DispatchActivities, PollsAStoreWithoutWakeUps) {
  capabilities.wake_ups = false;
  fetch();
  EXPECT_EQ(count<Await>() + count<Fetch>(), 0U);
  EXPECT_EQ(dispatcher().wake_at(), now + 100ms);
  now += 100ms;
  EXPECT_EQ(count<Fetch>(), 1U);
}

TEST_F(DispatchActivities, EveryNodeFetchesTheEnginesOwnActivities) {
  const TagFilter full = TagFilter::tags({"1", "2", "3", "4", "5"});
  for (const TagFilter& filter : {TagFilter::none(), TagFilter::untagged(), full, TagFilter::any()}) {
    options.worker_tag_filter = filter;
    const WorkFetch fetch = work_fetch(options, "node", CapabilityFilter());
    EXPECT_TRUE(fetch.tags.matches(std::string(kEngineTag)));
    EXPECT_EQ(fetch.tags.matches(std::nullopt), filter.matches(std::nullopt));
    EXPECT_EQ(fetch.tags.matches("5"), filter.matches("5"));
    EXPECT_EQ(fetch.tags.matches("6"), filter.matches("6"));
  }
}

TEST_F(DispatchActivities, ANodeWithoutTagsFetchesNothingElse) {
  options.worker_tag_filter = TagFilter::none();
  EXPECT_EQ(take<Fetch>().second.fetch.tags, TagFilter::tags({std::string(kEngineTag)}));
}

TEST_F(DispatchActivities, FetchErrorsAreAnsweredWithPatience) {
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 100; ++i) {
    const Timestamp failed_at = now;
    answer(take<Fetch>().first, ProviderResult<WorkBatch>(error(ProviderErrorKind::kBusy)));
    while (count<Fetch>() == 0) now = dispatcher().wake_at();
    rests.push_back((now - failed_at).count());
  }
  EXPECT_THAT(std::vector<std::int64_t>(rests.begin(), rests.begin() + 6),
              ElementsAre(200, 400, 800, 1600, 3000, 3000));
  EXPECT_EQ(rests.back(), 3'000) << "W15: it neither overflows nor spins";
  answer(take<Fetch>().first, ProviderResult<WorkBatch>(error(ProviderErrorKind::kStoreFailed)));
  const Timestamp failed_at = now;
  while (count<Fetch>() == 0) now = dispatcher().wake_at();
  EXPECT_EQ(now - failed_at, 3s) << "whatever the error is";
}

TEST_F(DispatchActivities, AtMostOneSuspectIsInFlight) {
  fetch({item(1, "Work", 6)});
  const RunId run = start();
  const auto [id, body] = take<Fetch>();
  EXPECT_FALSE(body.fetch.suspects.admit);
  answer(id, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {}}));
  const auto [wait, await] = take<Await>();
  EXPECT_FALSE(await.fetch.suspects.admit);
  finish(run);
  ack();
  answer(take<EndWait>().first, Done());
  answer(wait, ProviderResult<bool>(false));
  EXPECT_TRUE(take<Fetch>().second.fetch.suspects.admit);
}

TEST_F(DispatchActivities, SessionsThatOthersLeftBehindAreSweptUp) {
  upkeep = true;
  while (count<CleanupSessions>() == 0) {
    if (count<ReadGauges>() > 0) answer(take<ReadGauges>().first, Gauges());
    now = dispatcher().wake_at();
  }
  answer(take<CleanupSessions>().first, ProviderResult<std::size_t>(0U));
  EXPECT_EQ(count<CleanupSessions>(), 0U);
}

// "never without a metrics sink"
TEST_F(DispatchActivities, GaugesAreNotReadForNobody) {
  upkeep = true;
  options.metrics = Metrics();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(count<ReadGauges>(), 0U);
    if (count<CleanupSessions>() > 0) answer(take<CleanupSessions>().first, ProviderResult<std::size_t>(0U));
    now += 30s;
  }
}

// ---- starting and ending ----

TEST_F(DispatchActivities, AnActivityIsStartedWithAllThatIsKnownOfIt) {
  auto fetched = item(7, "Charge", 2);
  fetch({fetched});
  const auto [id, body] = take<Start>();
  EXPECT_EQ(body.about.instance_id, "i");
  EXPECT_EQ(body.about.execution_id, 1U);
  EXPECT_EQ(body.about.orchestration_name, "Flow");
  EXPECT_EQ(body.about.orchestration_version, (SemanticVersion{1, 2, 3}));
  EXPECT_EQ(body.about.activity_name, "Charge");
  EXPECT_EQ(body.about.activity_id, 7U);
  EXPECT_EQ(body.about.attempt, 2U);
  EXPECT_THAT(body.about.worker_id, HasSubstr("node"));
  EXPECT_EQ(body.input, "\"in\"");
  EXPECT_THAT(dispatcher().running_names(), ElementsAre("Charge"));
}

TEST_F(DispatchActivities, AnOutcomeIsAcknowledgedWithItsCompletion) {
  fetch({item(7)});
  finish(start());
  const auto acks = ack();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks[0].token.value, "token 7");
  EXPECT_EQ(acks[0].completion->kind, MessageKind::kActivityCompleted);
  EXPECT_EQ(acks[0].completion->instance, "i");
  EXPECT_EQ(acks[0].completion->execution, ExecutionId{1});
  const MessageBody body = decode_message(*acks[0].completion).body;
  EXPECT_EQ(std::get<messages::ActivityCompleted>(body), (messages::ActivityCompleted{7, "\"out\""}));
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(metrics->counter_value(
                "perdure_activity_executions_total",
                {{"activity_name", "Work"}, {"outcome", "success"}, {"retry_attempt", "0"}, {"tag", "default"}}),
            1U);
}

TEST_F(DispatchActivities, AFailureIsAcknowledgedAsSuch) {
  fetch({item(7)});
  const ApplicationError thrown{ApplicationErrorKind::kActivityFailed, "card declined", true};
  finish(start(), thrown);
  EXPECT_EQ(application_failure(ack().at(0)), thrown);
}

TEST_F(DispatchActivities, AResultBeyondTheLimitIsAFailureThatNamesIt) {
  options.limits.max_payload_bytes = 4;
  fetch({item(1), item(2)});
  const RunId first = start();
  const RunId second = start();
  finish(first, Payload("1234"));
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
  finish(second, Payload("12345"));
  const auto failed = application_failure(ack().at(0));
  EXPECT_EQ(failed.kind, ApplicationErrorKind::kLimitExceeded);
  EXPECT_THAT(failed.message, HasSubstr("max_payload_bytes"));
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(metrics->counter_value(
                "perdure_activity_executions_total",
                {{"activity_name", "Work"}, {"outcome", "success"}, {"retry_attempt", "0"}, {"tag", "default"}}),
            1U)
      << "what failed is not counted as a success";
}

TEST_F(DispatchActivities, WhatNobodyStartedInTimeFailsWithoutRunning) {
  auto expired = item(1, "Slow", 1, {.start_to_close = {}, .schedule_to_start = 5s, .heartbeat = {}});
  expired.expired = true;
  fetch({expired});
  EXPECT_EQ(count<Start>(), 0U);
  const auto failed = application_failure(ack().at(0));
  EXPECT_EQ(failed.kind, ApplicationErrorKind::kTimedOut);
  EXPECT_THAT(failed.message, HasSubstr("'Slow'"));
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(DispatchActivities, WhatWasFetchedTooOftenEndsAsPoison) {
  fetch({item(1, "Work", 10), item(2, "Work", 11)});
  EXPECT_EQ(count<Start>(), 1U) << "the tenth attempt is still made";
  const ErrorDetails error = failure(ack().at(0));
  ASSERT_TRUE(std::holds_alternative<PoisonError>(error));
  const auto& poison = std::get<PoisonError>(error);
  EXPECT_EQ(poison.subject, PoisonSubject::kActivity);
  EXPECT_EQ(poison.activity_name, "Work");
  EXPECT_EQ(poison.activity_id, 2U);
  EXPECT_EQ(poison.attempts, 11U);
  EXPECT_EQ(poison.max_attempts, 10U);
  EXPECT_EQ(metrics->counter_total("perdure_activity_poison_total"), 1U);
}

// Until the store has listed its nodes, the run is neither acknowledged nor forgotten.
TEST_F(DispatchActivities, WhatNoNodeHasCodeForEndsAsPoisonThatNamesTheNodes) {
  fetch({item(1, "Unknown", 11), item(2, "Unknown", 11)});
  EXPECT_EQ(count<Ack>(), 0U);
  EXPECT_FALSE(dispatcher().resting());
  NodeInfo other;
  other.id = "other";
  answer(take<ListNodes>().first, KnownNodes{{other}});
  const std::vector<WorkAck> acks = ack();
  ASSERT_EQ(acks.size(), 2U);
  for (const WorkAck& each : acks) {
    const auto poison = std::get<PoisonError>(failure(each));
    EXPECT_EQ(poison.attempts, 11U);
    EXPECT_EQ(poison.message,
              "not registered: activity 'Unknown', last on node 'node'; nodes of the store: 'other'; register it on a "
              "node that serves this store");
  }
  fetch();
  collect();
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(DispatchActivities, WhatIsNotRegisteredHereIsGivenBackWithADelay) {
  fetch({item(1, "Unknown", 3)});
  EXPECT_EQ(count<Start>(), 0U);
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token 1"}, .delay = 4s, .ignore_attempt = false}));
  EXPECT_EQ(log->count(LogLevel::kWarn), 1U);
  EXPECT_TRUE(dispatcher().resting());
}

// The store would treat a counted fetch as a start, and the timeout would no longer apply.
TEST_F(DispatchActivities, AnUnregisteredActivityIsNotCountedWhileItsStartIsTimed) {
  const ActivityTimeouts timed{.start_to_close = {}, .schedule_to_start = 5min, .heartbeat = {}};
  const auto delay_at_age = [&](Milliseconds age) {
    auto unknown = item(1, "Unknown", 1, timed);
    unknown.scheduled_at = now - age;
    fetch({unknown});
    const auto given = give_back();
    EXPECT_EQ(given.size(), 1U);
    EXPECT_TRUE(given.front().ignore_attempt);
    return given.front().delay;
  };
  EXPECT_EQ(delay_at_age(0s), 1s);
  EXPECT_EQ(delay_at_age(1s), 1s);
  EXPECT_EQ(delay_at_age(16s), 16s) << "it grows with the age";
  EXPECT_EQ(delay_at_age(2min), 60s) << "up to its maximum";
  EXPECT_EQ(delay_at_age(5min - 7s), 7s) << "and ends with the timeout";
  EXPECT_EQ(delay_at_age(5min + 1s), 0s);
}

TEST_F(DispatchActivities, AnUndecodableActivityIsNotCountedWhileItsStartIsTimed) {
  auto garbage = item(1, "Work", 1, {.start_to_close = {}, .schedule_to_start = 5min, .heartbeat = {}});
  garbage.scheduled_at = now;
  garbage.record.body = "\x01";
  fetch({garbage});
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token 1"}, .delay = 1s, .ignore_attempt = true}));
}

// Its code has run, and the timeout no longer applies: only the attempt count can end it.
TEST_F(DispatchActivities, AnUnregisteredActivityThatHasRunIsCounted) {
  auto again = item(1, "Unknown", 2, {.start_to_close = {}, .schedule_to_start = 5min, .heartbeat = {}});
  again.scheduled_at = now;
  fetch({again});
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token 1"}, .delay = 2s, .ignore_attempt = false}));
}

TEST_F(DispatchActivities, WhatCannotBeDecodedIsGivenBackAndCounts) {
  auto garbage = item(1);
  garbage.record.body = "\x01";
  auto foreign = item(2);
  foreign.record.kind = MessageKind::kTimerFired;  // W16
  fetch({garbage, foreign});
  EXPECT_EQ(count<Start>(), 0U);
  const auto given = give_back();
  ASSERT_EQ(given.size(), 2U);
  for (const Abandon& each : given) EXPECT_FALSE(each.ignore_attempt) << "so that it becomes poison one day";
}

// ---- acknowledging ----

TEST_F(DispatchActivities, ATransientAckErrorIsRetriedWhileTheLockHolds) {
  fetch({item(1)});
  finish(start());
  const auto first = ack(error(ProviderErrorKind::kBusy));
  int tries = 0;
  while (now < kBegin + 5min) {  // W25: the lock is renewed all the while, so it holds
    EXPECT_EQ(count<Start>() + count<GiveBack>(), 0U);
    if (count<Renew>() > 0) answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{now + 30s});
    if (count<Ack>() > 0) {
      ++tries;
      EXPECT_EQ(ack(error(ProviderErrorKind::kUnavailable)), first);
    }
    now = dispatcher().wake_at();
  }
  EXPECT_GT(tries, 5);
  while (count<Ack>() == 0) now = dispatcher().wake_at();
  EXPECT_EQ(ack(), first);
  while (count<Renew>() > 0) answer(take<Renew>().first, std::vector<ProviderResult<Timestamp>>{now + 30s});
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(metrics->counter_total("perdure_activity_executions_total"), 1U);
}

TEST_F(DispatchActivities, ALateResultIsDroppedWithoutAFuss) {
  fetch({item(1)});
  finish(start());
  ack(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(count<Ack>() + count<GiveBack>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(log->count(LogLevel::kWarn) + log->count(LogLevel::kError), 0U);  // W23
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
}

// ---- the end ----

TEST_F(DispatchActivities, DrainingFinishesWhatRunsAndTakesNothingNew) {
  fetch({item(1)});
  const RunId run = start();
  const RequestId wait = take<Await>().first;
  dispatcher().drain();
  EXPECT_EQ(count<Stop>(), 0U);
  finish(run);
  ack();
  answer(take<EndWait>().first, Done());
  answer(wait, ProviderResult<bool>(true));
  while (count<EndWait>() > 0) answer(take<EndWait>().first, Done());
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(DispatchActivities, AWaitThatHasNotBegunYetIsEndedToo) {
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

TEST_F(DispatchActivities, WhatAFetchBringsAfterTheEndIsGivenBack) {
  const RequestId fetching = take<Fetch>().first;
  dispatcher().drain();
  answer(fetching, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = {item(1)}}));
  EXPECT_EQ(count<Start>(), 0U);
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true}));
  EXPECT_TRUE(dispatcher().idle());
}

// "Begins nothing new": what was fetched and has not been started is not started any more.
TEST_F(DispatchActivities, WhatHasNotBegunIsGivenBackWhenDraining) {
  fetch({item(1)});
  dispatcher().drain();
  EXPECT_EQ(count<Start>(), 0U);
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true}));
  EXPECT_TRUE(dispatcher().idle());
}

TEST_F(DispatchActivities, WhatRunsTooLongIsStoppedAndGivenBackWithoutCounting) {
  fetch({item(1), item(2)});
  const RunId first = start();
  start();
  dispatcher().drain();
  dispatcher().stop_all(now);
  EXPECT_NE(stopped(), stopped());
  auto given = give_back();
  if (given.size() == 1) given.push_back(give_back().front());
  EXPECT_THAT(given, ::testing::UnorderedElementsAre(
                         Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true},
                         Abandon{.token = {"token 2"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true}));
  finish(first);
  EXPECT_EQ(count<Ack>(), 0U) << "it is not ours any more";
  EXPECT_FALSE(dispatcher().idle()) << "one thread has not come back";
  EXPECT_EQ(dispatcher().running_names().size(), 1U);
}

TEST_F(DispatchActivities, WhatHasNotBegunDoesNotBeginAfterItsStop) {
  fetch({item(1)});
  dispatcher().drain();
  dispatcher().stop_all(now);
  EXPECT_EQ(count<Start>(), 0U) << "it is given back: another node may run it now";
  EXPECT_EQ(count<GiveBack>(), 1U);
}

}  // namespace
}  // namespace perdure::test
