// The orchestration dispatcher and a failing store: the cause of a failure, repeated calls, and counted attempts.
#include "runtime/store_failures.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// ---- Commits -------------------------------------------------------------------------------------------------------

TEST_F(StoreFailures, ACommitIsRepeatedUnderItsIdForAsLongAsItsLockIsRenewed) {
  for (const ProviderErrorKind kind : {ProviderErrorKind::kBusy, ProviderErrorKind::kDiskFull,
                                       ProviderErrorKind::kStoreFailed, ProviderErrorKind::kCorruptData}) {
    fetch(item("i"));
    const TurnCommit wanted = run({}, 1);
    std::vector<std::int64_t> rests;
    const Timestamp begin = now;
    while (now < begin + 5min) {
      if (count<Renew>() > 0) renew(now + 5s);
      if (count<Commit>() > 0) {
        auto [id, body] = take<Commit>();
        ASSERT_EQ(body.commits->size(), 1U);
        EXPECT_EQ(body.commits->front().commit_id, wanted.commit_id);
        EXPECT_EQ(body.commits->front().token, wanted.token);
        const Timestamp failed_at = now;
        answer(id, std::vector<ProviderResult<CommitAnswer>>{error(kind)});
        ASSERT_EQ(count<Commit>() + count<GiveBack>(), 0U);
        rests.push_back((dispatcher().wake_at() - failed_at).count());
      }
      while (count<Fetch>() > 0) fetch();
      pass_to_next();
    }
    EXPECT_THAT(std::vector<std::int64_t>(rests.begin(), rests.begin() + 5), ElementsAre(10, 20, 40, 80, 160));
    while (count<Commit>() == 0) {
      while (count<Renew>() > 0) renew(now + 5s);
      while (count<Fetch>() > 0) fetch();
      pass_to_next();
    }
    commit();
    EXPECT_EQ(count<GiveBack>(), 0U);
    while (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
  }
}

TEST_F(StoreFailures, AnAttemptWhoseLockEndedMeanwhileIsTakenBack) {
  fetch(item("i"));
  const TurnCommit wanted = run({}, 1);
  commit(error(ProviderErrorKind::kStoreFailed));
  now += 1min;
  while (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
  commit(error(ProviderErrorKind::kLockLost));
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = wanted.token, .delay = 0ms, .ignore_attempt = true}));
}

// A commit that has not failed yet comes first: the others may have failed because of their own data.
TEST_F(StoreFailures, AfterAFailureOneCommitIsAProbeAndTheOthersFollow) {
  options.orchestration_concurrency = 5;
  fetch(item("a"), item("b"), item("c"), item("d"), item("e"));
  run();
  const RequestId first = take<Commit>().first;
  for (int i = 0; i < 4; ++i) run();
  const auto tokens_of = [](const Commit& body) {
    std::vector<std::string> tokens;
    for (const TurnCommit& each : *body.commits) tokens.push_back(each.token.value);
    return tokens;
  };
  answer(first, std::vector<ProviderResult<CommitAnswer>>{error(ProviderErrorKind::kStoreFailed)});
  EXPECT_EQ(count<Commit>(), 0U);
  now += 10ms;
  auto [probe, body] = take<Commit>();
  EXPECT_THAT(tokens_of(body), ElementsAre("token of b"));
  answer(probe, std::vector<ProviderResult<CommitAnswer>>{error(ProviderErrorKind::kStoreFailed)});
  EXPECT_EQ(count<Commit>(), 0U);
  now += 20ms;
  const std::vector<std::vector<std::string>> then = {
      {"token of c"}, {"token of a"}, {"token of b"}, {"token of d", "token of e"}};
  for (const auto& tokens : then) {
    auto [id, sent] = take<Commit>();
    EXPECT_EQ(tokens_of(sent), tokens);
    answer(id, std::vector<ProviderResult<CommitAnswer>>(tokens.size(), CommitAnswer()));
  }
}

// ---- Abandoning ----------------------------------------------------------------------------------------------------

TEST_F(StoreFailures, ARefusedAbandonIsRepeatedUntilTheStoreTakesIt) {
  fetch(item("i"));
  auto [id, body] = take<RunTurn>();
  const Abandon decided{.token = body.task.item.token, .delay = 4s, .ignore_attempt = true};
  answer(id, TurnDecision{.action = decided, .kept = {}, .report = {}});
  for (int i = 0; i < 20; ++i) {
    while (count<GiveBack>() == 0) {
      while (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
      while (count<Fetch>() > 0) fetch();
      pass_to_next();
    }
    auto [given, abandons] = take<GiveBack>();
    EXPECT_THAT(abandons.abandons, ElementsAre(decided)) << "as the turn decided";
    answer(given, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kStoreFailed)});
    EXPECT_FALSE(dispatcher().resting());
  }
  while (count<GiveBack>() == 0) pass_to_next();
  EXPECT_THAT(give_back(), ElementsAre(decided));
  while (count<Fetch>() > 0) fetch();
  EXPECT_TRUE(dispatcher().resting());
}

TEST_F(StoreFailures, ARefusedAbandonEndsWhenItsTokenIsSuperseded) {
  fetch(item("i"));
  auto [id, body] = take<RunTurn>();
  answer(id, TurnDecision{.action = Abandon{.token = body.task.item.token}, .kept = {}, .report = {}});
  answer(take<GiveBack>().first, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kUnavailable)});
  now += 10ms;
  answer(take<GiveBack>().first, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kLockLost)});
  while (count<Fetch>() > 0) fetch();
  EXPECT_TRUE(dispatcher().resting());
}

// The node ends while the store refuses commits and accepts abandons.
TEST_F(StoreFailures, AtShutdownATurnThatCannotBeStoredIsNoAttempt) {
  options.orchestration_concurrency = 2;
  fetch(item("a"), item("b"), item("c"));
  run();
  commit(error(ProviderErrorKind::kStoreFailed));
  run();
  now += 10ms;
  const RequestId in_progress = take<Commit>().first;
  auto [turn, running] = take<RunTurn>();
  dispatcher().drain();
  dispatcher().stop_repeating();
  const auto uncounted = [](const std::string& instance) {
    return Abandon{.token = {"token of " + instance}, .delay = 0ms, .ignore_attempt = true};
  };
  EXPECT_THAT(give_back(), ElementsAre(uncounted("a")));
  answer(in_progress, std::vector<ProviderResult<CommitAnswer>>{error(ProviderErrorKind::kStoreFailed)});
  EXPECT_THAT(give_back(), ElementsAre(uncounted("b")));
  TurnCommit late;
  late.token = running.task.item.token;
  answer(turn, TurnDecision{.action = late, .kept = {}, .report = {}});
  EXPECT_THAT(give_back(), ElementsAre(uncounted("c")));
  EXPECT_EQ(count<Commit>(), 0U);
}

// ---- Fetching ------------------------------------------------------------------------------------------------------

TEST_F(StoreFailures, OneInstanceIsFetchedAtATimeWithGrowingBackoff) {
  fetch(item("i"));
  answer(take<Await>().first, ProviderResult<bool>(true));
  run();
  const RequestId fetching = take<Fetch>().first;
  commit(error(ProviderErrorKind::kStoreFailed));
  answer(fetching, ProviderResult<OrchestrationBatch>(OrchestrationBatch{.now = now, .items = {item("j")}}));
  run();
  std::vector<std::int64_t> rests;
  Timestamp fetched_at = now;
  for (int probe = 0; probe < 6; ++probe) {
    while (count<Fetch>() == 0) {
      if (count<Renew>() > 0) renew(now + 5s);
      while (count<RunTurn>() > 0) run();
      if (count<Commit>() > 0) commit(error(ProviderErrorKind::kStoreFailed));
      if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
      if (count<Fetch>() == 0) pass_to_next();
    }
    rests.push_back((now - fetched_at).count());
    fetched_at = now;
    auto [id, body] = take<Fetch>();
    EXPECT_EQ(body.fetch.limit, 1U);
    answer(id, ProviderResult<OrchestrationBatch>(
                   OrchestrationBatch{.now = now, .items = {item("probe " + std::to_string(probe))}}));
  }
  EXPECT_TRUE(std::is_sorted(rests.begin(), rests.end())) << ::testing::PrintToString(rests);
  EXPECT_GE(rests.back(), 3'000);
}

TEST_F(StoreFailures, NothingIsFetchedWhileALockThatEndedCouldNotBeGivenBack) {
  fetch(item("i"));
  answer(take<Await>().first, ProviderResult<bool>(true));
  const RequestId fetching = take<Fetch>().first;
  run();
  commit(error(ProviderErrorKind::kStoreFailed));
  answer(fetching, ProviderResult<OrchestrationBatch>(OrchestrationBatch{.now = now, .items = {}}));
  while (now < kStart + 5min) {
    if (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
    if (count<Commit>() > 0) commit(error(ProviderErrorKind::kStoreFailed));
    if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
    if (count<Fetch>() > 0) {
      EXPECT_LT(now, kStart + 5s) << "it would count an attempt that no call takes back";
      fetch();
    }
    pass_to_next();
  }
}

// ---- Health --------------------------------------------------------------------------------------------------------

TEST_F(StoreFailures, HealthSaysSinceWhenAndWhy) {
  health = std::make_shared<StoreHealth>("node", options);
  EXPECT_EQ(health->report(), RuntimeHealth());
  health->failed(StoreCall::kStoreTurns, error(ProviderErrorKind::kDiskFull), now);
  health->failed(StoreCall::kFetchActivities, error(ProviderErrorKind::kStoreFailed), now + 1s);
  RuntimeHealth report = health->report();
  EXPECT_FALSE(report.store_available);
  EXPECT_EQ(report.since, now);
  EXPECT_EQ(report.last_error, error(ProviderErrorKind::kStoreFailed));
  health->succeeded(StoreCall::kStoreTurns, now + 2s);
  EXPECT_FALSE(health->is_available()) << "activities cannot be fetched yet";
  health->succeeded(StoreCall::kFetchActivities, now + 3s);
  report = health->report();
  EXPECT_TRUE(report.store_available);
  EXPECT_EQ(report.since, now + 3s);
  EXPECT_EQ(report.last_error, error(ProviderErrorKind::kStoreFailed));
  EXPECT_EQ(log->count(LogLevel::kError), 1U);
  EXPECT_EQ(log->count(LogLevel::kInfo), 1U);
}

// Fetches may succeed all the while, for example if another program has locked the table of the histories.
TEST_F(StoreFailures, AStoreIsUnavailableIfCallsOfOneKindAreBusyInARow) {
  StoreHealth store("node", options);
  for (int i = 0; i < 4; ++i) store.failed(StoreCall::kStoreTurns, error(ProviderErrorKind::kBusy), now);
  EXPECT_TRUE(store.is_available());
  store.succeeded(StoreCall::kStoreTurns, now);
  for (int i = 0; i < 4; ++i) store.failed(StoreCall::kStoreTurns, error(ProviderErrorKind::kBusy), now);
  EXPECT_TRUE(store.is_available());
  store.succeeded(StoreCall::kFetchInstances, now);
  store.failed(StoreCall::kStoreTurns, error(ProviderErrorKind::kBusy), now);
  EXPECT_FALSE(store.is_available());
}

// Nothing else can show it: the other instance has a slow turn, and there is no third one.
TEST_F(StoreFailures, AnAcceptedAbandonShowsThatTheStoreWorksAgain) {
  options.max_locked_instances = 2;
  options.orchestration_concurrency = 2;
  fetch(item("a"), item("b"));
  run_turn();
  const RequestId slow_turn = take<RunTurn>().first;
  now += options.orchestrator_lock_timeout;
  while (count<Renew>() > 0) renew(error(ProviderErrorKind::kStoreFailed));
  commit(error(ProviderErrorKind::kStoreFailed));
  now += 1s;
  commit(error(ProviderErrorKind::kLockLost));
  EXPECT_EQ(available(), 0.0);
  answer(take<GiveBack>().first, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kStoreFailed)});
  now += 1s;
  EXPECT_EQ(available(), 0.0);
  give_back();
  EXPECT_EQ(available(), 1.0);
  answer(slow_turn, TurnDecision{.action = Abandon{}, .kept = {}, .report = {}});
}

TEST_F(StoreFailures, AnAcceptedAbandonShowsNothingWhileACommitIsRepeated) {
  options.orchestration_concurrency = 2;
  fetch(item("a"), item("b"));
  run_turn();
  auto [id, body] = take<RunTurn>();
  commit(error(ProviderErrorKind::kStoreFailed));
  answer(id, TurnDecision{.action = Abandon{.token = body.task.item.token}, .kept = {}, .report = {}});
  give_back();
  EXPECT_EQ(available(), 0.0);
}

TEST_F(StoreFailures, ARepeatedReadThatSucceedsShowsThatTheStoreWorksAgain) {
  fetch(item("a", 3));
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kUnavailable)));
  EXPECT_EQ(available(), 0.0);
  now += 10ms;
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
  EXPECT_EQ(available(), 1.0);
  EXPECT_EQ(count<RunTurn>(), 1U);
}

TEST_F(StoreFailures, WithNothingToStoreAFetchTellsThatTheStoreWorks) {
  fetch(item("i"));
  run();
  commit(error(ProviderErrorKind::kStoreFailed));
  now += 10ms;
  commit(error(ProviderErrorKind::kLockLost));
  answer(take<GiveBack>().first, std::vector<ProviderResult<void>>{error(ProviderErrorKind::kLockLost)});
  EXPECT_EQ(available(), 0.0);
  while (count<Fetch>() == 0) {
    if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
    if (count<Fetch>() == 0) pass_to_next();
  }
  fetch();
  EXPECT_EQ(available(), 1.0);
}

}  // namespace
}  // namespace perdure::test
