// The server's clock decides, whatever the clocks of the nodes say.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include "postgres/orders.h"
#include "providers/postgres/postgres_store.h"
#include "support/calling_sink.h"
#include "support/postgres_schema.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart{Milliseconds(1'700'000'000'000)};

// One that is wrong by an hour.
RuntimeOptions wrong_by(Milliseconds offset) {
  RuntimeOptions options;
  options.clock = std::make_shared<ManualClock>(kStart + offset);
  return options;
}

class PostgresClocks : public ::testing::TestWithParam<Milliseconds> {
 protected:
  PostgresSchema schema{kStart};
};

TEST_P(PostgresClocks, ANodeWithAWrongClockFiresNoTimerEarlyOrLate) {
  const auto store = schema.connect();
  Registry registry;
  registry.add_orchestration("Timer", [](OrchestrationContext ctx) -> Orchestration<std::int64_t> {
    const Timestamp before = ctx.utc_now();
    co_await ctx.schedule_timer(10min);
    co_return (ctx.utc_now() - before).count();
  });
  const Runtime runtime(store, registry, wrong_by(GetParam()));
  const Client client(store);
  client.start_orchestration("i", "Timer");
  while (client.get_orchestration_status("i").state != OrchestrationState::kRunning ||
         store->admin()->queue_depths().value().delayed_messages == 0) {
    std::this_thread::yield();
  }
  schema.advance(10min - 1ms);  // what fires now sees its time in the result
  schema.advance(1ms);
  const OrchestrationStatus status = client.wait_for_orchestration("i", 1min);
  ASSERT_EQ(status.state, OrchestrationState::kCompleted);
  EXPECT_GE(status.result<std::int64_t>(), std::chrono::milliseconds(10min).count());
}

TEST_P(PostgresClocks, ANodeWithAWrongClockTakesALockWhenItEndsAndNotBefore) {
  const auto store = schema.connect();
  Registry registry;
  registry.add_orchestration("Order", [](OrchestrationContext ctx) -> Orchestration<std::int64_t> {
    co_return ctx.utc_now().time_since_epoch().count();
  });
  const Client client(store);
  client.start_orchestration("i", "Order");
  OrchestrationFetch fetch;
  fetch.lock_timeout = 10min;
  ASSERT_TRUE(store->fetch_orchestration_item(fetch).value().has_value()) << "and its holder is never heard of again";
  const Runtime runtime(store, registry, wrong_by(GetParam()));
  schema.advance(10min - 1ms);
  schema.advance(1ms);
  const OrchestrationStatus status = client.wait_for_orchestration("i", 1min);
  ASSERT_EQ(status.state, OrchestrationState::kCompleted);
  // Its turn began when the lock had ended, by the server's clock.
  EXPECT_GE(status.result<std::int64_t>(), (kStart + 10min).time_since_epoch().count());
}

INSTANTIATE_TEST_SUITE_P(Offsets, PostgresClocks, ::testing::Values(Milliseconds(3'600'000), Milliseconds(-3'600'000)),
                         [](const auto& offset) { return offset.param.count() > 0 ? "AnHourAhead" : "AnHourBehind"; });

TEST(PostgresTime, NeverRunsBackwardsForAProvider) {
  PostgresSchema schema(kStart);
  const auto store = schema.connect();
  ASSERT_EQ(store->now(), kStart);
  schema.step(-5min);  // another server after a failover, or a clock that was set
  EXPECT_EQ(store->now(), kStart);
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  OrchestrationFetch fetch;
  fetch.lock_timeout = 1min;
  const OrchestrationBatch batch = store->fetch_orchestration_items(fetch).value();
  EXPECT_EQ(batch.now, kStart);
  ASSERT_EQ(batch.items.size(), 1U);
  EXPECT_EQ(batch.items[0].locked_until, kStart + 1min);
  schema.advance(5min);
  EXPECT_EQ(store->now(), kStart + 270s) << "nine tenths of the time that has passed";
  schema.advance(45min);
  EXPECT_EQ(store->now(), kStart + 45min) << "the clock has caught up";
  schema.advance(1min);
  EXPECT_EQ(store->now(), kStart + 46min);
}

// Otherwise a message could become visible before one that was sent earlier.
TEST(PostgresTime, NeverRunsBackwardsAfterASmallStepBack) {
  PostgresSchema schema(kStart);
  PostgresOptions options;
  options.schema = schema.name();
  options.clock = std::make_shared<ManualClock>(kStart);
  const auto store = PostgresProvider::connect(shared_postgres_url(), options);
  schema.step(-900ms);  // less than time_tolerance
  EXPECT_TRUE(store->fetch_work_items({}).has_value()) << "shows that the server is behind";
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  const OrchestrationItem item = store->fetch_orchestration_item().value().value();
  ASSERT_EQ(item.messages.size(), 1U);
  EXPECT_EQ(item.messages[0].record.visible_at, kStart);
}

// A node asks for the time with its locks held, several times for each request.
TEST(PostgresTime, CostsFewCallsWhileTheServerIsBehind) {
  PostgresSchema schema(kStart);
  const auto clock = std::make_shared<ManualClock>(kStart);
  clock->advance(1h);  // since the machine was booted
  PostgresOptions options;
  options.schema = schema.name();
  options.clock = clock;
  const auto store = PostgresProvider::connect(shared_postgres_url(), options);
  schema.step(-10min);
  const auto advance = [&](Milliseconds by) {
    schema.step(by);
    clock->advance(by);
  };
  const auto& counted = dynamic_cast<const postgres::PostgresStore&>(*store);
  for (int i = 0; i < 2; ++i) {  // the first response shows the step, and the second call proposes a time
    ASSERT_TRUE(store->fetch_work_items({}).has_value());
    advance(10ms);
  }
  const std::uint64_t before = counted.round_trips();
  for (int i = 0; i < 1'000; ++i) {
    advance(10ms);
    static_cast<void>(store->now());
  }
  EXPECT_LE(counted.round_trips() - before, 11U) << "one for each second";
  EXPECT_EQ(store->now(), kStart + 10'020ms * 9 / 10);
}

// By less than time_tolerance. The wait has seen the timer before a node proposes its time, and lasts until the store
// fires it.
TEST(PostgresTime, AWaitLooksRarelyAfterASmallStepBack) {
  PostgresSchema schema(kStart);
  PostgresOptions options;
  options.schema = schema.name();
  options.clock = std::make_shared<ManualClock>(kStart);
  options.time_tolerance = 1h;
  options.poll_interval = 1h;
  const auto store = PostgresProvider::connect(shared_postgres_url(), options);
  MessageRecord timer = message_for("a", MessageKind::kQueueMessage);
  timer.visible_at = kStart + 10min;
  ASSERT_TRUE(store->enqueue_start(start_of("a"), StartPolicy::kFail).has_value());
  ASSERT_TRUE(store->ack_orchestration_item(first_turn_of(store->fetch_orchestration_item().value().value(), 1)));
  ASSERT_TRUE(store->enqueue_message(timer).has_value());
  schema.step(20min);
  ASSERT_TRUE(store->fetch_work_items({}).has_value()) << "sees the later time";
  schema.step(-20min);
  const auto& counted = dynamic_cast<const postgres::PostgresStore&>(*store);
  const std::uint64_t before = counted.round_trips();
  std::thread waiting([&] {
    const WorkWait work{.orchestrations = OrchestrationFetch{}, .activities = {}};
    EXPECT_TRUE(store->wait_for_work(work, Timestamp::max()).has_value());
  });
  while (counted.round_trips() < before + 2) std::this_thread::yield();  // an announcement and a look
  const std::uint64_t looked = counted.round_trips();
  constexpr std::uint64_t kCalls = 500;
  for (std::uint64_t i = 0; i < kCalls; ++i) EXPECT_TRUE(store->read_status("a").has_value());
  EXPECT_LE(counted.round_trips() - looked, kCalls + 3);
  schema.step(20min);  // and tells the wait
  waiting.join();
}

// A clock that is set back is reported when it is certain that no response was only late.
TEST(PostgresTime, ReportsEachJumpOnceWithItsSize) {
  PostgresSchema schema(kStart);
  const auto sink = std::make_shared<CallingSink>();
  PostgresOptions options;
  options.logger = Logger(sink);
  const auto store = schema.connect(options);
  sink->use(store);
  const auto see_time = [&] { EXPECT_TRUE(store->fetch_work_items({}).has_value()); };
  const auto pass = [&](Milliseconds by) {
    schema.advance(by);
    see_time();
  };
  pass(1min);
  EXPECT_EQ(sink->take_jumps(), "");
  schema.step(1h);
  EXPECT_EQ(store->now(), kStart + 1h + 1min);
  EXPECT_EQ(sink->take_jumps(), "") << "the runtime asks for the time with its locks held";
  see_time();
  see_time();
  EXPECT_EQ(sink->take_jumps(), "3600000 ");
  pass(1min);
  schema.step(-1h);
  static_cast<void>(store->now());
  pass(10s);
  EXPECT_EQ(sink->take_jumps(), "-3600000 ");
  for (int i = 0; i < 12; ++i) pass(1h);
  EXPECT_EQ(sink->take_jumps(), "") << "the clock catches up, which is no jump";
  EXPECT_EQ(sink->blocked(), 0) << "a call of the sink waits for the store";
}

}  // namespace
}  // namespace perdure::test
