// Activities in great number and for a long time: their locks are renewed, none is fetched twice, and a node that ends
// in the midst of them loses nothing.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"
#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::IsEmpty;
using Ctx = OrchestrationContext;

constexpr Milliseconds kActivityLock{30'000};  // RuntimeOptions::worker_lock_timeout

// Fan runs so many activities at once and answers how many have ended well.
void add_fan(Registry& registry) {
  registry.add_orchestration("Fan", [](Ctx ctx, int width) -> Orchestration<int> {
    std::vector<Future<std::string>> parts;
    for (int i = 0; i < width; ++i) parts.push_back(ctx.schedule_activity<std::string>("Work"));
    int count = 0;
    for (const std::string& part : co_await ctx.join(std::move(parts))) count += part == "ready" ? 1 : 0;
    co_return count;
  });
}

Registry fan_of_open_calls(const OpenCalls& calls) {
  Registry registry;
  calls.add_to(registry);
  add_fan(registry);
  return registry;
}

void complete_all(const OpenCalls& calls) {
  for (const OpenCalls::Call& call : calls.all()) call.done.complete("ready");
}

// Attempts that were fetched; of an activity that is fetched twice one is not the first.
std::vector<std::uint32_t> attempts_of(const Watch& watch) {
  std::vector<std::uint32_t> attempts;
  for (const Watch::Fetched& fetched : watch.activities) attempts.push_back(fetched.attempt);
  return attempts;
}

// ---- Step by step --------------------------------------------------------------------------------------------------

class LongActivities : public InEveryCluster {
 protected:
  OpenCalls calls;
};
PERDURE_IN_EVERY_CLUSTER(LongActivities);

TEST_P(LongActivities, HundredsAreKeptOverManyLocksAndFetchedOnce) {
  constexpr int kMany = 300;
  const auto views = std::vector{cluster.watched(), cluster.watched()};
  for (const auto& view : views) cluster.start_node(fan_of_open_calls(calls), {}, view);
  cluster.client().start_orchestration("i", "Fan", kMany);
  cluster.settle();
  ASSERT_EQ(calls.size(), static_cast<std::size_t>(kMany));
  for (int i = 0; i < 10; ++i) cluster.advance(kActivityLock / 3);
  complete_all(calls);
  EXPECT_EQ(cluster.wait("i").result<int>(), kMany);
  EXPECT_EQ(views[0]->activities.size() + views[1]->activities.size(), static_cast<std::size_t>(kMany));
  for (const auto& view : views) EXPECT_THAT(attempts_of(*view), Each(1U));
  EXPECT_THAT(cluster.warnings(), IsEmpty());
}

TEST_P(LongActivities, WhatANodeHasFetchedAndNotBegunIsGivenBackUncounted) {
  const auto view = cluster.watched();
  RuntimeOptions wide;
  wide.worker_concurrency = 50;
  auto& first = cluster.start_node(fan_of_open_calls(calls), wide, view);
  cluster.client().start_orchestration("i", "Fan", 100);
  ASSERT_TRUE(cluster.step_until([&] { return calls.size() >= 5; }));
  const std::size_t begun = calls.size();
  first.drain();
  while (!first.idle()) {  // what was on its way to a thread begins, and ends
    complete_all(calls);
    ASSERT_TRUE(cluster.step());
  }
  cluster.stop_node(first);
  EXPECT_GE(calls.size(), begun);
  EXPECT_LT(calls.size(), 100U);
  const auto again = cluster.watched();
  cluster.start_node(fan_of_open_calls(calls), wide, again);
  cluster.settle();
  EXPECT_EQ(calls.size(), 100U) << "none has begun twice";
  EXPECT_THAT(attempts_of(*again), Each(1U)) << "nobody counts what did not begin";
  complete_all(calls);
  EXPECT_EQ(cluster.wait("i").result<int>(), 100);
}

// ---- With threads --------------------------------------------------------------------------------------------------

class LongActivitiesWithThreads : public Threaded {
 protected:
  LongActivitiesWithThreads() : Threaded(std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)))) {}
};

TEST_F(LongActivitiesWithThreads, HundredsAreKeptWhileOthersComeAndGo) {
  constexpr int kMany = 400;
  const OpenCalls calls;
  Registry registry = fan_of_open_calls(calls);
  add_chore(registry);
  const auto runtime = run(registry);
  client.start_orchestration("i", "Fan", kMany);
  ASSERT_TRUE(eventually([&] { return calls.size() == kMany; }));
  pass_in_steps(kActivityLock / 6, 30);
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kMany)) << "none was fetched twice";
  EXPECT_GE(store->work_renewals, 8);
  for (const OpenCalls::Call& call : calls.all()) {
    ASSERT_FALSE(call.ctx.is_cancelled());
    ASSERT_EQ(call.ctx.attempt(), 1U);
  }
  complete_all(calls);
  EXPECT_EQ(end_of("i").result<int>(), kMany);
  EXPECT_THAT(warnings(), IsEmpty());
}

// Each on its own store; with a limit on asynchronous activities that lets all of them be out together.
void run_five_thousand(const WorldKind& kind) {
  constexpr int kMany = 5'000;
  World world(kind);
  const OpenCalls calls;
  RuntimeOptions options;
  options.worker_concurrency = 2;
  options.max_async_activities = kMany;
  world.start_node(fan_of_open_calls(calls), options);
  world.client().start_orchestration("i", "Fan", kMany);
  ASSERT_TRUE(eventually([&] { return calls.size() == kMany; })) << calls.size();
  complete_all(calls);
  EXPECT_EQ(world.wait("i").result<int>(), kMany);
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST(ThousandsOfActivities, AreOutAtOnceOnTwoThreadsInMemory) {
  run_five_thousand({.threads = true});
}

TEST(ThousandsOfActivities, AreOutAtOnceOnTwoThreadsInSqlite) {
  run_five_thousand({.store = StoreKind::kSqlite, .threads = true});
}

TEST(ThousandsOfActivities, AreOutAtOnceOnTwoThreadsInPostgres) {
  run_five_thousand({.store = StoreKind::kPostgres, .threads = true});
}

// Short ones, of which some run, some wait for a thread and most are in the queue when the node ends.
TEST_F(LongActivitiesWithThreads, ANodeThatEndsInTheMidstOfManyRunsNoneTwice) {
  constexpr int kMany = 500;
  std::atomic<int> runs = 0;
  std::atomic<int> repeated = 0;
  Registry registry;
  registry.add_activity("Work", [&](ActivityContext& ctx) {
    ++runs;
    if (ctx.attempt() > 1) ++repeated;
    return std::string("ready");
  });
  add_fan(registry);
  options.worker_concurrency = 8;
  client.start_orchestration("i", "Fan", kMany);
  for (int part = 1; part <= 4; ++part) {
    const auto runtime = run(registry);
    ASSERT_TRUE(eventually([&] { return runs >= part * kMany / 5; }));
    EXPECT_TRUE(returns([runtime] { runtime->shutdown(std::chrono::hours(1)); }));
  }
  const auto runtime = run(registry);
  EXPECT_EQ(end_of("i").result<int>(), kMany);
  EXPECT_EQ(runs, kMany);
  EXPECT_EQ(repeated, 0) << "what was given back does not count";
  EXPECT_THAT(warnings(), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
