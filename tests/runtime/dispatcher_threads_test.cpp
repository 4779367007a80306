// Threads that carry out what dispatchers want, on the machine's clock: what has a time is done at its time, although
// every other time around it is far away.
#include "runtime/dispatcher_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Nothing but what a test is about comes to its time while there is patience.
class OnTime : public Threaded {
 protected:
  OnTime() {
    options.long_poll_timeout = 1h;
    options.orchestrator_lock_timeout = 1h;
    options.worker_lock_timeout = 1h;
    options.session_idle_timeout = 2h;
  }
  // A runtime whose threads have nothing to do, and rest for a long time.
  [[nodiscard]] std::shared_ptr<Runtime> run_and_rest(const Registry& registry) const {
    auto runtime = run(registry);
    EXPECT_TRUE(eventually([&] { return store->waits >= 2 && runtime->idle(); }));
    return runtime;
  }
};

TEST_F(OnTime, TheLockOfALongTurnIsRenewed) {
  const Gate go_on;
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_orchestration("Long", [&runs, go_on](OrchestrationContext) -> Orchestration<int> {
    ++runs;
    go_on.wait();
    co_return 1;
  });
  options.orchestrator_lock_timeout = 1s;
  const auto runtime = run_and_rest(registry);
  client.start_orchestration("i", "Long");
  EXPECT_TRUE(eventually([&] { return store->turn_renewals >= 3 || runs > 1; }));
  go_on.open();
  EXPECT_EQ(end_of("i").result<int>(), 1);
  EXPECT_EQ(runs, 1) << "its lock has expired under it, and the turn was begun again";
}

TEST_F(OnTime, TheLockOfALongActivityIsRenewed) {
  const Gate go_on;
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&runs, go_on](ActivityContext& ctx) {
    ++runs;
    go_on.wait();
    return ctx.is_cancelled() ? -1 : 1;
  });
  add_flow(registry);
  options.worker_lock_timeout = 1s;
  const auto runtime = run_and_rest(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(eventually([&] { return store->work_renewals >= 3 || runs > 1; }));
  go_on.open();
  EXPECT_EQ(end_of("i").result<int>(), 1);
  EXPECT_EQ(runs, 1);
}

TEST_F(OnTime, ACommitThatFailedIsRepeated) {
  Registry registry;
  registry.add_orchestration("Quick", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  const auto runtime = run_and_rest(registry);
  store->commits_fail = true;
  client.start_orchestration("i", "Quick");
  EXPECT_TRUE(eventually([&] { return store->failures >= 1; }));
  store->commits_fail = false;
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

TEST_F(OnTime, AnAcknowledgementThatFailedIsRepeated) {
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&runs](ActivityContext&) { return ++runs; });
  add_flow(registry);
  options.fast_path = false;  // which needs no acknowledgement
  const auto runtime = run_and_rest(registry);
  store->acks_fail = true;
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(eventually([&] { return store->failures >= 5; }));
  store->acks_fail = false;
  EXPECT_EQ(end_of("i").result<int>(), 1);
  EXPECT_EQ(runs, 1) << "W25: the activity does not run again";
}

TEST_F(OnTime, AnActivityThatTakesTooLongIsTimedOut) {
  const Gate go_on;
  Registry registry;
  registry.add_activity("Work", [go_on](ActivityContext&) {
    go_on.wait();
    return 1;
  });
  add_flow(registry, "Flow", "Work", ActivityOptions().timeout(20ms));
  const auto runtime = run_and_rest(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(end_of("i").state, OrchestrationState::kFailed);
  EXPECT_FALSE(go_on.is_open());
  go_on.open();
}

TEST_F(OnTime, ATimerFires) {
  Registry registry;
  registry.add_orchestration("Timer", [](OrchestrationContext ctx) -> Orchestration<int> {
    co_await ctx.schedule_timer(20ms);
    co_return 1;
  });
  const auto runtime = run_and_rest(registry);
  client.start_orchestration("i", "Timer");
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

// Both come of the same commit.
TEST_F(OnTime, AClaimedActivityDoesNotWaitForTheEndOfOtherCode) {
  const Gate begun;
  const Gate destroyed;
  std::atomic<bool> had_begun = false;
  Registry registry;
  registry.add_activity("Work", [begun](ActivityContext&) {
    begun.open();
    return 1;
  });
  add_flow(registry);
  registry.add_orchestration("Slow", [&](OrchestrationContext ctx) -> Orchestration<int> {
    const std::shared_ptr<void> slow(nullptr, [&](void*) {
      had_begun = begun.wait();
      destroyed.open();
    });
    co_return co_await ctx.schedule_wait<int>("never");
  });
  options.cached_executions = 1;
  const auto runtime = run_and_rest(registry);
  client.start_orchestration("slow", "Slow");
  EXPECT_TRUE(eventually([&] { return store->waits >= 3 && runtime->idle(); }));
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(destroyed.wait()) << "there is room for one execution";
  EXPECT_TRUE(had_begun);
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

// ---- the threads by themselves ----

// Wants nothing. It has something to do at one time, and is idle then.
struct OneTime {
  struct Request {
    int id = 0;
    int body = 0;
  };
  using Threads = runtime::DispatcherThreads<OneTime, Request, int>;

  std::optional<Request> next(Timestamp now) {
    ++looks;
    if (looks > 1 && now >= at) idle = true;
    return std::nullopt;
  }
  [[nodiscard]] Timestamp wake_at() const { return idle ? Timestamp::max() : at; }
  void answer(int, int, Timestamp) {}

  Timestamp at;
  int looks = 0;
  bool idle = false;
};

// Another dispatcher may give something back between the look at what is wanted and the one at the time of rest.
TEST(Rest, ThereIsNoneIfSomethingIsWantedByThen) {
  const auto threads = std::make_shared<OneTime::Threads>(OneTime{.at = Timestamp::min()}, make_memory_provider(),
                                                          std::make_shared<SystemClock>());
  threads->start(1, [](int) { return 0; });
  EXPECT_TRUE(eventually([&] {
    return threads->wait_until(std::chrono::steady_clock::now(), [](const OneTime& each) { return each.idle; });
  }));
  EXPECT_TRUE(threads->close(std::chrono::steady_clock::now() + kPatience));
}

TEST(Rest, WhoWaitsForADispatcherSeesWhatItsTimeBrought) {
  const auto clock = std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)));
  const auto threads = std::make_shared<OneTime::Threads>(
      OneTime{.at = clock->now() + 1s}, make_memory_provider({.clock = clock, .logger = {}, .metrics = {}}), clock);
  threads->start(1, [](int) { return 0; });
  const Gate waits;
  std::thread time([&] {
    waits.wait();
    clock->advance(1s);
  });
  EXPECT_TRUE(returns([threads, waits] {
    threads->wait_until(std::chrono::steady_clock::now() + 24h, [&](const OneTime& each) {
      waits.open();
      return each.idle;
    });
  }));
  time.join();
  EXPECT_TRUE(threads->close(std::chrono::steady_clock::now() + kPatience));
}

TEST(Rest, TheMachinesClockDoesNotWaitForWhatIsLongPast) {
  EXPECT_TRUE(returns([] {
    std::mutex mutex;
    std::condition_variable changed;
    std::unique_lock lock(mutex);
    SystemClock().wait_until(lock, changed, Milliseconds::min());
  }));
}

// ---- waits that are told to end before they have begun ----

// Its waits, of which a runtime has two, begin only after both were told to end.
class LateStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  Gate told;
  std::atomic<int> waits{0};
  std::atomic<int> ends{0};

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    const std::stop_callback counted(wait.stop, [this] {
      if (++ends == 2) told.open();
    });
    ++waits;
    told.wait();
    return ForwardingProvider::wait_for_work(wait, deadline);
  }
};

class LateWaits : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Clocks, LateWaits, ::testing::Values(false, true),
                         [](const auto& moved) { return moved.param ? "Manual" : "System"; });

// The clock of a test stands still; the shutdown must not wait for it.
TEST_P(LateWaits, AreEndedAllTheSame) {
  const std::shared_ptr<ManualClock> clock =
      GetParam() ? std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000))) : nullptr;
  const auto store = std::make_shared<LateStore>(make_memory_provider({.clock = clock, .logger = {}, .metrics = {}}));
  RuntimeOptions options;
  options.clock = clock;
  const auto runtime = std::make_shared<Runtime>(store, Registry(), options);
  EXPECT_TRUE(eventually([&] { return store->waits >= 2; }));
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(std::chrono::hours(24)); }));
}

}  // namespace
}  // namespace perdure::test
