// The worker dispatcher by itself: locks, stops, timeouts and places of activities that run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using namespace perdure::runtime::worker;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunActivities : public DispatchActivities {
 protected:
  void renew(ProviderResult<Timestamp> outcome) {
    auto [id, body] = take<Renew>();
    answer(id, std::vector<ProviderResult<Timestamp>>(body.tokens.size(), outcome));
  }
  void withdraw(EventId id) { dispatcher().withdrawn({.instance = "i", .execution = 1, .activity_id = id}, now); }
  static ActivityTimeouts within(Milliseconds start_to_close) {
    return {.start_to_close = start_to_close, .schedule_to_start = {}, .heartbeat = {}};
  }
  // Moves to the next time at which something is wanted, but not beyond this one.
  void pass(Timestamp until) {
    collect();
    now = std::min(until, dispatcher().wake_at());
  }
};

// ---- locks ----

TEST_F(RunActivities, LocksAreRenewedAtHalfTime) {
  for (const Milliseconds timeout : {30'000ms, 1'000ms, 100ms, 10ms}) {  // W18: below two seconds too
    RuntimeOptions each = options;
    each.worker_lock_timeout = timeout;
    WorkerDispatcher alone(each, capabilities, "node", CapabilityFilter(),
                           [](const std::string&) { return std::make_shared<const ActivityHandler>(); });
    auto fetched = item(1);
    fetched.locked_until = kBegin + timeout;
    std::optional<Request> wanted;
    while ((wanted = alone.next(kBegin))) {
      if (std::holds_alternative<Fetch>(wanted->body)) {
        alone.answer(wanted->id, ProviderResult<WorkBatch>(WorkBatch{.now = kBegin, .items = {fetched}}), kBegin);
        fetched.token.value += " again";
        break;
      }
    }
    while (alone.next(kBegin)) {
    }
    while (alone.next(kBegin + std::min(HeldWatch::kWatchAfter, timeout / 2 - 1ms))) {  // it may be watched by then
    }
    EXPECT_EQ(alone.wake_at(), kBegin + timeout / 2) << timeout.count();
    EXPECT_FALSE(alone.next(kBegin + timeout / 2 - 1ms)) << timeout.count();
    const auto renewal = alone.next(kBegin + timeout / 2);
    ASSERT_TRUE(renewal && std::holds_alternative<Renew>(renewal->body)) << timeout.count();
    EXPECT_EQ(std::get<Renew>(renewal->body).extend_for, timeout);
  }
}

TEST_F(RunActivities, ALongActivityKeepsItsLock) {
  fetch({item(1)});
  const RunId run = start();
  while (now < kBegin + 10min) {
    if (count<Renew>() > 0) renew(now + 30s);
    EXPECT_EQ(count<Stop>(), 0U);
    pass(kBegin + 10min);
  }
  finish(run);
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
}

TEST_F(RunActivities, TransientRenewalErrorsDoNotCancel) {
  fetch({item(1)});
  const RunId run = start();
  while (now < kBegin + 27s) {  // W26: nearly until the lock ends
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kBusy));
    EXPECT_EQ(count<Stop>(), 0U);
    pass(kBegin + 27s);
  }
  // It is tried again and again, until a try succeeds.
  for (int i = 0; i < 10 && count<Renew>() == 0; ++i) pass(kBegin + 30s - 1ms);
  renew(now + 30s);
  now += 10s;
  EXPECT_EQ(count<Stop>(), 0U);
  finish(run);
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
}

TEST_F(RunActivities, ALockThatCouldNotBeRenewedInTimeIsLost) {
  fetch({item(1)});
  const RunId run = start();
  while (now < kBegin + 30s) {
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kUnavailable));
    pass(kBegin + 30s);
  }
  EXPECT_EQ(stopped(), run);
  finish(run);
  EXPECT_EQ(count<Ack>(), 0U);
}

TEST_F(RunActivities, ALockThatIsLostWhileTheStoreHangsIsLostToo) {
  fetch({item(1)});
  const RunId run = start();
  now += 15s;
  EXPECT_EQ(count<Renew>(), 1U);  // and is not answered
  now = kBegin + 30s;
  EXPECT_EQ(stopped(), run);
}

// "What must never happen: ... a silent drop."
TEST_F(RunActivities, AnOutcomeThatCouldNotBeStoredInTimeIsNotDroppedSilently) {
  fetch({item(1)});
  finish(start());
  while (now < kBegin + 30s) {
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kUnavailable));
    if (count<Ack>() > 0) ack(error(ProviderErrorKind::kUnavailable));
    pass(kBegin + 30s);
  }
  EXPECT_THAT(give_back(),
              ElementsAre(Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true}));
  collect();
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(log->count(LogLevel::kWarn), 1U) << "the activity will run again, and somebody should know why";
}

TEST_F(RunActivities, APermanentRenewalErrorStopsTheActivity) {
  fetch({item(1)});
  const RunId run = start();
  collect();
  now += 15s;
  renew(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(stopped(), run);
  finish(run);
  EXPECT_EQ(count<Ack>() + count<GiveBack>() + count<Renew>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
  EXPECT_EQ(log->count(LogLevel::kWarn) + log->count(LogLevel::kError), 0U);
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
}

// ---- stops ----

TEST_F(RunActivities, WhatIsWithdrawnIsStoppedAtOnceAndItsResultDropped) {
  fetch({item(1), item(2)});
  std::map<EventId, RunId> runs;
  for (int i = 0; i < 2; ++i) {
    auto [id, body] = take<Start>();
    runs[body.about.activity_id] = body.run;
    answer(id, Done());
  }
  withdraw(1);
  EXPECT_EQ(stopped(), runs[1]);
  EXPECT_EQ(count<Stop>(), 0U) << "the other goes on";
  finish(runs[1]);
  EXPECT_EQ(count<Ack>(), 0U);
  finish(runs[2]);
  EXPECT_EQ(ack().size(), 1U);
  EXPECT_EQ(log->count(LogLevel::kWarn) + log->count(LogLevel::kError), 0U);
  EXPECT_EQ(metrics->counter_total("perdure_activity_infrastructure_errors_total"), 0U);
}

TEST_F(RunActivities, WhatIsWithdrawnElsewhereConcernsNobody) {
  fetch({item(1)});
  start();
  withdraw(2);
  dispatcher().withdrawn({.instance = "other", .execution = 1, .activity_id = 1}, now);
  dispatcher().withdrawn({.instance = "i", .execution = 2, .activity_id = 1}, now);
  EXPECT_EQ(count<Stop>(), 0U);
}

TEST_F(RunActivities, AWithdrawalReachesTheLaterOfTwoRunsOfOneActivity) {
  fetch({item(1)});
  const RunId lost = start();
  // Its lock was lost, the node got the activity again, and only then it hears of the loss.
  WorkItem again = item(1, "Work", 2);
  again.token = {"another token"};
  fetch({again});
  const RunId current = start();
  now += 15s;
  const auto [id, renewal] = take<Renew>();
  std::vector<ProviderResult<Timestamp>> outcomes;
  for (const LockToken& token : renewal.tokens) {
    outcomes.push_back(token == again.token ? ProviderResult<Timestamp>(now + 30s)
                                            : error(ProviderErrorKind::kLockLost));
  }
  answer(id, outcomes);
  EXPECT_EQ(stopped(), lost);
  withdraw(1);
  EXPECT_EQ(stopped(), current);
}

TEST_F(RunActivities, AWithdrawalAfterTheOutcomeIsHarmless) {
  fetch({item(1)});
  finish(start());
  withdraw(1);
  ack(error(ProviderErrorKind::kLockLost));
  withdraw(1);
  EXPECT_EQ(count<Stop>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
}

// A stop that overtakes its start would be lost, and the activity run for nobody until its next renewal.
TEST_F(RunActivities, WhatIsWithdrawnBeforeItsStartNeverRunsUnstopped) {
  fetch({item(1)});
  withdraw(1);
  collect();
  std::vector<std::string> order;
  for (const Request& each : open) {
    if (std::holds_alternative<Start>(each.body)) order.emplace_back("start");
    if (std::holds_alternative<Stop>(each.body)) order.emplace_back("stop");
  }
  EXPECT_THAT(order, ::testing::AnyOf(ElementsAre(), ElementsAre("stop"), ElementsAre("start", "stop")));
}

// The thread that carries a start out may fall behind the activity itself.
TEST_F(RunActivities, AStopIsNotLostHoweverLateTheStartIsAnswered) {
  fetch({item(1)});
  const auto [id, body] = take<Start>();
  dispatcher().returned(body.run);  // an asynchronous one, which waits for its completion
  withdraw(1);
  collect();
  answer(id, Done());
  ASSERT_EQ(count<Stop>(), 1U);
  EXPECT_EQ(stopped(), body.run);
}

// ---- places ----

TEST_F(RunActivities, ThePlaceOfAnActivityThatIgnoresItsStopIsGivenToAnother) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const RunId run = start();
  withdraw(1);
  stopped();
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U);
  now += 9'999ms;
  EXPECT_EQ(count<ReplaceThread>(), 0U);
  now += 1ms;
  const auto [id, body] = take<ReplaceThread>();
  EXPECT_EQ(body.run, run);
  answer(id, Done());
  fetch({item(2)});
  finish(start());
  ack();
  dispatcher().returned(run);
  EXPECT_TRUE(dispatcher().running_names().empty());
  EXPECT_EQ(take<Fetch>().second.fetch.limit, 1U) << "its late return frees nothing twice";
}

// A thread that does not have it yet could not be replaced.
TEST_F(RunActivities, TheGraceOfAnActivityThatIsBeingStartedBeginsWithItsStart) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const auto [id, body] = take<Start>();
  withdraw(1);
  now += 10s;
  EXPECT_EQ(count<ReplaceThread>(), 0U);
  answer(id, Done());
  EXPECT_EQ(stopped(), body.run);
  now += 9'999ms;
  EXPECT_EQ(count<ReplaceThread>(), 0U);
  now += 1ms;
  EXPECT_EQ(take<ReplaceThread>().second.run, body.run);
}

TEST_F(RunActivities, AnActivityThatStopsInTimeKeepsItsThread) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const RunId run = start();
  withdraw(1);
  stopped();
  now += 9s;
  finish(run);
  now += 10s;
  EXPECT_EQ(count<ReplaceThread>(), 0U);
  EXPECT_EQ(count<Fetch>(), 1U);
  EXPECT_EQ(log->count(LogLevel::kWarn), 0U);
}

TEST_F(RunActivities, NotMorePlacesAreReplacedThanThereAre) {
  options.worker_concurrency = 1;
  std::vector<RunId> stuck;
  for (EventId id = 1; id <= 2; ++id) {
    fetch({item(id)});
    stuck.push_back(start());
    withdraw(id);
    stopped();
    now += 10s;
    EXPECT_EQ(count<ReplaceThread>(), id == 1 ? 1U : 0U);
    if (id == 1) answer(take<ReplaceThread>().first, Done());
  }
  EXPECT_EQ(count<Fetch>() + count<Await>(), 0U) << "the second stuck thread keeps its place";
  finish(stuck[1]);
  EXPECT_EQ(count<Fetch>(), 1U);
}

TEST_F(RunActivities, AGracePeriodForEverDoesNotWrapIntoThePast) {
  options.activity_cancellation_grace_period = Milliseconds::max();
  try {
    options.check();
  } catch (const std::invalid_argument&) {
    return;  // as good
  }
  fetch({item(1)});
  start();
  withdraw(1);
  stopped();
  now += 24h;
  EXPECT_EQ(count<ReplaceThread>(), 0U);
}

// ---- timeouts ----

TEST_F(RunActivities, AnActivityThatTakesTooLongFailsAndIsStopped) {
  fetch({item(1, "Slow", 1, within(1s))});
  const RunId run = start();
  begin_watch();
  EXPECT_EQ(dispatcher().wake_at(), kBegin + 1s);
  now = kBegin + 1s;
  const auto failed = application_failure(ack().at(0));
  EXPECT_EQ(failed.kind, ApplicationErrorKind::kTimedOut);
  EXPECT_TRUE(failed.retryable) << "an expiry counts as a failed attempt, which may be repeated";
  EXPECT_THAT(failed.message, HasSubstr("'Slow'"));
  EXPECT_EQ(stopped(), run);
  finish(run);
  EXPECT_EQ(count<Ack>(), 0U) << "the first outcome counts";
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(RunActivities, AnActivityInTimeIsNotTimedOutLater) {
  fetch({item(1, "Quick", 1, within(1s))});
  const RunId run = start();
  collect();
  now += 999ms;
  finish(run);
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
  now += 1s;
  EXPECT_EQ(count<Ack>() + count<Stop>(), 0U);
}

TEST_F(RunActivities, ATimeoutForEverDoesNotWrapIntoThePast) {
  fetch({item(1, "Patient", 1, within(Milliseconds::max()))});
  const RunId run = start();
  collect();
  EXPECT_EQ(count<Ack>() + count<Stop>(), 0U);
  finish(run);
  EXPECT_EQ(ack().at(0).completion->kind, MessageKind::kActivityCompleted);
}

// ---- asynchronous activities ----

TEST_F(RunActivities, AnAsynchronousActivityOccupiesNoThread) {
  options.worker_concurrency = 1;
  fetch({item(1)});
  const RunId run = start();
  dispatcher().returned(run);
  fetch({item(2)});
  const RunId other = start();
  dispatcher().ended(run, Payload("1"), now);
  EXPECT_EQ(ack().at(0).token.value, "token 1");
  finish(other);
  EXPECT_EQ(ack().at(0).token.value, "token 2");
  EXPECT_TRUE(dispatcher().running_names().empty());
}

TEST_F(RunActivities, NoMoreAsynchronousActivitiesAreOutThanAllowed) {
  options.worker_concurrency = 2;
  options.max_async_activities = 5;
  std::vector<RunId> on_threads;
  std::vector<RunId> out;
  EventId next = 1;
  // They come one by one, and none returns before there is no room for another.
  for (;;) {
    if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
    if (count<Fetch>() > 0) {
      fetch({item(next++)});
      on_threads.push_back(start());
    } else if (!on_threads.empty()) {
      for (const RunId each : std::exchange(on_threads, {})) {
        dispatcher().returned(each);
        out.push_back(each);
      }
    } else {
      break;
    }
    ASSERT_LE(out.size(), 5U) << "a cap is a cap";
  }
  EXPECT_EQ(out.size(), 5U);
  dispatcher().ended(out[0], Payload("1"), now);
  EXPECT_EQ(take<Fetch>().second.fetch.limit, 1U) << "one has ended: there is room for one";
}

TEST_F(RunActivities, AnAsynchronousActivityIsStoppedLikeAnyOther) {
  fetch({item(1)});
  const RunId run = start();
  dispatcher().returned(run);
  withdraw(1);
  EXPECT_EQ(stopped(), run);
  now += 10s;
  EXPECT_EQ(count<ReplaceThread>(), 0U) << "it has no thread";
  dispatcher().ended(run, Payload("1"), now);
  EXPECT_EQ(count<Ack>(), 0U);
  EXPECT_TRUE(dispatcher().resting());
}

// "Stop is requested when the result is no longer wanted."
TEST_F(RunActivities, AnAsynchronousActivityThatTakesTooLongIsStoppedToo) {
  fetch({item(1, "Slow", 1, within(1s))});
  const RunId run = start();
  dispatcher().returned(run);
  collect();
  now += 1s;
  EXPECT_EQ(application_failure(ack().at(0)).kind, ApplicationErrorKind::kTimedOut);
  ASSERT_EQ(count<Stop>(), 1U);
  EXPECT_EQ(stopped(), run);
}

TEST_F(RunActivities, AnAsynchronousActivityThatTakesTooLongGivesItsPlaceBack) {
  options.worker_concurrency = 1;
  options.max_async_activities = 1;
  for (EventId id = 1; id <= 3; ++id) {
    ASSERT_EQ(count<Fetch>(), 1U) << "after " << id - 1 << " of them";
    fetch({item(id, "Slow", 1, within(1s))});
    const RunId run = start();
    dispatcher().returned(run);
    collect();
    now += 1s;
    ack();
    dispatcher().ended(run, Payload("1"), now);
  }
}

}  // namespace
}  // namespace perdure::test
