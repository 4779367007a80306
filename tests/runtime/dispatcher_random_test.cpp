// Both dispatchers under random answers: whatever a store and user code do, limits hold, nothing is worked on without
// its lock, and everything comes to rest.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "runtime/orchestration_dispatch.h"
#include "runtime/worker_dispatch.h"
#include "support/dice.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 25;
constexpr int kSteps = 2'000;

ProviderError random_error(Dice& dice) {
  constexpr std::array kKinds{
      ProviderErrorKind::kBusy,        ProviderErrorKind::kUnavailable,     ProviderErrorKind::kLockLost,
      ProviderErrorKind::kStoreFailed, ProviderErrorKind::kInvalidArgument, ProviderErrorKind::kDuplicateEvent,
      ProviderErrorKind::kDiskFull};
  return {kKinds[dice.below(kKinds.size())], "bad luck"};
}

// ---- orchestrations ----

class RandomTurns : public DispatchOrchestrations {
 protected:
  void one_answer(Dice& dice) {
    const std::size_t chosen = dice.below(open.size());
    orchestration::Request wanted = std::move(open[chosen]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
    std::visit([&](auto& body) { carry_out(wanted.id, body, dice); }, wanted.body);
  }
  void carry_out(RequestId id, orchestration::Fetch& body, Dice& dice) {
    if (dice.chance(20)) return answer(id, ProviderResult<OrchestrationBatch>(random_error(dice)));
    OrchestrationBatch batch{.now = now, .items = {}};
    for (std::size_t i = dice.below(body.fetch.limit + 1); i > 0; --i) {
      batch.items.push_back(item("i" + std::to_string(next_instance++), dice.below(3)));
      if (dice.chance(10) && body.fetch.suspects.admit && batch.items.size() == 1) {
        batch.items.back().attempt_count = 7;
        suspects.insert(batch.items.back().token.value);
        break;
      }
    }
    for (const auto& each : batch.items) locked.insert(each.token.value);
    EXPECT_LE(locked.size(), options.max_locked_instances);
    EXPECT_LE(suspects.size(), 1U);
    answer(id, ProviderResult<OrchestrationBatch>(std::move(batch)));
  }
  void carry_out(RequestId id, orchestration::Await&, Dice& dice) {
    answer(id, dice.chance(20) ? ProviderResult<bool>(random_error(dice)) : ProviderResult<bool>(dice.chance(50)));
  }
  void carry_out(RequestId id, orchestration::ReadHistory& body, Dice& dice) {
    EXPECT_TRUE(locked.contains(body.token.value));
    if (dice.chance(20)) {
      const ProviderError wrong = random_error(dice);
      if (wrong.kind() == ProviderErrorKind::kLockLost) lose(body.token);
      return answer(id, ProviderResult<StoredHistory>(wrong));
    }
    answer(id, ProviderResult<StoredHistory>(StoredHistory()));
  }
  void carry_out(RequestId id, orchestration::RunTurn& body, Dice& dice) {
    const LockToken token = body.task.item.token;
    EXPECT_TRUE(locked.contains(token.value));
    if (dice.chance(15)) {
      return answer(id, TurnDecision{.action = Abandon{.token = token, .delay = 1s}, .kept = {}, .report = {}});
    }
    TurnCommit commit;
    commit.token = token;
    commit.commit_id = body.task.commit_id;
    answer(id, TurnDecision{.action = std::move(commit), .kept = {}, .report = {}});
  }
  void carry_out(RequestId id, orchestration::Commit& body, Dice& dice) {
    std::vector<ProviderResult<CommitAnswer>> answers;
    for (const TurnCommit& each : *body.commits) {
      EXPECT_TRUE(locked.contains(each.token.value)) << "committed twice, or after it was given back";
      if (dice.chance(40)) {
        const ProviderError wrong = random_error(dice);
        if (wrong.kind() == ProviderErrorKind::kLockLost) lose(each.token);
        answers.emplace_back(wrong);
      } else {
        release(each.token);
        answers.emplace_back(CommitAnswer());
      }
    }
    answer(id, std::move(answers));
  }
  // An item whose lock was lost after a failure of the store is abandoned as well: no other node may have it yet.
  void carry_out(RequestId id, orchestration::GiveBack& body, Dice& dice) {
    std::vector<ProviderResult<void>> answers;
    for (const Abandon& each : body.abandons) {
      const bool was_lost = lost.contains(each.token.value);
      EXPECT_TRUE(locked.contains(each.token.value) || was_lost) << "given back twice";
      EXPECT_TRUE(!was_lost || each.ignore_attempt);
      answers.push_back(dice.chance(20) ? ProviderResult<void>(random_error(dice)) : ProviderResult<void>());
      const bool is_repeated = !answers.back() && answers.back().error().kind() != ProviderErrorKind::kLockLost &&
                               !answers.back().error().data_error();
      if (is_repeated) continue;
      release(each.token);
      lost.erase(each.token.value);
    }
    answer(id, std::move(answers));
  }
  void carry_out(RequestId id, orchestration::Renew& body, Dice& dice) {
    std::vector<ProviderResult<Timestamp>> answers;
    for (std::size_t i = 0; i < body.tokens.size(); ++i) {
      answers.push_back(dice.chance(20) ? ProviderResult<Timestamp>(random_error(dice))
                                        : ProviderResult<Timestamp>(now + body.extend_for));
    }
    answer(id, std::move(answers));
  }
  void carry_out(RequestId id, orchestration::EndWait&, Dice&) { answer(id, orchestration::Done()); }

  void release(const LockToken& token) {
    locked.erase(token.value);
    suspects.erase(token.value);
  }

  void lose(const LockToken& token) {
    release(token);
    lost.insert(token.value);
  }

  std::set<std::string> locked;
  std::set<std::string> lost;
  std::set<std::string> suspects;
  int next_instance = 0;
};

class RandomTurnsOfASeed : public RandomTurns, public ::testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTurnsOfASeed, ::testing::Range(std::uint64_t{0}, kSeeds));

TEST_P(RandomTurnsOfASeed, ComeToRest) {
  Dice dice(GetParam());
  options.max_locked_instances = dice.between(2, 8);
  options.orchestration_concurrency = dice.between(1, 2);
  capabilities.wake_ups = dice.chance(70);
  for (int step = 0; step < kSteps; ++step) {
    collect();
    ASSERT_LE(count<orchestration::RunTurn>(), options.orchestration_concurrency);
    if (!open.empty() && dice.chance(85)) {
      one_answer(dice);
    } else {
      now += Milliseconds(dice.below(dice.chance(80) ? 50 : 3'000));
    }
  }
  dispatcher().drain();
  for (int step = 0; !dispatcher().idle() && step < 10'000; ++step) {
    collect();
    if (open.empty()) {
      ASSERT_LT(dispatcher().wake_at(), Timestamp::max()) << "it waits for nothing";
      now = dispatcher().wake_at();
    } else {
      one_answer(dice);
    }
  }
  EXPECT_TRUE(dispatcher().idle());
  EXPECT_TRUE(locked.empty()) << *locked.begin() << " was forgotten";
}

// ---- activities ----

class RandomRuns : public DispatchActivities {
 protected:
  struct Running {
    EventId activity;
    bool told = false;
    bool ended = false;
  };

  void one_answer(Dice& dice) {
    const std::size_t chosen = dice.below(open.size());
    worker::Request wanted = std::move(open[chosen]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
    std::visit([&](auto& body) { carry_out(wanted.id, body, dice); }, wanted.body);
  }
  void carry_out(RequestId id, worker::Fetch& body, Dice& dice) {
    if (dice.chance(20)) return answer(id, ProviderResult<WorkBatch>(random_error(dice)));
    WorkBatch batch{.now = now, .items = {}};
    for (std::size_t i = dice.below(body.fetch.limit + 1); i > 0; --i) {
      const ActivityTimeouts timeouts{
          .start_to_close = dice.chance(20) ? std::optional<Milliseconds>(1s) : std::nullopt,
          .schedule_to_start = {},
          .heartbeat = dice.chance(20) ? std::optional<Milliseconds>(300ms) : std::nullopt};
      const bool fresh = dice.chance(90) || !body.fetch.suspects.admit || !batch.items.empty();
      batch.items.push_back(item(next_activity++, dice.chance(90) ? "Work" : "Unknown", fresh ? 1 : 7, timeouts));
      if (dice.chance(30)) batch.items.back().record.session = "s";
      if (!fresh) break;
    }
    answer(id, ProviderResult<WorkBatch>(std::move(batch)));
  }
  void carry_out(RequestId id, worker::Await&, Dice& dice) {
    answer(id, dice.chance(20) ? ProviderResult<bool>(random_error(dice)) : ProviderResult<bool>(dice.chance(50)));
  }
  // A renewal may confirm the loss or not.
  void carry_out(RequestId id, worker::Watch& body, Dice& dice) {
    EXPECT_FALSE(body.held.empty());
    ++watches;
    answer(id, dice.chance(20) ? ProviderResult<bool>(random_error(dice)) : ProviderResult<bool>(dice.chance(50)));
  }
  void carry_out(RequestId id, worker::Start& body, Dice&) {
    EXPECT_TRUE(running.emplace(body.run, Running{.activity = body.about.activity_id}).second);
    answer(id, worker::Done());
  }
  void carry_out(RequestId id, worker::Stop& body, Dice&) {
    if (running.contains(body.run)) running.at(body.run).told = true;
    answer(id, worker::Done());
  }
  void carry_out(RequestId id, worker::ReplaceThread& body, Dice&) {
    replaced.insert(body.run);
    answer(id, worker::Done());
  }
  void carry_out(RequestId id, worker::Ack& body, Dice& dice) {
    answer(id, random_outcomes<void>(body.acks->size(), dice, {}));
  }
  void carry_out(RequestId id, worker::GiveBack& body, Dice& dice) {
    answer(id, random_outcomes<void>(body.abandons.size(), dice, {}));
  }
  void carry_out(RequestId id, worker::Renew& body, Dice& dice) {
    answer(id, random_outcomes<Timestamp>(body.tokens.size(), dice, now + body.extend_for));
  }
  void carry_out(RequestId id, worker::Beat& body, Dice& dice) {
    answer(id, random_outcomes<Timestamp>(body.heartbeats.size(), dice, now + options.worker_lock_timeout));
  }
  void carry_out(RequestId id, worker::RenewSessions& body, Dice& dice) {
    given_up = body.extend_for == 0ms;
    answer(id, dice.chance(20) ? ProviderResult<std::size_t>(random_error(dice))
                               : ProviderResult<std::size_t>(dice.below(3)));
  }
  void carry_out(RequestId id, worker::ListNodes&, Dice&) { answer(id, worker::KnownNodes()); }
  template <class Other>
  void carry_out(RequestId id, Other&, Dice&) {
    answer(id, worker::Done());
  }
  template <class T>
  static std::vector<ProviderResult<T>> random_outcomes(std::size_t size, Dice& dice, const ProviderResult<T>& good) {
    std::vector<ProviderResult<T>> outcomes;
    for (std::size_t i = 0; i < size; ++i) {
      outcomes.push_back(dice.chance(30) ? ProviderResult<T>(random_error(dice)) : good);
    }
    return outcomes;
  }
  // Something happens in the user's code, or to the orchestration.
  void life_goes_on(Dice& dice) {
    if (running.empty()) return;
    auto run = running.begin();
    std::advance(run, static_cast<std::ptrdiff_t>(dice.below(running.size())));
    switch (dice.below(5)) {
      case 3:
        dispatcher().heartbeat(run->first, dice.chance(50) ? Payload("\"half\"") : Payload(), now);
        break;
      case 4:
        if (!later.empty()) dispatcher().heartbeat(later.back(), Payload("\"most\""), now);
        break;
      case 0:
        if (!run->second.ended) dispatcher().ended(run->first, Payload("1"), now);
        run->second.ended = true;
        break;
      case 1:
        dispatcher().withdrawn({.instance = "i", .execution = 1, .activity_id = run->second.activity}, now);
        break;
      default:
        leave(run);
    }
  }
  void leave(std::map<RunId, Running>::iterator run) {
    dispatcher().returned(run->first);
    if (!run->second.ended) later.push_back(run->first);  // it was an asynchronous one
    running.erase(run);
  }

  std::map<RunId, Running> running;
  std::set<RunId> replaced;
  std::vector<RunId> later;
  EventId next_activity = 1;
  int watches = 0;
  bool given_up = false;  // its sessions
};

class RandomRunsOfASeed : public RandomRuns, public ::testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomRunsOfASeed, ::testing::Range(std::uint64_t{0}, kSeeds));

TEST_P(RandomRunsOfASeed, ComeToRest) {
  Dice dice(GetParam());
  options.worker_concurrency = dice.between(1, 4);
  options.max_async_activities = options.worker_concurrency + dice.below(5);
  options.worker_lock_timeout = 1s;
  options.activity_cancellation_grace_period = 200ms;
  options.heartbeat_interval = 100ms;
  options.session_lock_timeout = 1s;
  keeps_sessions = true;
  capabilities.wake_ups = dice.chance(70);
  for (int step = 0; step < kSteps; ++step) {
    collect();
    const auto occupied =
        std::count_if(running.begin(), running.end(), [&](const auto& run) { return !replaced.contains(run.first); });
    ASSERT_LE(static_cast<std::size_t>(occupied), options.worker_concurrency + count<worker::ReplaceThread>());
    ASSERT_LE(running.size(), options.worker_concurrency * 2) << "stuck threads are capped";
    if (dice.chance(20)) life_goes_on(dice);
    if (!later.empty() && dice.chance(10)) {
      dispatcher().ended(later.back(), Payload("1"), now);
      later.pop_back();
    }
    if (!open.empty() && dice.chance(85)) {
      one_answer(dice);
    } else {
      now += Milliseconds(dice.below(dice.chance(80) ? 50 : 1'500));
    }
  }
  dispatcher().drain();
  dispatcher().stop_all(now);
  for (int step = 0; !dispatcher().idle() && step < 10'000; ++step) {
    collect();
    if (!open.empty()) {
      one_answer(dice);
    } else if (!running.empty()) {
      EXPECT_TRUE(running.begin()->second.told || running.begin()->second.ended) << "it was not told to stop";
      leave(running.begin());
    } else {
      ASSERT_LT(dispatcher().wake_at(), Timestamp::max()) << "it waits for nothing";
      now = dispatcher().wake_at();
    }
  }
  EXPECT_TRUE(dispatcher().idle());
  EXPECT_TRUE(dispatcher().running_names().empty());
  EXPECT_TRUE(given_up) << "its sessions are still its own";
  EXPECT_EQ(watches > 0, capabilities.wake_ups);
}

}  // namespace
}  // namespace perdure::test
