// What the tests of the test environment share.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/test_environment.h>

namespace perdure::test {

using namespace std::chrono_literals;
using perdure::testing::ActivityRun;
using perdure::testing::Stalled;
using perdure::testing::TestEnvironment;
using perdure::testing::TestOptions;
using Ctx = OrchestrationContext;

inline const Timestamp kStart = TestOptions().start;
inline constexpr auto kDay = std::chrono::days(1);

inline Milliseconds passed(const TestEnvironment& env) {
  return env.now() - kStart;
}

inline Milliseconds passed(Timestamp time) {
  return time - kStart;
}

// What an orchestration says of its time: milliseconds since the start of the environment.
inline std::int64_t since_start(Timestamp time) {
  return passed(time).count();
}

// The text of the Stalled that it throws.
inline std::string stall_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Stalled& stalled) {
    return stalled.what();
  }
  ADD_FAILURE() << "it did not stall";
  return {};
}

// Waits for the event "go", for an hour at most.
inline Registry approval() {
  Registry registry;
  registry.add_orchestration("Approval", [](Ctx ctx) -> Orchestration<std::string> {
    const auto first = co_await select{ctx.schedule_wait<std::string>("go"), ctx.schedule_timer(1h)};
    if (first.index() == 1) co_return std::string("too late");
    co_return std::get<0>(first);
  });
  return registry;
}

// Calls "Work" with its input and answers its result.
inline Registry caller() {
  Registry registry;
  registry.add_orchestration("Caller", [](Ctx ctx, int input) -> Orchestration<int> {
    co_return co_await ctx.schedule_activity<int>("Work", input);
  });
  return registry;
}

}  // namespace perdure::test
