// What happens without a DeterminismGuard: the orchestration fails, whatever its code does about it.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/determinism_guard.h>
#include <perdure/testing/replayer.h>
#include <perdure/testing/test_environment.h>
#include "determinism_guard/calls.h"

namespace perdure::test {
namespace {

using perdure::testing::DeterminismGuard;
using perdure::testing::Replayer;
using perdure::testing::TestEnvironment;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

Orchestration<int> catches_everything(Ctx ctx, bool reads) {
  co_await ctx.schedule_timer(Milliseconds(1));
  try {
    if (reads) reads_system_clock();
    ctx.set_custom_status("after the call");
  } catch (...) {
    co_return 0;
  }
  co_await ctx.schedule_timer(Milliseconds(1));
  co_return 1;
}

Registry catching() {
  Registry registry;
  registry.add_orchestration("Catches", catches_everything);
  return registry;
}

TEST(Refused, TheOrchestrationFailsAndSaysWhere) {
  TestEnvironment env(catching());
  const auto status = env.run("i", "Catches", true);
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(),
              AllOf(HasSubstr("nondeterministic: "), HasSubstr("the code called clock_gettime (clock) inside a turn"),
                    HasSubstr("(instance 'i', orchestration 'Catches')"), HasSubstr("utc_now()"),
                    HasSubstr("\n  perdure::test::reads_system_clock()+0x"), HasSubstr("::catches_everything(")));
  // What was decided in the turn of the call is discarded.
  EXPECT_THAT(env.event_kinds("i"),
              ElementsAre("OrchestrationStarted", "TimerCreated", "TimerFired", "OrchestrationFailed"));
}

TEST(Refused, CodeThatMakesNoSuchCallIsLeftAlone) {
  TestEnvironment env(catching());
  EXPECT_EQ(env.run("i", "Catches", false).result<int>(), 1);
}

TEST(Refused, AReplayIsToo) {
  TestEnvironment env(catching());
  {
    const DeterminismGuard guard;  // so that there is a whole history to replay
    ASSERT_TRUE(env.run("i", "Catches", true).completed());
  }
  const auto outcome = Replayer(catching()).replay(env.history("i"), {.instance = "i"});
  EXPECT_FALSE(outcome);
  EXPECT_THAT(outcome.report(), HasSubstr("the code called clock_gettime (clock) inside a turn"));
}

TEST(Refused, TheCodeThatMakesTheResultIsToo) {
  Registry registry;
  registry.add_orchestration("Throws", [](Ctx) -> Orchestration<void> {
    draws_from_random_device();
    throw std::runtime_error("an error of its own");
    co_return;
  });
  TestEnvironment env(registry);
  EXPECT_THAT(env.run("i", "Throws").error_text(), HasSubstr("the code called std::random_device (random)"));
}

class ReadsTheClockWhenRefused {
 public:
  ReadsTheClockWhenRefused() = default;
  ReadsTheClockWhenRefused(const ReadsTheClockWhenRefused&) = delete;
  ReadsTheClockWhenRefused& operator=(const ReadsTheClockWhenRefused&) = delete;
  ~ReadsTheClockWhenRefused() { reads_system_clock(); }
};

TEST(Refused, DestructorsOfAnExecutionThatHasEndedAreOnlyWrittenDown) {
  Registry registry;
  registry.add_orchestration("Waits", [](Ctx ctx) -> Orchestration<void> {
    const ReadsTheClockWhenRefused local;
    co_await ctx.schedule_wait<void>("never");
  });
  TestEnvironment env(registry);
  env.start("i", "Waits");
  env.settle();
  ::testing::internal::CaptureStderr();
  env.client().terminate_instance("i", "enough");
  const auto status = env.wait("i");
  const std::string written = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status.state, OrchestrationState::kTerminated);
  EXPECT_THAT(written, AllOf(HasSubstr("the code called clock_gettime"), HasSubstr("instance 'i'")));
}

}  // namespace
}  // namespace perdure::test
