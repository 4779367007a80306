// The parts of `perdure bench`, each alone.
#include <numeric>

#include <gmock/gmock.h>

#include <perdure/memory_provider.h>
#include "bench/program.h"
#include "ceiling/ceiling.h"
#include "cli/bench/flight.h"
#include "cli/bench/measuring_store.h"
#include "percentile.h"
#include "providers/sqlite/sqlite_store.h"

namespace perdure::test {
namespace {

using cli::bench::CountBoard;
using cli::bench::EndBoard;
using cli::bench::fly;

constexpr Milliseconds kLong{60'000};
constexpr Milliseconds kShort{1};

TEST(BenchPercentile, IsAValueOfTheList) {
  std::vector<double> values(101);
  std::iota(values.rbegin(), values.rend(), 0.0);  // 100 down to 0
  EXPECT_EQ(bench::percentile(values, 0), 0);
  EXPECT_EQ(bench::percentile(values, 0.5), 50);
  EXPECT_EQ(bench::percentile(values, 0.99), 99);
  EXPECT_EQ(bench::percentile(values, 1), 100);
  EXPECT_EQ(bench::percentile({7}, 0.99), 7);
  EXPECT_EQ(bench::percentile({1, 2}, 0.5), 1);
  EXPECT_EQ(bench::percentile({1, 2}, 0.99), 2) << "half of them exceed 1";
}

TEST(BenchFlight, EverySeatFliesAtLeastOnce) {
  const std::atomic<bool> stop = true;
  std::atomic<int> flights = 0;
  const auto flown = fly(5, 100, stop, [&](std::size_t, std::size_t) { ++flights; });
  EXPECT_EQ(flights, 5);
  EXPECT_EQ(flown.durations_us.size(), 5U);
}

TEST(BenchFlight, WhatASeatThrowsEndsTheFlight) {
  const std::atomic<bool> stop = false;
  const auto one = [](std::size_t seat, std::size_t number) {
    if (seat == 1 && number == 3) throw std::runtime_error("seat 1");
  };
  EXPECT_THROW((void)fly(3, 3'600, stop, one), std::runtime_error);
}

TEST(BenchBoards, AnEndThatCameFirstIsNotMissed) {
  EndBoard board;
  board.expect("a");
  board.ended("a", ExecutionStatus::kContinuedAsNew);
  board.ended("other", ExecutionStatus::kFailed);
  board.ended("a", ExecutionStatus::kCompleted);
  EXPECT_NO_THROW(board.wait("a", kLong));
}

TEST(BenchBoards, AWorkflowThatFailsOrNeverEndsIsAnError) {
  EndBoard board;
  board.expect("a");
  board.ended("a", ExecutionStatus::kFailed);
  EXPECT_THROW(board.wait("a", kLong), std::runtime_error);
  board.expect("b");
  EXPECT_THROW(board.wait("b", kShort), std::runtime_error);
}

TEST(BenchBoards, ACountIsReachedOrMissed) {
  CountBoard board;
  EXPECT_EQ(board.next(), 1U);
  EXPECT_EQ(board.next(), 2U);
  board.done(2);
  EXPECT_NO_THROW(board.wait(2, kLong, "signals"));
  EXPECT_THROW(board.wait(3, kShort, "signals"), std::runtime_error);
}

TEST(BenchStore, OnlyTransactionsThatChangeSomethingAreWrites) {
  const StoreFolder folder;
  sqlite::SqliteStore store((folder.path() / "store.db").string(), {});
  const auto before = store.write_transactions();
  EXPECT_TRUE(store.fetch_orchestration_items({}).value().items.empty());
  EXPECT_EQ(store.write_transactions(), before);
  MessageRecord start;
  start.kind = MessageKind::kStartOrchestration;
  start.instance = "a";
  start.name = "A";
  start.body = "{}";
  ASSERT_TRUE(store.enqueue_start(start, StartPolicy::kIgnore));
  EXPECT_EQ(store.write_transactions(), before + 1);
  ASSERT_TRUE(store.enqueue_start(start, StartPolicy::kIgnore));
  EXPECT_EQ(store.write_transactions(), before + 1) << "it was there already";
  EXPECT_EQ(store.fetch_orchestration_items({}).value().items.size(), 1U);
  EXPECT_EQ(store.write_transactions(), before + 2) << "a lock is written";
}

// A turn of an instance, by hand.
TEST(BenchStore, SeesWhatATurnWritesAndWhenItEnds) {
  std::vector<cli::bench::MeasuringStore::Committed> turns;
  cli::bench::MeasuringStore store(make_memory_provider(), [&](const auto& turn) { turns.push_back(turn); });
  MessageRecord start;
  start.kind = MessageKind::kStartOrchestration;
  start.instance = "a";
  start.name = "A";
  start.body = "12345";
  ASSERT_TRUE(store.enqueue_start(start, StartPolicy::kIgnore));
  const auto batch = store.fetch_orchestration_items({}).value();
  ASSERT_EQ(batch.items.size(), 1U);
  TurnCommit commit;
  commit.token = batch.items[0].token;
  commit.commit_id = 1;
  commit.consumed.push_back(batch.items[0].messages.at(0).id);
  commit.started = StartedMetadata{"A", SemanticVersion{1, 0, 0}, {}, engine_version(), 0};
  EventRecord event;
  event.event_id = 1;
  event.kind = 1;
  event.turn = 1;
  event.body = "1234567";
  commit.events.push_back(event);
  commit.status = StatusChange{ExecutionStatus::kCompleted, "1"};
  const std::vector<TurnCommit> commits{commit};
  ASSERT_TRUE(store.ack_orchestration_items(commits).at(0));
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].instance, "a");
  EXPECT_EQ(turns[0].status, ExecutionStatus::kCompleted);
  EXPECT_EQ(turns[0].signals, 0U);
  const auto seen = store.take();
  EXPECT_EQ(seen.written.turns, 1U);
  EXPECT_EQ(seen.written.events, 1U);
  EXPECT_EQ(seen.written.event_bytes, 7U);
  EXPECT_EQ(seen.written.message_bytes, 5U);
  EXPECT_EQ(seen.calls, 3U);
  EXPECT_TRUE(seen.turn_gaps_us.empty()) << "one turn has no gap";
  EXPECT_EQ(store.take().written.turns, 0U);
}

TEST(BenchCeiling, BareSqliteTakesStepsAndLeavesNothingBehind) {
  const StoreFolder folder;
  ceiling::Load load;
  load.path = (folder.path() / "bare.db").string();
  load.synced = false;
  load.seconds = 0.02;
  load.instances = 16;
  load.batch = 8;
  for (const char* shape : {"plain", "fused"}) {
    load.shape = shape;
    const ceiling::Reached reached = ceiling::run_sqlite(load);
    EXPECT_GE(reached.steps, 8U) << shape;
    EXPECT_GT(reached.steps_per_second(), 0) << shape;
  }
  EXPECT_FALSE(ceiling::sqlite_commits(load).empty());
  EXPECT_TRUE(folder.is_empty());
}

TEST(BenchCeiling, AFileThatCannotBeMadeIsAnError) {
  ceiling::Load load;
  load.path = "no/such/folder/bare.db";
  EXPECT_THROW((void)ceiling::run_sqlite(load), std::runtime_error);
  EXPECT_THROW((void)ceiling::sqlite_commits(load), std::runtime_error);
}

}  // namespace
}  // namespace perdure::test
