// How a runtime ends: at once when it can, in time when it cannot, and never with a loss.
#include <csignal>
#include <stop_token>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Milliseconds kHuge = std::chrono::hours(24 * 365);

class Shutdown : public Threaded {
 protected:
  // Whether the one activity in the store can be fetched, as it can be after a clean end, and how often it was before.
  [[nodiscard]] std::optional<std::uint32_t> attempts_after_fetching() const {
    auto item = store->fetch_work_item().value();
    if (!item) return std::nullopt;
    store->abandon_work_item({.token = item->token, .delay = 0ms, .ignore_attempt = true}).value();
    return item->attempt_count;
  }
  // Opens the gate once a shutdown is well under way: what it should not do would have been done by then.
  [[nodiscard]] std::thread open_during_shutdown(const Gate& gate) const {
    return std::thread([store = store, gate] {
      store->waits_ended.wait();
      for (int i = 0; i < 20; ++i) Runtime(make_memory_provider(), Registry()).shutdown();
      gate.open();
    });
  }
};

TEST_F(Shutdown, AnIdleRuntimeEndsAtOnce) {
  const auto runtime = run(Registry());
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
}

TEST_F(Shutdown, ARuntimeThatHasNotEvenBegunEndsAtOnce) {
  for (int i = 0; i < 50; ++i) {
    const auto runtime = run(Registry());
    ASSERT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  }
}

TEST_F(Shutdown, ARuntimeThatHasWorkedEndsAtOnce) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  add_flow(registry);
  const auto runtime = run(registry);
  for (int i = 0; i < 20; ++i) client.start_orchestration("i" + std::to_string(i), "Flow");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(end_of("i" + std::to_string(i)).result<int>(), 1);
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Shutdown, ASecondOneDoesNothing) {
  const auto runtime = run(Registry());
  EXPECT_TRUE(returns([runtime] {
    runtime->shutdown(kHuge);
    runtime->shutdown(kHuge);
    runtime->shutdown();
  }));
  EXPECT_EQ(log->find("runtime stopped").size(), 1U);
}

TEST_F(Shutdown, SeveralThreadsMayAskForIt) {
  const auto runtime = run(Registry());
  const auto shut = [runtime] { runtime->shutdown(kHuge); };
  std::thread other([&] { EXPECT_TRUE(returns(shut)); });
  EXPECT_TRUE(returns(shut));
  other.join();
}

TEST_F(Shutdown, TheDestructorIsEnough) {
  {
    const Runtime runtime(store, Registry(), options);
    EXPECT_EQ(client.list_nodes().size(), 1U);
  }
  EXPECT_THAT(client.list_nodes(), IsEmpty());
}

TEST_F(Shutdown, AfterwardsNothingIsTaken) {
  Registry registry;
  Registry chores;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  add_flow(registry);
  add_chore(chores);
  for (const Milliseconds timeout : {1'000ms, 0ms}) {
    const auto runtime = run(registry);
    runtime->shutdown(timeout);
    client.start_orchestration("i", "Flow", StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal));
    options.fetch_only_registered = true;
    const auto other = run(chores);
    // W21: while somebody else works, a thread that went on would find it.
    for (int i = 0; i < 20; ++i) {
      const std::string chore = std::to_string(i) + " after " + std::to_string(timeout.count());
      client.start_orchestration(chore, "Chores");
      ASSERT_TRUE(end_of(chore).completed());
    }
    EXPECT_EQ(client.get_orchestration_status("i").state, OrchestrationState::kPending);
    const auto next = run(registry);
    EXPECT_EQ(end_of("i").result<int>(), 1);
  }
}

// ---- activities ----

TEST_F(Shutdown, AnActivityThatEndsInTimeIsCommitted) {
  const Gate begun;
  const Gate go_on;
  std::atomic<int> runs = 0;
  Registry registry;
  registry.add_activity("Work", [&, begun, go_on](ActivityContext& ctx) {
    ++runs;
    begun.open();
    go_on.wait();
    return ctx.is_cancelled() ? -1 : 7;
  });
  add_flow(registry);
  auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(begun.wait());
  std::thread helper = open_during_shutdown(go_on);
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  helper.join();
  EXPECT_EQ(store->acks, 1);
  const auto next = run(registry);
  EXPECT_EQ(end_of("i").result<int>(), 7);
  EXPECT_EQ(runs, 1) << "it does not run again";
}

TEST_F(Shutdown, TheLongestTimeoutDoesNotWrapIntoThePast) {
  const Gate begun;
  const Gate go_on;
  Registry registry;
  registry.add_activity("Work", [begun, go_on](ActivityContext& ctx) {
    begun.open();
    go_on.wait();
    return ctx.is_cancelled() ? -1 : 7;
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(begun.wait());
  std::thread helper = open_during_shutdown(go_on);
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(Milliseconds::max()); }));
  helper.join();
  EXPECT_EQ(store->acks, 1) << "it had all the time in the world";
}

// An asynchronous activity may be completed by its own function, which goes on for a while.
TEST_F(Shutdown, AFunctionThatReturnsLastEndsTheWaitForIt) {
  const Gate completed;
  const Gate go_on;
  Registry registry;
  registry.add_async_activity("Work", [completed, go_on](ActivityContext, ActivityCompletion<int> done) {
    done.complete(1);
    completed.open();
    go_on.wait();
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(completed.wait());
  EXPECT_EQ(end_of("i").result<int>(), 1);
  std::thread helper = open_during_shutdown(go_on);
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  helper.join();
}

TEST_F(Shutdown, AnActivityThatDoesNotEndInTimeIsGivenBackUncounted) {
  const Gate begun;
  const Gate stopped;
  Registry registry;
  registry.add_activity("Work", [begun, stopped](ActivityContext& ctx) {
    const std::stop_callback told(ctx.stop_token(), [&] { stopped.open(); });
    begun.open();
    stopped.wait();
    return -1;
  });
  add_flow(registry);
  {
    const auto runtime = run(registry);
    client.start_orchestration("i", "Flow");
    ASSERT_TRUE(begun.wait());
    EXPECT_TRUE(returns([runtime] { runtime->shutdown(50ms); }));
    EXPECT_TRUE(stopped.is_open());
  }
  EXPECT_EQ(store->acks, 0) << "its outcome is not wanted any more";
  EXPECT_EQ(attempts_after_fetching(), 1U) << "the lock is gone, and the attempt does not count";
  Registry again;
  again.add_activity("Work", [](ActivityContext& ctx) { return static_cast<int>(ctx.attempt()); });
  add_flow(again);
  const auto next = run(again);
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

TEST_F(Shutdown, WithoutPatienceActivitiesAreGivenBackAllTheSame) {
  for (int round = 0; round < 100; ++round) {
    const Gate begun;
    const Gate stopped;
    Registry registry;
    registry.add_activity("Work", [begun, stopped](ActivityContext& ctx) {
      const std::stop_callback told(ctx.stop_token(), [&] { stopped.open(); });
      begun.open();
      stopped.wait();
      return -1;
    });
    add_flow(registry);
    const auto runtime = run(registry);
    const std::string instance = "i" + std::to_string(round);
    client.start_orchestration(instance, "Flow");
    ASSERT_TRUE(begun.wait());
    ASSERT_TRUE(returns([runtime] { runtime->shutdown(0ms); }));
    ASSERT_TRUE(stopped.wait()) << "it is told to stop";
    ASSERT_EQ(attempts_after_fetching(), 1U) << "in round " << round;
    client.delete_instance(instance, true);
  }
}

TEST_F(Shutdown, AnAsynchronousActivityIsGivenBackToo) {
  std::optional<ActivityCompletion<int>> handle;
  const Gate begun;
  const Gate stopped;
  std::optional<std::stop_callback<std::function<void()>>> told;
  Registry registry;
  registry.add_async_activity("Work", [&, begun, stopped](ActivityContext ctx, ActivityCompletion<int> done) {
    told.emplace(ctx.stop_token(), [stopped] { stopped.open(); });
    handle.emplace(std::move(done));
    begun.open();
  });
  add_flow(registry);
  {
    const auto runtime = run(registry);
    client.start_orchestration("i", "Flow");
    ASSERT_TRUE(begun.wait());
    EXPECT_TRUE(returns([runtime] { runtime->shutdown(20ms); }));
  }
  EXPECT_TRUE(stopped.wait());
  EXPECT_EQ(attempts_after_fetching(), 1U);
  handle->complete(3);  // long after the runtime is gone
  handle.reset();
  EXPECT_EQ(client.get_queue_depths().messages, 0U);
  EXPECT_THAT(warnings(), IsEmpty()) << "no thread was left behind";
}

TEST_F(Shutdown, AnActivityThatIgnoresItsStopIsLeftToItsThreadAndNamed) {
  const Gate begun;
  const Gate go_on;
  auto alive = std::make_shared<int>(1);
  const std::weak_ptr<int> still_there = alive;
  {
    Registry registry;
    registry.add_activity("Stubborn", [begun, go_on, alive = std::move(alive)](ActivityContext&) {
      begun.open();
      go_on.wait();
      return 1;
    });
    add_flow(registry, "Flow", "Stubborn");
    options.shutdown_timeout = 20ms;
    auto runtime = run(registry);
    client.start_orchestration("i", "Flow");
    ASSERT_TRUE(begun.wait());
    registry = Registry();
    std::weak_ptr<Runtime> gone = runtime;
    EXPECT_TRUE(returns([dying = std::exchange(runtime, nullptr)]() mutable { dying.reset(); }));
    EXPECT_TRUE(gone.expired());
  }
  ASSERT_EQ(log->count(LogLevel::kError), 1U);
  auto told = log->find("Stubborn");  // by name
  std::erase_if(told, [](const CapturedLogRecord& record) { return record.level < LogLevel::kInfo; });
  EXPECT_TRUE(told.size() == 1 && told.front().level == LogLevel::kError) << told.size();
  EXPECT_EQ(attempts_after_fetching(), 1U) << "given back, although it runs";
  EXPECT_FALSE(still_there.expired());
  go_on.open();
  EXPECT_TRUE(eventually([&] { return still_there.expired(); })) << "its thread takes everything with it";
  EXPECT_EQ(store->acks, 0);
  EXPECT_EQ(client.get_queue_depths().messages, 0U) << "it commits nothing";
  EXPECT_EQ(client.get_queue_depths().activities, 1U);
}

TEST(ShutdownDeathTest, AProcessMayRatherEndThanLeaveAThreadBehind) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto leave_a_thread_behind = [] {
    const auto store = make_memory_provider();
    const Gate begun;
    const Gate never;
    Registry registry;
    registry.add_activity("Stubborn", [begun, never](ActivityContext&) {
      begun.open();
      never.wait();
    });
    registry.add_orchestration("Flow", [](OrchestrationContext ctx) -> Orchestration<void> {
      co_await ctx.schedule_activity<void>("Stubborn");
    });
    RuntimeOptions options;
    options.abort_if_stuck = true;
    Runtime runtime(store, registry, options);
    Client(store).start_orchestration("i", "Flow");
    begun.wait();
    runtime.shutdown(10ms);
  };
  EXPECT_EXIT(leave_a_thread_behind(), ::testing::KilledBySignal(SIGABRT), "");
}

// ---- turns ----

TEST_F(Shutdown, ATurnThatBlocksDoesNotHoldTheDestructorUp) {
  const Gate begun;
  const Gate go_on;
  const Gate returned;
  Registry registry;
  registry.add_orchestration("Blocks", [begun, go_on, returned](OrchestrationContext) -> Orchestration<int> {
    begun.open();
    go_on.wait();  // what no orchestration should do
    returned.open();
    co_return 1;
  });
  options.shutdown_timeout = 20ms;
  options.orchestrator_lock_timeout = 300ms;
  auto runtime = run(registry);
  client.start_orchestration("i", "Blocks");
  ASSERT_TRUE(begun.wait());
  EXPECT_TRUE(returns([dying = std::exchange(runtime, nullptr)]() mutable { dying.reset(); }));
  EXPECT_EQ(log->count(LogLevel::kError), 1U);
  go_on.open();
  EXPECT_TRUE(returned.wait());
  const auto next = run(registry);
  EXPECT_EQ(end_of("i").result<int>(), 1) << "once the lock has expired another node goes on";
}

TEST_F(Shutdown, ATurnThatHasBegunIsCommitted) {
  const Gate begun;
  const Gate go_on;
  Registry registry;
  registry.add_orchestration("Slow", [begun, go_on](OrchestrationContext) -> Orchestration<int> {
    begun.open();
    go_on.wait();
    co_return 1;
  });
  const auto runtime = run(registry);
  client.start_orchestration("i", "Slow");
  ASSERT_TRUE(begun.wait());
  std::thread helper = open_during_shutdown(go_on);
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  helper.join();
  EXPECT_EQ(client.get_orchestration_status("i").state, OrchestrationState::kCompleted);
  EXPECT_THAT(warnings(), IsEmpty());
}

// ---- nodes ----

TEST_F(Shutdown, ANodeIsSignedOnAndOff) {
  options.worker_node_id = "mine";
  const auto runtime = run(Registry());
  EXPECT_EQ(runtime->node_id(), "mine");
  const auto nodes = client.list_nodes();
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, "mine");
  EXPECT_EQ(nodes[0].engine_version, engine_version());
  EXPECT_THAT(nodes[0].filter.engine_versions, ElementsAre(VersionRange{{0, 0, 0}, engine_version()}));
  runtime->shutdown();
  EXPECT_THAT(client.list_nodes(), IsEmpty());
}

TEST_F(Shutdown, TwoRuntimesOnOneStoreAreTwoNodes) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  add_flow(registry);
  const auto first = run(registry);
  const auto second = run(registry);
  EXPECT_NE(first->node_id(), second->node_id());
  EXPECT_EQ(client.list_nodes().size(), 2U);
  EXPECT_TRUE(returns([first] { first->shutdown(kHuge); }));
  ASSERT_EQ(client.list_nodes().size(), 1U);
  EXPECT_EQ(client.list_nodes()[0].id, second->node_id());
  client.start_orchestration("i", "Flow");
  EXPECT_EQ(end_of("i").result<int>(), 1) << "the other goes on";
}

TEST_F(Shutdown, AStoreThatDoesNotTakeTheNodeIsAnError) {
  store->registration_fails = true;
  EXPECT_THROW(Runtime(store, Registry(), options), ProviderFailure);
}

TEST_F(Shutdown, ANodeThatCannotSignOffIsLogged) {
  const auto runtime = run(Registry());
  store->removal_fails = true;
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(kHuge); }));
  EXPECT_EQ(log->count(LogLevel::kWarn), 1U);
}

// A provider of somebody else's may throw; a destructor may not.
class ThrowingStore final : public testing::ForwardingProvider {
 public:
  ThrowingStore() : ForwardingProvider(make_memory_provider()) {}
  ProviderResult<void> remove_node(const std::string&) override { throw std::runtime_error("socket closed"); }
};

TEST_F(Shutdown, AStoreThatThrowsAtTheEndIsLogged) {
  Runtime runtime(std::make_shared<ThrowingStore>(), Registry(), options);
  EXPECT_NO_THROW(runtime.shutdown());
  EXPECT_EQ(log->find("socket closed").size(), 1U);
}

// ---- a store that fails ----

TEST_F(Shutdown, AStoreThatIsAwayForAWhileIsWaitedFor) {
  Registry registry;
  registry.add_activity("Work", [](ActivityContext&) { return 1; });
  add_flow(registry);
  store->fetches_fail = true;
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(eventually([&] { return store->failures >= 3; }));
  store->fetches_fail = false;
  EXPECT_EQ(end_of("i").result<int>(), 1);
}

TEST_F(Shutdown, ARuntimeEndsWhileItsStoreIsAway) {
  const Gate begun;
  const Gate go_on;
  Registry registry;
  registry.add_activity("Work", [begun, go_on](ActivityContext&) {
    begun.open();
    go_on.wait();
    return 1;
  });
  add_flow(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(begun.wait());
  store->fetches_fail = true;
  store->commits_fail = true;
  store->acks_fail = true;
  store->abandons_fail = true;
  client.start_orchestration("j", "Flow");
  go_on.open();
  EXPECT_TRUE(eventually([&] { return store->failures >= 3; }));
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(100ms); }));
}

}  // namespace
}  // namespace perdure::test
