// Cancellations reach running activities soon: within a second by the store's clock, without a renewal of their locks.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/open_calls.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using Ctx = OrchestrationContext;

constexpr Milliseconds kSoon{1'000};

RuntimeOptions registered_only() {
  RuntimeOptions options;
  options.fetch_only_registered = true;
  return options;
}

// Flow waits for an activity that stays open. Race gives it up when the event "enough" comes.
Registry turns_only() {
  Registry registry;
  add_flow(registry, ActivityOptions());
  registry.add_orchestration("Race", [](Ctx ctx) -> Orchestration<std::string> {
    const auto first =
        co_await perdure::select{ctx.schedule_activity<std::string>("Work"), ctx.schedule_wait<void>("enough")};
    co_await ctx.schedule_wait<void>("end");
    co_return first.index() == 0 ? "worked" : "gave up";
  });
  return registry;
}

// One node runs turns and another activities, so the store alone can tell the second of a cancellation. These worlds
// have no threads: time passes while activities run.
class Cancellation : public ::testing::TestWithParam<WorldKind> {
 protected:
  Cancellation() {
    Registry activities;
    calls.add_to(activities);
    world.start_node(turns_only(), registered_only());
    world.start_node(activities, registered_only());
  }
  void start(const std::string& workflow) {
    world.client().start_orchestration("i", workflow);
    world.settle();
    world.advance(kSoon);
    ASSERT_EQ(calls.size(), 1U);
    ASSERT_FALSE(calls.at(0).ctx.is_cancelled());
  }
  void expect_stop() {
    world.settle();
    world.advance(kSoon);
    EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  }

  World world{GetParam()};
  OpenCalls calls;
};
INSTANTIATE_TEST_SUITE_P(Worlds, Cancellation, ::testing::ValuesIn(stepped_worlds()),
                         [](const auto& world) { return world.param.name(); });

TEST_P(Cancellation, OfAnInstanceReachesItsActivity) {
  start("Flow");
  world.client().cancel_instance("i", "by hand");
  expect_stop();
}

TEST_P(Cancellation, ATerminationReachesTheActivity) {
  start("Flow");
  world.client().terminate_instance("i", "by hand");
  expect_stop();
}

TEST_P(Cancellation, AForcedDeletionReachesTheActivity) {
  start("Flow");
  world.client().delete_instance("i", true);
  expect_stop();
}

TEST_P(Cancellation, AnActivityThatLostARaceIsStopped) {
  start("Race");
  world.client().raise_event("i", "enough");
  expect_stop();
}

TEST_P(Cancellation, AnActivityThatHasJustBegunIsStopped) {
  world.client().start_orchestration("i", "Flow");
  world.settle();
  ASSERT_EQ(calls.size(), 1U);
  world.client().delete_instance("i", true);
  expect_stop();
}

TEST_P(Cancellation, OneOfManyIsStoppedAndTheOthersGoOn) {
  for (const std::string id : {"a", "b", "c"}) world.client().start_orchestration(id, "Flow");
  world.settle();
  world.advance(kSoon);
  ASSERT_EQ(calls.size(), 3U);
  world.client().cancel_instance("b", "by hand");
  world.advance(kSoon);
  for (const OpenCalls::Call& call : calls.all()) {
    EXPECT_EQ(call.ctx.is_cancelled(), call.ctx.instance_id() == "b") << call.ctx.instance_id();
    if (call.ctx.instance_id() != "b") call.done.complete("ready");
  }
  EXPECT_EQ(world.wait("a").result<std::string>(), "done: ready");
  EXPECT_EQ(world.wait("c").result<std::string>(), "done: ready");
}

}  // namespace
}  // namespace perdure::test
