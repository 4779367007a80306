// What is caught: every watched call, wherever in a turn it is made, with the place.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/determinism_guard.h>
#include <perdure/testing/test_environment.h>
#include "determinism_guard/calls.h"

namespace perdure::test {

// Its codec reads the clock, as a user's might.
struct Stamped {
  int value = 0;
};

}  // namespace perdure::test

template <>
struct perdure::Codec<perdure::test::Stamped> {
  static std::string encode(const perdure::test::Stamped& stamped) {
    perdure::test::reads_system_clock();
    return std::to_string(stamped.value);
  }
  static perdure::test::Stamped decode(std::string_view text) {
    perdure::test::draws_from_random_device();
    return {std::stoi(std::string(text))};
  }
};

namespace perdure::test {
namespace {

using perdure::testing::DeterminismGuard;
using perdure::testing::NondeterministicCall;
using perdure::testing::TestEnvironment;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Ctx = OrchestrationContext;

std::vector<std::string> functions_of(const DeterminismGuard& guard) {
  std::vector<std::string> names;
  for (const auto& call : guard.reports()) names.push_back(call.function);
  return names;
}

Orchestration<void> makes_a_forbidden_call(Ctx ctx, std::size_t row) {
  co_await ctx.schedule_timer(Milliseconds(1));
  forbidden_calls()[row].make();
}

class Caught : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Caught, IsNamedWithItsPlace) {
  const ForbiddenCall& forbidden = forbidden_calls()[GetParam()];
  Registry registry;
  registry.add_orchestration("Forbidden", makes_a_forbidden_call);
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_TRUE(env.run("i", "Forbidden", GetParam()).completed()) << env.timeline("i");

  const auto reports = guard.reports();
  ASSERT_THAT(reports, Not(IsEmpty()));
  const NondeterministicCall& call = reports.front();
  EXPECT_EQ(call.function, forbidden.function);
  EXPECT_EQ(call.call_class, forbidden.call_class);
  EXPECT_EQ(call.instance, "i");
  EXPECT_EQ(call.orchestration, "Forbidden");
  ASSERT_THAT(call.stack, SizeIs(2)) << describe(call);
  EXPECT_THAT(call.stack[0], HasSubstr(std::string("::") + forbidden.place + "()+0x"));
  EXPECT_THAT(call.stack[1], HasSubstr("::makes_a_forbidden_call(perdure::OrchestrationContext, unsigned long)+0x"));
  for (const auto& line : call.stack) EXPECT_THAT(line, HasSubstr("(perdure_determinism_guard_tests+0x"));
  // Some functions look at several things; all of that is the same class.
  for (const auto& each : reports) EXPECT_EQ(each.call_class, forbidden.call_class) << describe(each);
}

INSTANTIATE_TEST_SUITE_P(Calls, Caught, ::testing::Range(std::size_t{0}, forbidden_calls().size()),
                         [](const auto& row) { return std::string(forbidden_calls()[row.param].place); });

Task<int> reads_the_clock_in_a_task(Ctx ctx) {
  co_await ctx.schedule_timer(Milliseconds(5));
  reads_system_clock();
  co_return 1;
}

Orchestration<int> awaits_two_tasks(Ctx ctx) {
  const auto [a, b] = co_await join{reads_the_clock_in_a_task(ctx), reads_the_clock_in_a_task(ctx)};
  co_return a + b;
}

TEST(CaughtPlaces, AreInTasksToo) {
  Registry registry;
  registry.add_orchestration("Tasks", awaits_two_tasks);
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_EQ(env.run("i", "Tasks").result<int>(), 2);
  ASSERT_THAT(functions_of(guard), ElementsAre("clock_gettime", "clock_gettime"));
  EXPECT_THAT(guard.reports()[0].stack,
              Contains(HasSubstr("::reads_the_clock_in_a_task(perdure::OrchestrationContext)")));
}

TEST(CaughtPlaces, AreInTheCodecsOfUsers) {
  Registry registry;
  registry.add_orchestration("Echo", [](Ctx, Stamped input) -> Orchestration<Stamped> { co_return input; });
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  EXPECT_TRUE(env.run("i", "Echo", 7).completed());
  EXPECT_THAT(functions_of(guard), ElementsAre("std::random_device", "clock_gettime"));
}

class ReadsTheClockAtItsEnd {
 public:
  ReadsTheClockAtItsEnd() = default;
  ReadsTheClockAtItsEnd(const ReadsTheClockAtItsEnd&) = delete;
  ReadsTheClockAtItsEnd& operator=(const ReadsTheClockAtItsEnd&) = delete;
  ~ReadsTheClockAtItsEnd() { reads_system_clock(); }
};

Orchestration<void> waits_for_ever(Ctx ctx) {
  const ReadsTheClockAtItsEnd local;
  co_await ctx.schedule_wait<void>("never");
}

TEST(CaughtPlaces, AreInDestructorsOfFramesThatTheEngineDrops) {
  Registry registry;
  registry.add_orchestration("Waits", waits_for_ever);
  const DeterminismGuard guard;
  {
    TestEnvironment env(registry);
    env.start("terminated", "Waits");
    env.start("dropped", "Waits");
    env.settle();
    EXPECT_THAT(guard.reports(), IsEmpty());
    env.client().terminate_instance("terminated", "enough");
    EXPECT_EQ(env.wait("terminated").state, OrchestrationState::kTerminated);
    EXPECT_THAT(functions_of(guard), ElementsAre("clock_gettime"));
  }
  const auto reports = guard.reports();
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].instance, "terminated");
  EXPECT_EQ(reports[1].instance, "dropped");
  EXPECT_THAT(reports[1].stack, Contains(HasSubstr("::waits_for_ever(")));
}

TEST(CaughtPlaces, AreCaughtAgainInAReplay) {
  Registry registry;
  registry.add_orchestration("Replayed", [](Ctx ctx) -> Orchestration<void> {
    reads_system_clock();
    co_await ctx.schedule_timer(std::chrono::hours(2));
  });
  TestEnvironment env(registry);
  const DeterminismGuard guard;
  env.after(std::chrono::hours(1), [&] { env.restart(); });
  EXPECT_TRUE(env.run("i", "Replayed").completed());
  EXPECT_THAT(functions_of(guard), ElementsAre("clock_gettime", "clock_gettime"));
}

TEST(CaughtPlaces, AreOnTheThreadsOfARuntimeToo) {
  Registry registry;
  registry.add_orchestration("Threaded", [](Ctx) -> Orchestration<void> {
    reads_system_clock();
    co_return;
  });
  const auto store = make_memory_provider();
  const DeterminismGuard guard;
  {
    Runtime runtime(store, registry);
    const Client client(store);
    client.start_orchestration("i", "Threaded");
    EXPECT_TRUE(client.wait_for_orchestration("i", std::chrono::seconds(30)).completed());
  }
  EXPECT_THAT(functions_of(guard), ElementsAre("clock_gettime"));
}

TEST(Guards, TheYoungestCollects) {
  Registry registry;
  registry.add_orchestration("Clock", [](Ctx) -> Orchestration<void> {
    reads_system_clock();
    co_return;
  });
  TestEnvironment env(registry);
  DeterminismGuard older;
  {
    const DeterminismGuard younger;
    env.run("a", "Clock");
    EXPECT_THAT(younger.reports(), SizeIs(1));
    EXPECT_THAT(older.reports(), IsEmpty());
  }
  env.run("b", "Clock");
  EXPECT_THAT(older.reports(), SizeIs(1));
  older.clear();
  EXPECT_THAT(older.reports(), IsEmpty());
}

}  // namespace
}  // namespace perdure::test
