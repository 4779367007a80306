// The worker dispatcher and a failing store: the cause of a failure, repeated calls, and counted attempts.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include "runtime/worker_dispatch.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WorkerStoreFailures : public DispatchActivities {
 protected:
  using Ack = worker::Ack;
  using Await = worker::Await;
  using Fetch = worker::Fetch;
  using GiveBack = worker::GiveBack;
  using Renew = worker::Renew;
  using Start = worker::Start;
  using Stop = worker::Stop;

  void renew(ProviderResult<Timestamp> outcome) {
    auto [id, body] = take<Renew>();
    answer(id, std::vector<ProviderResult<Timestamp>>(body.tokens.size(), outcome));
  }
  // Lets time pass until it wants to acknowledge something.
  void wait_for_ack() {
    while (count<Ack>() == 0) {
      while (count<Renew>() > 0) renew(now + 30s);
      while (count<Fetch>() > 0) fetch();
      if (count<Ack>() == 0) now = std::max(now, dispatcher().wake_at());
    }
  }
  static std::string failure_of(const WorkAck& ack) {
    const Message message = decode_message(ack.completion.value());
    const auto* failed = std::get_if<messages::ActivityFailed>(&message.body);
    return failed ? describe(failed->error) : "no failure";
  }
};

TEST_F(WorkerStoreFailures, AnOutcomeIsRepeatedForAsLongAsItsLockIsRenewed) {
  fetch({item(1)});
  finish(start());
  const auto first = ack(error(ProviderErrorKind::kStoreFailed));
  int tries = 0;
  while (now < kBegin + 5min) {
    wait_for_ack();
    ASSERT_EQ(ack(error(ProviderErrorKind::kDiskFull)), first);
    ++tries;
    ASSERT_EQ(count<GiveBack>(), 0U);
  }
  EXPECT_GT(tries, 50);
  wait_for_ack();
  EXPECT_EQ(ack(), first);
  EXPECT_EQ(metrics->counter_total(metric::kActivityPoison.name), 0U);
  EXPECT_EQ(count<GiveBack>() + count<Start>(), 0U);
}

TEST_F(WorkerStoreFailures, AnAttemptWhoseLockEndedMeanwhileIsTakenBackUntilTheStoreTakesIt) {
  fetch({item(1)});
  const RunId run = start();
  while (now < kBegin + 30s) {
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
    collect();
    now = std::min(dispatcher().wake_at(), kBegin + 30s);
  }
  EXPECT_EQ(take<Stop>().second.run, run);
  const Abandon uncounted{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true};
  for (int i = 0; i < 20; ++i) {
    while (count<GiveBack>() == 0) now = dispatcher().wake_at();
    auto [id, body] = take<GiveBack>();
    EXPECT_THAT(body.abandons, ElementsAre(uncounted));
    answer(id, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kStoreFailed)});
    EXPECT_EQ(count<Fetch>(), 0U) << "it may come again, and would count as tried";
  }
  while (count<GiveBack>() == 0) now = dispatcher().wake_at();
  EXPECT_THAT(give_back(), ElementsAre(uncounted));
}

// Two places, and both are occupied after the outage: neither an acknowledgement nor an empty fetch will come for
// hours.
TEST_F(WorkerStoreFailures, AnAcceptedAbandonShowsThatTheStoreWorksAgain) {
  options.worker_concurrency = 2;
  fetch({item(1), item(2)});
  finish(start());
  start();
  while (now < kBegin + 30s) {
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
    if (count<Ack>() > 0) ack(error(ProviderErrorKind::kStoreFailed));
    collect();
    now = std::min(dispatcher().wake_at(), kBegin + 30s);
  }
  EXPECT_EQ(metrics->gauge_value(metric::kStoreAvailable.name), 0.0);
  while (count<GiveBack>() == 0) now = dispatcher().wake_at();
  while (count<GiveBack>() > 0) give_back();
  EXPECT_EQ(metrics->gauge_value(metric::kStoreAvailable.name), 1.0);
}

// The node ends while the store refuses outcomes and accepts abandons.
TEST_F(WorkerStoreFailures, AtShutdownAnOutcomeThatCannotBeStoredIsNoAttempt) {
  options.worker_concurrency = 2;
  fetch({item(1), item(2)});
  finish(start());
  ack(error(ProviderErrorKind::kStoreFailed));
  finish(start());
  now += 10ms;
  const RequestId in_progress = take<Ack>().first;
  dispatcher().stop_all(now);
  const auto uncounted = [](const std::string& token) {
    return Abandon{.token = {token}, .delay = 0ms, .ignore_attempt = true, .has_begun = true};
  };
  EXPECT_THAT(give_back(), ElementsAre(uncounted("token 1")));
  answer(in_progress, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kStoreFailed)});
  EXPECT_THAT(give_back(), ElementsAre(uncounted("token 2")));
  EXPECT_EQ(count<Ack>(), 0U);
}

TEST_F(WorkerStoreFailures, OneActivityIsFetchedAtATime) {
  options.worker_concurrency = 4;
  fetch({item(1)});
  const RequestId wait = take<Await>().first;
  finish(start());
  ack(error(ProviderErrorKind::kStoreFailed));
  EXPECT_EQ(metrics->gauge_value(metric::kStoreAvailable.name), 0.0);
  answer(wait, ProviderResult<bool>(true));
  while (count<Fetch>() == 0) {
    if (count<Ack>() > 0) ack(error(ProviderErrorKind::kStoreFailed));
    now = std::max(now, dispatcher().wake_at());
  }
  EXPECT_EQ(take<Fetch>().second.fetch.limit, 1U);
  wait_for_ack();
  ack();
  EXPECT_EQ(metrics->gauge_value(metric::kStoreAvailable.name), 1.0);
}

TEST_F(WorkerStoreFailures, ABadOutcomeIsSentAloneAndEndsAsPoisonWithoutAnotherRun) {
  fetch({item(1), item(2)});
  finish(start());
  const RequestId first = take<Ack>().first;
  finish(start());
  fetch({item(3)});
  finish(start());
  answer(first, std::vector<ProviderResult<void>>(1));
  auto [id, body] = take<Ack>();
  ASSERT_EQ(body.acks->size(), 2U) << "what ends at the same time is acknowledged together";
  const LockToken bad = body.acks->at(1).token;
  answer(id, std::vector<ProviderResult<void>>{{}, error(ProviderErrorKind::kInvalidArgument)});
  for (std::uint32_t failure = 0; failure < options.max_attempts; ++failure) {
    wait_for_ack();
    const auto sent = ack(error(ProviderErrorKind::kInvalidArgument));
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].token, bad);
    EXPECT_EQ(failure_of(sent[0]), "no failure");
  }
  wait_for_ack();
  const auto poison = ack();
  EXPECT_EQ(poison.at(0).token, bad);
  EXPECT_THAT(failure_of(poison.at(0)), HasSubstr("refused by the store: invalid argument: no luck"));
  EXPECT_EQ(metrics->counter_total(metric::kActivityPoison.name), 1U);
  EXPECT_EQ(metrics->gauge_value(metric::kStoreAvailable.name), 1.0);
  EXPECT_EQ(count<Start>() + count<GiveBack>(), 0U);
}

TEST_F(WorkerStoreFailures, AnOutcomeThatFailsWhileThoseOfOthersSucceedEndsAsPoison) {
  fetch({item(1)});
  finish(start());
  for (std::uint32_t failure = 1; failure <= options.max_attempts; ++failure) {
    wait_for_ack();
    ack(error(ProviderErrorKind::kStoreFailed));
    if (failure == options.max_attempts) break;
    // Again: the store accepted no other outcome in between, so this failure does not count.
    wait_for_ack();
    ack(error(ProviderErrorKind::kStoreFailed));
    while (count<Fetch>() == 0) {
      if (count<Renew>() > 0) renew(now + 30s);
      if (count<Ack>() > 0) ack(error(ProviderErrorKind::kStoreFailed));
      if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
      if (count<Fetch>() == 0) now = std::max(now, dispatcher().wake_at());
    }
    fetch({item(100 + failure)});
    finish(start());
    for (bool stored = false; !stored;) {
      wait_for_ack();
      auto [id, body] = take<Ack>();
      ASSERT_EQ(body.acks->size(), 1U);
      stored = body.acks->front().token.value != "token 1";
      answer(id, std::vector<ProviderResult<void>>{
                     stored ? ProviderResult<void>() : ProviderResult<void>(error(ProviderErrorKind::kStoreFailed))});
    }
  }
  wait_for_ack();
  EXPECT_THAT(failure_of(ack().at(0)), HasSubstr("refused by the store: store failed: no luck"));
}

// One failure says nothing about the outcome if the store has accepted nothing since.
TEST_F(WorkerStoreFailures, ASingleFailureIsNotTheActivitysOwnWithOneAttempt) {
  options.max_attempts = 1;
  fetch({item(1)});
  finish(start());
  const auto first = ack(error(ProviderErrorKind::kStoreFailed));
  for (int i = 0; i < 20; ++i) {
    wait_for_ack();
    ASSERT_EQ(ack(error(ProviderErrorKind::kStoreFailed)), first);
  }
  wait_for_ack();
  ack();
  EXPECT_EQ(count<GiveBack>(), 0U);
}

// The store may have no room for messages while histories can grow.
TEST_F(WorkerStoreFailures, AcceptedTurnsDoNotShowThatAnOutcomeIsRefusedForItself) {
  health = std::make_shared<StoreHealth>("node", options);
  fetch({item(1)});
  finish(start());
  const auto first = ack(error(ProviderErrorKind::kStoreFailed));
  for (std::uint32_t failure = 0; failure < 3 * options.max_attempts; ++failure) {
    health->accepted(AcceptedCall::kTurn);  // the other dispatcher
    wait_for_ack();
    ASSERT_EQ(ack(error(ProviderErrorKind::kStoreFailed)), first);
  }
}

// A full disk, for example, may refuse a large outcome and accept small ones.
TEST_F(WorkerStoreFailures, AnErrorThatNamesTheStateOfTheStoreIsNeverTheActivitysOwn) {
  health = std::make_shared<StoreHealth>("node", options);
  for (const ProviderErrorKind kind :
       {ProviderErrorKind::kDiskFull, ProviderErrorKind::kUnavailable, ProviderErrorKind::kBusy}) {
    fetch({item(1)});
    finish(start());
    const auto first = ack(error(kind));
    for (std::uint32_t failure = 0; failure < 3 * options.max_attempts; ++failure) {
      health->accepted(AcceptedCall::kOutcome);
      wait_for_ack();
      ASSERT_EQ(ack(error(kind)), first) << to_string(kind);
    }
    wait_for_ack();
    ack();
    now += 1s;
    collect();
  }
}

// A store that hangs answers no renewal. The attempt is taken back as soon as it answers again.
TEST_F(WorkerStoreFailures, AnAttemptWhoseLockEndedWhileARenewalHangsIsTakenBack) {
  fetch({item(1)});
  start();
  begin_watch();
  now = dispatcher().wake_at();
  const RequestId hanging = take<Renew>().first;
  now += options.worker_lock_timeout;
  EXPECT_EQ(count<Stop>(), 1U);
  EXPECT_THAT(give_back(),
              ElementsAre(Abandon{.token = {"token 1"}, .delay = 0ms, .ignore_attempt = true, .has_begun = true}));
  answer(hanging, std::vector<ProviderResult<Timestamp>>{error(ProviderErrorKind::kUnavailable)});
}

// A failed renewal excuses nothing once the next one has succeeded.
TEST_F(WorkerStoreFailures, ALockThatIsLostLongAfterAFailureCounts) {
  fetch({item(1)});
  start();
  begin_watch();
  now = dispatcher().wake_at();
  renew(error(ProviderErrorKind::kUnavailable));
  now = dispatcher().wake_at();
  renew(now + 30s);
  now += 1min;  // the process is stopped for a while
  EXPECT_EQ(count<Stop>(), 1U);
  EXPECT_EQ(count<GiveBack>(), 0U);
}

TEST_F(WorkerStoreFailures, AnActivityThatCannotBeGivenBackIsGivenBackLater) {
  fetch({item(1, "Unknown")});
  answer(take<GiveBack>().first, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kBusy)});
  collect();
  EXPECT_FALSE(dispatcher().resting());
  now += 10ms;
  EXPECT_EQ(give_back().at(0).token.value, "token 1");
  collect();
  EXPECT_TRUE(dispatcher().resting());
}

}  // namespace
}  // namespace perdure::test
