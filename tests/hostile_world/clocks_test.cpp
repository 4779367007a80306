// Clocks that are set, and processes that are stopped, in the midst of what a store or a node does with them.
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/sqlite_scene.h"
#include "runtime/threaded.h"
#include "support/temporary_folder.h"
#include "testing/validation/moves.h"

namespace perdure::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

// A clock that does something right after one of its readings, before the reader goes on.
class DisturbedClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override {
    const Timestamp time = clock_.now();
    count_reading();
    return time;
  }
  [[nodiscard]] Milliseconds steady() const override {
    const Milliseconds time = clock_.steady();
    count_reading();
    return time;
  }
  [[nodiscard]] std::string steady_origin() const override { return clock_.steady_origin(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Milliseconds until) override {
    clock_.wait_until(lock, changed, until);
  }

  [[nodiscard]] ManualClock& real() noexcept { return clock_; }
  // After that many more readings.
  void disturb_after(int readings, std::function<void(ManualClock&)> how) {
    how_ = std::move(how);
    left_ = readings;
  }
  [[nodiscard]] bool is_disturbed() const noexcept { return left_ < 0; }

 private:
  void count_reading() const {
    if (left_ >= 0 && left_-- == 0) how_(clock_);
  }

  mutable ManualClock clock_{Timestamp(Milliseconds{1'700'000'000'000})};
  mutable std::atomic<int> left_{-1};
  std::function<void(ManualClock&)> how_;
};

class ClockedStore : public ProviderFactory {
 public:
  [[nodiscard]] std::shared_ptr<Provider> create() override {
    SqliteOptions options;
    options.clock = clock;
    options.logger = Logger(log);
    return SqliteProvider::open(folder.file("store.db"), options);
  }
  void advance(Milliseconds by) override { clock->real().advance(by); }
  void step(Milliseconds by) override { clock->real().step(by); }
  void corrupt_history(Provider& /*store*/, const std::string& /*instance*/) override {}
  [[nodiscard]] Milliseconds orphan_retention() const override { return 24h; }

  test::TemporaryFolder folder;
  std::shared_ptr<DisturbedClock> clock = std::make_shared<DisturbedClock>();
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
};

class StoppedInATransaction : public ::testing::Test {
 protected:
  ClockedStore file;
};

// SIGSTOP, or a machine that sleeps: both clocks go on. Taken for a step of the source, the time in between would
// extend locks and then count twice.
TEST_F(StoppedInATransaction, BetweenAnyTwoReadingsOfTheClocksIsNoJump) {
  Scene scene(file);
  Scene other(file);
  scene.enqueue_start("held");
  for (int readings = 0;; ++readings) {
    file.advance(1min);
    const OrchestrationItem item = scene.fetch();
    file.clock->disturb_after(readings, [](ManualClock& clock) { clock.advance(1h); });
    other.enqueue(event_message("other", "x"));
    if (!file.clock->is_disturbed()) break;
    EXPECT_EQ(scene.now(), file.clock->real().now()) << readings;
    EXPECT_EQ(other.now(), file.clock->real().now()) << readings;
    EXPECT_FALSE(scene.store().renew_orchestration_lock(item.token, 5s).has_value())
        << readings << ": its lock ended long ago";
  }
}

TEST_F(StoppedInATransaction, OpeningSeesNoJump) {
  Scene(file).create("order");
  for (int readings = 0;; ++readings) {
    file.clock->disturb_after(readings, [](ManualClock& clock) { clock.advance(1h); });
    Scene scene(file);
    scene.enqueue(event_message("order", "x"));
    if (!file.clock->is_disturbed()) break;
    EXPECT_EQ(scene.now(), file.clock->real().now()) << readings;
  }
}

// Creation, which is the only migration there is, and every later opening.
TEST(SteppedClock, AnyReadingOfAnOpeningMayBeFollowedByAStep) {
  for (const Milliseconds by : {Milliseconds(1h), Milliseconds(-1h)}) {
    for (int readings = 0;; ++readings) {
      ClockedStore file;
      file.clock->disturb_after(readings, [by](ManualClock& clock) { clock.step(by); });
      Scene scene(file);
      if (!file.clock->is_disturbed()) break;
      const Timestamp before = scene.now();
      scene.create("order");
      Scene other(file);
      EXPECT_GE(other.now(), before) << by.count() << " after " << readings;
      other.enqueue(event_message("order", "x"));
      const OrchestrationItem item = other.fetch();
      scene.fetch_nothing();
      file.advance(kLockTimeout * 10 / 9 + 1ms);
      EXPECT_EQ(scene.fetch().instance, item.instance);
    }
  }
}

// The lock of a session is a duration; only its idle time is judged by store time.
TEST(SteppedClock, AStepWhileASessionIdlesGivesItToOneNodeOnly) {
  for (const Milliseconds by : {Milliseconds(1h), Milliseconds(-1h)}) {
    ClockedStore file;
    Scene scene(file);
    Scene other(file);
    scene.create_with_activities("order",
                                 {in_session(activity("order", 2), "s"), in_session(activity("order", 3), "s")});
    scene.ack_work(scene.fetch_work(as_worker("owner")));
    file.step(by);
    EXPECT_TRUE(scene.store().renew_sessions(std::array<std::string, 1>{"owner"}, 30s, 5min).has_value());
    const bool released = by > 0ms;  // it has idled for more than five minutes of store time
    if (released) {
      EXPECT_EQ(other.fetch_work(as_worker("another")).record.instance, "order");
      scene.fetch_no_work(as_worker("owner"));
    } else {
      other.fetch_no_work(as_worker("another"));
      EXPECT_EQ(scene.fetch_work(as_worker("owner")).record.instance, "order");
    }
  }
}

// A node on a file: a timer of 200 ms, and a wait of a client for one second.
TEST(SteppedClock, AStepBackDelaysNeitherATimerNorAWait) {
  ClockedStore file;
  const auto store = file.create();
  Registry registry;
  registry.add_orchestration("Sleep", [](OrchestrationContext ctx, std::int64_t ms) -> Orchestration<int> {
    co_await ctx.schedule_timer(Milliseconds(ms));
    co_return 1;
  });
  RuntimeOptions options;
  options.clock = file.clock;
  const Runtime runtime(store, registry, options);
  const Client client(store);
  client.start_orchestration("short", "Sleep", 200);
  client.start_orchestration("long", "Sleep", 3'600'000);
  ASSERT_TRUE(test::eventually([&] { return store->admin()->queue_depths().value().delayed_messages == 2; }));
  const test::Gate waited;
  std::thread waiting([&] {
    EXPECT_THROW(client.wait_for_orchestration("long", 1s), ClientError);
    waited.open();
  });
  file.step(-1h);
  file.advance(223ms);  // ten ninths
  EXPECT_TRUE(test::eventually([&] { return client.get_orchestration_status("short").completed(); }));
  EXPECT_TRUE(test::eventually([&] {
    file.advance(10ms);
    return waited.is_open();
  }));
  waiting.join();
  EXPECT_FALSE(client.get_orchestration_status("long").ended());
}

class ClockedNode : public test::Threaded {
 protected:
  ClockedNode() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds{1'700'000'000'000}))) {}
};

TEST_F(ClockedNode, AStepWhileItShutsDownNeitherHoldsItUpNorLosesAnOutcome) {
  for (const Milliseconds by : {Milliseconds(24h), Milliseconds(-24h)}) {
    const test::Gate begun;
    const test::Gate go_on;
    Registry registry;
    registry.add_activity("Work", [&](ActivityContext&) {
      begun.open();
      go_on.wait();
      return 7;
    });
    add_flow(registry);
    const std::string instance = "i" + std::to_string(by.count());
    client.start_orchestration(instance, "Flow");
    auto runtime = run(registry);
    ASSERT_TRUE(begun.wait());
    const test::Gate down;
    std::thread ending([&] {
      runtime->shutdown(30s);
      down.open();
    });
    clock->step(by);
    clock->advance(1s);
    go_on.open();
    EXPECT_TRUE(down.wait());
    ending.join();
    const auto next = run(registry);
    EXPECT_EQ(end_of(instance).result<int>(), 7);
  }
}

TEST_F(ClockedNode, TimersAtTheEndsOfTheRangeFireAtOnceOrNever) {
  Registry registry;
  registry.add_orchestration("Sleep", [](OrchestrationContext ctx, std::int64_t ms) -> Orchestration<int> {
    co_await ctx.schedule_timer(Milliseconds(ms));
    co_return 1;
  });
  const auto runtime = run(registry);
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-1}, Limits::min(), Limits::min() + 1}) {
    client.start_orchestration("past" + std::to_string(ms), "Sleep", ms);
    EXPECT_TRUE(end_of("past" + std::to_string(ms)).completed()) << ms;
  }
  for (const std::int64_t ms : {Limits::max(), Limits::max() - 1, Limits::max() / 2}) {
    client.start_orchestration("never" + std::to_string(ms), "Sleep", ms);
  }
  client.start_orchestration("later", "Sleep", 1'000);
  EXPECT_TRUE(test::eventually([&] { return client.get_system_metrics().running == 4 && runtime->idle(); }));
  clock->advance(Milliseconds(1s));
  EXPECT_TRUE(end_of("later").completed());
  clock->advance(Milliseconds(24h * 365 * 100));
  client.start_orchestration("after", "Sleep", 0);
  EXPECT_TRUE(end_of("after").completed());
  for (const std::int64_t ms : {Limits::max(), Limits::max() - 1, Limits::max() / 2}) {
    const std::string instance = "never" + std::to_string(ms);
    EXPECT_FALSE(ended(instance)) << client.get_orchestration_status(instance).error_text();
    client.cancel_instance(instance);
    EXPECT_TRUE(end_of(instance).ended());
  }
}

}  // namespace
}  // namespace perdure::testing
