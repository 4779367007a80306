// Tasks: helper coroutines of an orchestration.
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task<int> call(OrchestrationContext ctx, std::string name, int input) {
  co_return co_await ctx.schedule_activity<int>(name, input);
}

Task<void> call_void(OrchestrationContext ctx, std::string name) {
  co_await ctx.schedule_activity<void>(name);
}

TEST(Tasks, OneStartsWhenItIsAwaitedAndNotBefore) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto task = call(ctx, "InTask", 1);
    const int before = co_await ctx.schedule_activity<int>("Before");
    const int inside = co_await std::move(task);
    co_return before + inside;
  });
  EXPECT_THAT(lines_of(harness.start().events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 ActivityScheduled 'Before'"));
  EXPECT_THAT(lines_of(harness.turn({completed(2, "1")}).events),
              ElementsAre("3 ActivityCompleted of 2 result=1", "4 ActivityScheduled 'InTask' input=1"));
  EXPECT_EQ(harness.turn({completed(4, "2")}).output, "3");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Tasks, OneThatIsNeverAwaitedNeverRuns) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto task = call(ctx, "A", 1);
    co_return 0;
  });
  EXPECT_THAT(lines_of(harness.start().events),
              ElementsAre("1 OrchestrationStarted 'Test' version=1.0.0", "2 OrchestrationCompleted output=0"));
}

Task<void> throw_out_of_range(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("A");
  throw std::out_of_range("beyond the end");
}

Task<void> pass_on(OrchestrationContext ctx) {
  co_await throw_out_of_range(ctx);
}

TEST(Tasks, ExceptionsPassThroughWithTheirType) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen;
    try {
      co_await pass_on(ctx);
    } catch (const std::out_of_range& error) {
      seen = error.what();
    }
    co_return seen;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2)}).output, "\"beyond the end\"");
}

TEST(Tasks, AnExceptionThatNobodyCatchesFailsTheOrchestration) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await pass_on(ctx); });
  harness.start();
  EXPECT_EQ(describe(*harness.turn({completed(2)}).error), "beyond the end");
}

Task<void> throw_a_number(OrchestrationContext) {
  throw 42;
  co_return;
}

TEST(Tasks, WhatIsNoStdExceptionIsAPanic) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto result = co_await throw_a_number(ctx).as_result();  // only std::exception becomes a value
  });
  EXPECT_EQ(std::get<ApplicationError>(*harness.start().error).kind, ApplicationErrorKind::kPanicked);
}

TEST(Tasks, AsResultTurnsWhatTheyThrowIntoValues) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto activity = co_await call(ctx, "A", 1).as_result();
    auto user = co_await throw_out_of_range(ctx).as_result();
    auto fine = co_await call(ctx, "B", 2).as_result();
    std::string seen = activity.error().to_string();
    if (activity.error().source() == Error::Source::kActivity) seen += "; ";
    seen += user.error().to_string();
    if (user.error().source() == Error::Source::kUserCode) seen += "; ";
    seen += std::to_string(*fine);
    co_return seen;
  });
  harness.start();
  harness.turn({failed(2, "no")});
  harness.turn({completed(4)});
  EXPECT_EQ(harness.turn({completed(6, "9")}).output, "\"activity 'A' failed: no; beyond the end; 9\"");
}

// ---- member functions and lambdas ---------------------------------------------------------------------------------

class Shop {
 public:
  explicit Shop(std::string prefix) : prefix_(std::move(prefix)) {}
  Task<int> buy(OrchestrationContext ctx, std::string what) const {
    co_return co_await ctx.schedule_activity<int>(prefix_ + what);
  }

 private:
  std::string prefix_;
};

TEST(Tasks, MemberFunctionsMayBeTasks) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const Shop shop("Buy");
    co_return co_await shop.buy(ctx, "Milk");
  });
  EXPECT_THAT(lines_of(harness.start().events)[1], "2 ActivityScheduled 'BuyMilk'");
  EXPECT_EQ(harness.turn({completed(2, "3")}).output, "3");
}

TEST(Tasks, LambdasMayBeTasks) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const auto twice = [](OrchestrationContext inner, int value) -> Task<int> {
      const int once = co_await inner.schedule_activity<int>("A", value);
      co_return 2 * once;
    };
    co_return co_await twice(ctx, 4);
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "5")}).output, "10");
}

Task<std::unique_ptr<int>> boxed(OrchestrationContext ctx, std::unique_ptr<int> box) {
  *box += co_await ctx.schedule_activity<int>("A");
  co_return box;
}

TEST(Tasks, MoveOnlyParametersAndResultsPass) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto box = co_await boxed(ctx, std::make_unique<int>(40));
    co_return *box;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "2")}).output, "42");
}

// ---- depth and number ---------------------------------------------------------------------------------------------

Task<int> identity(OrchestrationContext, int value) {
  co_return value;
}

TEST(Tasks, ThreeHundredThousandSynchronousOnesDoNotGrowTheStack) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    int count = 0;
    for (int i = 0; i < 300'000; ++i) count += co_await identity(ctx, 1);
    co_return count;
  });
  EXPECT_EQ(harness.start().output, "300000");
}

Task<int> deep(OrchestrationContext ctx, int depth) {
  if (depth == 0) co_return co_await ctx.schedule_activity<int>("Bottom");
  co_return 1 + co_await deep(ctx, depth - 1);
}

TEST(Tasks, TenThousandNestedOnesComeBackUp) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> { co_return co_await deep(ctx, 10'000); });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2, "0")}).output, "10000");
}

// ---- destroyed in the middle --------------------------------------------------------------------------------------

Task<int> after(OrchestrationContext ctx, Future<void>* shared, std::string then) {
  co_await *shared;
  co_return co_await ctx.schedule_activity<int>(then);
}

TEST(Tasks, ALoserThatBecameReadyInTheSameEventNeverRuns) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto shared = ctx.schedule_activity<void>("Shared");
    // Both wait for the same event, the select before the task, so the task is in the ready queue when it is dropped.
    auto first = co_await select{shared, after(ctx, &shared, "MustNotBe")};
    co_await ctx.schedule_activity<void>("Next");
    co_return static_cast<int>(first.index());
  });
  harness.start();
  EXPECT_THAT(lines_of(harness.turn({completed(2)}).events),
              ElementsAre("3 ActivityCompleted of 2", "4 ActivityScheduled 'Next'"));
  EXPECT_EQ(harness.turn({completed(4)}).output, "0");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Tasks, DestroyingOneCancelsWhatItWaitsFor) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    {
      auto task = call(ctx, "Slow", 1);
      auto timer = ctx.schedule_timer(Milliseconds(1));
      co_await select{task, timer};  // both are borrowed: the task runs, and loses
    }
    co_await ctx.schedule_activity<void>("Next");
  });
  harness.start();
  const auto second = harness.turn({fired(2)});
  EXPECT_THAT(lines_of(second.events), ElementsAre("4 TimerFired of 2 fire_at=0", "5 ActivityScheduled 'Next'",
                                                   "6 ActivityCancelRequested of 3 reason=dropped_future"));
  EXPECT_EQ(harness.turn({completed(5)}).status, ExecutionStatus::kCompleted);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

TEST(Tasks, AssigningToOneDestroysWhatItHeld) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto task = call(ctx, "First", 1);
    task = call(ctx, "Second", 2);
    co_return co_await std::move(task);
  });
  EXPECT_THAT(lines_of(harness.start().events)[1], "2 ActivityScheduled 'Second' input=2");
}

// ---- awaited twice ------------------------------------------------------------------------------------------------

TEST(Tasks, AwaitingOneTwiceIsAMisuse) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto task = call(ctx, "A", 1);
    const int once = co_await std::move(task);
    const int twice = co_await std::move(task);
    co_return once + twice;
  });
  harness.start();
  const auto last = harness.turn({completed(2, "1")});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("awaited twice"));
}

TEST(Tasks, AwaitingAVoidOneTwiceIsAMisuseToo) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto task = call_void(ctx, "A");
    co_await std::move(task);
    co_await std::move(task);
  });
  harness.start();
  const auto last = harness.turn({completed(2)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  ASSERT_TRUE(last.error);
  EXPECT_THAT(describe(*last.error), HasSubstr("awaited twice"));
}

TEST(Tasks, AFailureIsNotLostByAwaitingAgain) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto task = call_void(ctx, "A");
    std::string seen;
    for (int i = 0; i < 2; ++i) {
      try {
        co_await std::move(task);
        seen += "fine ";
      } catch (const std::exception& error) {
        seen += "thrown ";
      }
    }
    co_return seen;
  });
  harness.start();
  EXPECT_EQ(harness.turn({failed(2, "no")}).output, "\"thrown thrown \"");
}

TEST(Tasks, AwaitingOneThatHasBeenMovedFromIsAMisuseNotACrash) {
  EXPECT_EXIT(
      {
        Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
          auto task = call(ctx, "A", 1);
          auto other = std::move(task);
          co_return co_await std::move(task);
        });
        const auto last = harness.start();
        std::exit(last.status == ExecutionStatus::kFailed ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace perdure::test
