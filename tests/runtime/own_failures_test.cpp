// A commit or a read that fails again and again: whether the instance or the store is the cause.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/store_failures.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class OwnFailures : public StoreFailures {
 protected:
  // The commit of "bad" fails this often, and those of other instances succeed in between.
  void fail_while_others_succeed(ProviderErrorKind kind, std::uint32_t failures) {
    for (std::uint32_t failure = 1; failure < failures; ++failure) {
      while (count<Commit>() == 0) pass_to_next();
      commit(error(kind));
      ASSERT_EQ(count<RunTurn>(), 0U) << failure;
      if (kind != ProviderErrorKind::kBusy) {
        EXPECT_EQ(available(), 0.0);
      }
      while (count<Fetch>() == 0) {
        if (count<Renew>() > 0) renew(now + 5s);
        if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
        if (count<Commit>() > 0) commit(error(kind));
        if (count<Fetch>() == 0) pass_to_next();
      }
      fetch(item("good " + std::to_string(failure)));
      run_turn();
      for (bool stored = false; !stored;) {
        while (count<Commit>() == 0) {
          if (count<Renew>() > 0) renew(now + 5s);
          pass_to_next();
        }
        auto [id, body] = take<Commit>();
        ASSERT_EQ(body.commits->size(), 1U);
        stored = body.commits->front().token.value != "token of bad";
        answer(id, std::vector<ProviderResult<CommitAnswer>>{stored ? ProviderResult<CommitAnswer>(CommitAnswer())
                                                                    : ProviderResult<CommitAnswer>(error(kind))});
      }
      EXPECT_EQ(available(), 1.0);
    }
    while (count<Commit>() == 0) {
      if (count<Renew>() > 0) renew(now + 5s);
      if (count<Fetch>() > 0) fetch();
      pass_to_next();
    }
    commit(error(kind));
  }
  // "broken" is read first, and other histories and their turns succeed in between.
  void read_of_broken_fails_while_others_succeed(ProviderErrorKind kind, int failures) {
    answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(kind)));
    for (int failure = 2; failure <= failures; ++failure) {
      answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
      run_turn();
      while (count<Commit>() == 0) pass_to_next();
      commit();
      now += 1s;
      if (count<Renew>() > 0) renew(now + 5s);
      answer(take_read_of("broken"), ProviderResult<StoredHistory>(error(kind)));
    }
  }
  RequestId take_read_of(const std::string& instance) {
    collect();
    for (auto each = open.begin(); each != open.end(); ++each) {
      const auto* body = std::get_if<ReadHistory>(&each->body);
      if (!body || body->token.value != "token of " + instance) continue;
      const RequestId id = each->id;
      open.erase(each);
      return id;
    }
    throw std::logic_error("the dispatcher does not want to read this history");
  }
};

TEST_F(OwnFailures, ADataErrorOfACommitSentAloneCounts) {
  fetch(item("i"));
  const TurnCommit wanted = run_turn();
  commit(error(ProviderErrorKind::kInvalidArgument));
  EXPECT_THAT(give_back(), ElementsAre(Abandon{.token = wanted.token, .delay = 50ms, .ignore_attempt = false}));
  EXPECT_EQ(available(), 1.0);
}

TEST_F(OwnFailures, TheLastAttemptWithADataErrorEndsAsPoisonUnderTheSameLock) {
  OrchestrationItem last = item("i", 3, 10);
  last.messages.resize(2);
  fetch(last);
  answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(StoredHistory()));
  const TurnCommit refused = run_turn();
  commit(error(ProviderErrorKind::kInvalidArgument));
  EXPECT_EQ(count<GiveBack>(), 0U);
  const auto [id, body] = take<ReadHistory>();
  EXPECT_EQ(body.after, 0U);
  answer(id, ProviderResult<StoredHistory>(StoredHistory()));
  const auto [turn, request] = take<RunTurn>();
  EXPECT_EQ(request.task.refusal, "invalid argument: no luck");
  EXPECT_EQ(request.task.item.token, refused.token);
  EXPECT_EQ(request.task.item.messages.size(), 2U);
  EXPECT_NE(request.task.commit_id, refused.commit_id);
}

TEST_F(OwnFailures, ACommitThatFailsAloneAgainAndAgainWhileOthersSucceedEndsAsPoison) {
  options.orchestration_concurrency = 1;
  fetch(item("bad"));
  run_turn();
  fail_while_others_succeed(ProviderErrorKind::kStoreFailed, options.max_attempts);
  EXPECT_EQ(take<RunTurn>().second.task.refusal, "store failed: no luck");
}

class UnwellStore : public OwnFailures, public ::testing::WithParamInterface<ProviderErrorKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, UnwellStore,
                         ::testing::Values(ProviderErrorKind::kDiskFull, ProviderErrorKind::kUnavailable,
                                           ProviderErrorKind::kBusy),
                         [](const auto& kind) { return std::to_string(static_cast<int>(kind.param)); });

// A full disk, for example, may refuse a large commit and accept small ones.
TEST_P(UnwellStore, IsNeverTheFaultOfAnInstance) {
  options.orchestration_concurrency = 1;
  fetch(item("bad"));
  run_turn();
  fail_while_others_succeed(GetParam(), 3 * options.max_attempts);
  EXPECT_EQ(count<RunTurn>() + count<GiveBack>(), 0U);
}

TEST_F(OwnFailures, AcceptedOutcomesDoNotShowThatATurnIsRefusedForItself) {
  health = std::make_shared<StoreHealth>("node", options);
  fetch(item("i"));
  const TurnCommit wanted = run_turn();
  for (std::uint32_t failure = 0; failure < 3 * options.max_attempts; ++failure) {
    while (count<Commit>() == 0) {
      if (count<Renew>() > 0) renew(now + 5s);
      pass_to_next();
    }
    commit(error(ProviderErrorKind::kStoreFailed));
    health->accepted(AcceptedCall::kOutcome);  // the other dispatcher
  }
  EXPECT_EQ(count<RunTurn>() + count<GiveBack>(), 0U);
}

TEST_F(OwnFailures, AHistoryThatNobodyCanReadEndsAsPoison) {
  options.max_attempts = 3;
  fetch(item("broken", 3), item("a", 1), item("b", 1), item("c", 1));
  read_of_broken_fails_while_others_succeed(ProviderErrorKind::kCorruptData, 3);
  auto [id, body] = take<RunTurn>();
  EXPECT_EQ(body.task.item.instance, "broken");
  EXPECT_EQ(body.task.history.error, "corrupt data: no luck");
  EXPECT_EQ(body.task.refusal, "corrupt data: no luck");
}

TEST_F(OwnFailures, ADamagedStoreWhoseHistoriesCannotBeReadPoisonsNothing) {
  options.max_attempts = 3;
  fetch(item("broken", 3));
  for (int failure = 1; failure <= 9; ++failure) {
    while (count<ReadHistory>() == 0) {
      if (count<Renew>() > 0) renew(now + 5s);
      if (count<Await>() > 0) answer(take<Await>().first, ProviderResult<bool>(true));
      if (count<Fetch>() > 0) fetch(item("new " + std::to_string(failure)));
      while (count<RunTurn>() > 0) run_turn();
      if (count<Commit>() > 0) commit();
      if (count<ReadHistory>() == 0) pass_to_next();
    }
    answer(take<ReadHistory>().first, ProviderResult<StoredHistory>(error(ProviderErrorKind::kCorruptData)));
  }
  EXPECT_EQ(count<RunTurn>() + count<GiveBack>(), 0U);
}

class UnreadHistory : public OwnFailures, public ::testing::WithParamInterface<ProviderErrorKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, UnreadHistory,
                         ::testing::Values(ProviderErrorKind::kBusy, ProviderErrorKind::kUnavailable,
                                           ProviderErrorKind::kStoreFailed),
                         [](const auto& kind) { return std::to_string(static_cast<int>(kind.param)); });

// The server ends a statement that takes too long, or has no memory for it: another time it may succeed.
TEST_P(UnreadHistory, IsNeverTheFaultOfItsInstance) {
  options.max_attempts = 3;
  fetch(item("broken", 3), item("a", 1), item("b", 1), item("c", 1));
  read_of_broken_fails_while_others_succeed(GetParam(), 3);
  EXPECT_EQ(count<RunTurn>() + count<GiveBack>(), 0U);
  now += 1s;
  answer(take_read_of("broken"), ProviderResult<StoredHistory>(StoredHistory()));
  EXPECT_EQ(take<RunTurn>().second.task.item.instance, "broken");
}

}  // namespace
}  // namespace perdure::test
