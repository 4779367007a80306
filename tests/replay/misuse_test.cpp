// Misuse: what cannot be replayed is refused with a text, and never takes the engine or its process along.
#include <cstdlib>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Where orchestrations hide things that they must not hide.
std::optional<OrchestrationContext> g_context;
std::optional<Future<int>> g_future;

class Misuse : public ::testing::Test {
 protected:
  void TearDown() override {
    g_future.reset();
    g_context.reset();
  }
};

// ---- the context in the wrong place -------------------------------------------------------------------------------

TEST_F(Misuse, AContextIsOfNoUseOnAnotherThread) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string seen = "accepted";
    std::thread([&seen, ctx]() mutable {
      try {
        (void)ctx.new_guid();
      } catch (const MisuseError& error) {
        seen = error.what();
      }
    }).join();
    co_return seen;
  });
  const auto last = harness.start();
  EXPECT_THAT(*last.output, HasSubstr("new_guid was called outside its orchestration's turn"));
  EXPECT_THAT(*last.output, HasSubstr("on its thread"));
  EXPECT_EQ(last.events.size(), 2u);
}

TEST_F(Misuse, AContextIsOfNoUseAfterItsTurn) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    g_context = ctx;
    co_await ctx.schedule_activity<void>("A");
  });
  harness.start();
  EXPECT_THROW((void)g_context->schedule_activity<int>("B"), MisuseError);
  EXPECT_THROW((void)g_context->schedule_timer(Milliseconds(1)), MisuseError);
  EXPECT_THROW((void)g_context->instance_id(), MisuseError);
  EXPECT_THROW(g_context->set_kv_value("k", 1), MisuseError);
  EXPECT_THROW((void)g_context->get_kv_value<int>("k"), MisuseError);
  EXPECT_THROW(g_context->trace_info("x"), MisuseError);
  EXPECT_THROW(g_context->continue_as_new(1), MisuseError);
  EXPECT_EQ(harness.turn({completed(2)}).status, ExecutionStatus::kCompleted);
}

TEST_F(Misuse, AContextIsOfNoUseAfterItsInstance) {
  {
    Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
      g_context = ctx;
      co_return;
    });
    harness.start();
  }
  EXPECT_THROW((void)g_context->utc_now(), MisuseError);
}

TEST_F(Misuse, AContextIsOfNoUseToAnotherInstance) {
  Harness owner([](OrchestrationContext ctx) -> Orchestration<void> {
    g_context = ctx;
    co_await ctx.schedule_activity<void>("A");
  });
  owner.also_rebuild = false;
  owner.start();
  Harness thief([](OrchestrationContext) -> Orchestration<std::string> { co_return g_context->new_guid(); });
  const auto last = thief.start();
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("use a context only in the orchestration that received it"));
  EXPECT_EQ(owner.turn({completed(2)}).status, ExecutionStatus::kCompleted);
}

// ---- futures in the wrong place -----------------------------------------------------------------------------------

Orchestration<void> hide_a_future(OrchestrationContext ctx) {
  g_future.emplace(ctx.schedule_activity<int>("A"));
  co_await ctx.schedule_activity<void>("B");
  co_await ctx.schedule_activity<void>("C");
}

Orchestration<int> await_the_hidden(OrchestrationContext) {
  co_return co_await *g_future;
}

TEST_F(Misuse, AFutureOfAnotherOrchestrationCannotBeAwaited) {
  Harness owner(hide_a_future);
  owner.also_rebuild = false;
  owner.start();
  Harness thief(await_the_hidden);
  EXPECT_THAT(describe(*thief.start().error), HasSubstr("awaited by another orchestration"));
  Harness in_a_join([](OrchestrationContext ctx) -> Orchestration<void> {
    co_await join{*g_future, ctx.schedule_timer(Milliseconds(1))};
  });
  EXPECT_THAT(describe(*in_a_join.start().error), HasSubstr("awaited by another orchestration"));
}

TEST_F(Misuse, ADoneFutureOfAnotherOrchestrationCannotBeAwaitedEither) {
  Harness owner(hide_a_future);
  owner.also_rebuild = false;
  owner.start();
  owner.turn({completed(2, "5")});
  Harness thief(await_the_hidden);
  EXPECT_THAT(describe(*thief.start().error), HasSubstr("awaited by another orchestration"));
  Harness in_a_select([](OrchestrationContext ctx) -> Orchestration<std::size_t> {
    auto first = co_await select{*g_future, ctx.schedule_timer(Milliseconds(1))};
    co_return first.index();
  });
  const auto last = in_a_select.start();
  ASSERT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(describe(*last.error), HasSubstr("awaited by another orchestration"));
}

TEST_F(Misuse, AFutureThatOutlivesItsInstanceIsHarmless) {
  {
    Harness owner(hide_a_future);
    owner.also_rebuild = false;
    owner.start();
  }
  Harness thief(await_the_hidden);
  EXPECT_EQ(thief.start().status, ExecutionStatus::kFailed);
  EXPECT_FALSE(g_future->done());
  g_future.reset();
}

TEST_F(Misuse, DroppingAHiddenFutureOutsideTheTurnHasNoEffect) {
  Harness owner(hide_a_future);
  owner.also_rebuild = false;
  owner.start();
  g_future.reset();
  EXPECT_THAT(lines_of(owner.turn({completed(3)}).events),
              ElementsAre("4 ActivityCompleted of 3", "5 ActivityScheduled 'C'"));
}

TEST_F(Misuse, AwaitingAFutureThatHasBeenMovedFromIsRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    auto future = ctx.schedule_activity<int>("A");
    auto other = std::move(future);
    co_return co_await future;
  });
  EXPECT_THAT(describe(*harness.start().error), HasSubstr("moved from"));
}

TEST_F(Misuse, DetachingAFutureThatHasBeenMovedFromIsRefused) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
    auto future = ctx.schedule_activity<int>("A");
    auto other = std::move(future);
    std::move(future).detach();
    co_return;
  });
  EXPECT_THAT(describe(*harness.start().error), HasSubstr("moved from"));
}

template <class F>
void run_and_exit(F orchestration) {
  Harness harness(orchestration);
  const auto last = harness.start();
  const bool refused =
      last.status == ExecutionStatus::kFailed && describe(*last.error).find("moved from") != std::string::npos;
  std::exit(refused ? 0 : 1);
}

TEST_F(Misuse, CombinatorsRefuseAFutureThatHasBeenMovedFrom) {
  EXPECT_EXIT(run_and_exit([](OrchestrationContext ctx) -> Orchestration<void> {
                auto future = ctx.schedule_activity<int>("A");
                auto other = std::move(future);
                co_await select{future, ctx.schedule_timer(Milliseconds(1))};
              }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(run_and_exit([](OrchestrationContext ctx) -> Orchestration<void> {
                auto future = ctx.schedule_activity<int>("A");
                auto other = std::move(future);
                co_await join{future, ctx.schedule_timer(Milliseconds(1))};
              }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(run_and_exit([](OrchestrationContext ctx) -> Orchestration<void> {
                auto future = ctx.schedule_activity<int>("A");
                auto other = std::move(future);
                co_await select{future.as_result(), ctx.schedule_timer(Milliseconds(1))};
              }),
              ExitedWithCode(0), "");
}

Task<int> await_it(OrchestrationContext, Future<int>* future) {
  co_return co_await *future;
}

TEST_F(Misuse, DroppingAFutureThatOtherCodeAwaitsEndsTheExecution) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::optional<Future<int>> future(ctx.schedule_activity<int>("A"));
    auto task = await_it(ctx, &*future);
    co_await select{task, ctx.schedule_timer(Milliseconds(1))};
    ctx.set_custom_status("discarded");
    try {
      future.reset();
    } catch (...) {
      co_return "caught";
    }
    co_await ctx.schedule_activity<void>("MustNotBe");
    co_return "swallowed";
  });
  harness.start();
  const auto last = harness.turn({fired(3)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  const auto& error = std::get<ApplicationError>(*last.error);
  EXPECT_EQ(error.kind, ApplicationErrorKind::kMisuse);
  EXPECT_THAT(error.message, HasSubstr("activity 'A' was dropped while other code awaits it"));
  EXPECT_THAT(error.message, HasSubstr("inst"));
  EXPECT_THAT(last.activities, IsEmpty());
  EXPECT_THAT(last.cancelled_activities, ElementsAre(2));
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

// ---- destructors --------------------------------------------------------------------------------------------------

// A local that does in its destructor what no destructor should do.
class Nuisance {
 public:
  explicit Nuisance(OrchestrationContext ctx, int calls = 1) : ctx_(ctx), calls_(calls) {}
  Nuisance(const Nuisance&) = delete;
  Nuisance& operator=(const Nuisance&) = delete;
  ~Nuisance() {
    for (int i = 0; i < calls_; ++i) {
      ctx_.set_custom_status("from a destructor");
      ctx_.set_kv_value("key", 1);
      (void)ctx_.new_guid();
      (void)ctx_.utc_now();
      (void)ctx_.get_kv_length();
      (void)ctx_.prune_kv_values_updated_before(Timestamp(Milliseconds(1)));
      ctx_.schedule_orchestration("Other", "other");
      ctx_.trace_info("from a destructor");
      const auto activity = ctx_.schedule_activity<int>("FromADestructor");
      const auto retried = ctx_.schedule_activity<int>("FromADestructor", ActivityOptions().retry(RetryPolicy()));
      ctx_.schedule_activity<int>("FromADestructor").detach();
      ctx_.continue_as_new(1);
    }
  }

 private:
  OrchestrationContext ctx_;
  int calls_;
};

Orchestration<void> suspend_with_a_nuisance(OrchestrationContext ctx) {
  const Nuisance nuisance(ctx);
  co_await ctx.schedule_activity<void>("A");
  co_await ctx.schedule_activity<void>("B");
}

TEST_F(Misuse, DestructorsHaveNoEffectWhenAnInstanceIsEvicted) {
  Harness harness(suspend_with_a_nuisance);
  harness.start();
  harness.evict();
  EXPECT_THAT(lines_of(harness.turn({completed(2)}).events),
              ElementsAre("3 ActivityCompleted of 2", "4 ActivityScheduled 'B'"));
  EXPECT_THAT(harness.traces, IsEmpty());
}

TEST_F(Misuse, DestructorsHaveNoEffectWhenAnExecutionIsEndedFromOutside) {
  for (const bool cancelled : {true, false}) {
    Harness harness(suspend_with_a_nuisance);
    harness.start();
    const auto last = harness.turn({cancelled ? cancel("enough") : terminate("enough")});
    EXPECT_THAT(last.activities, IsEmpty());
    EXPECT_THAT(last.messages, IsEmpty());
    EXPECT_THAT(harness.traces, IsEmpty());
    EXPECT_EQ(harness.replay_failure(), std::nullopt);
  }
}

TEST_F(Misuse, DestructorsHaveNoEffectAfterContinueAsNew) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<int> {
    const Nuisance nuisance(ctx);
    co_return ctx.continue_as_new(5);
  });
  const auto last = harness.start();
  EXPECT_EQ(last.output, "5");
  EXPECT_EQ(last.events.size(), 2u);
  EXPECT_THAT(lines_of(last.messages), ElementsAre("to inst: ContinueAsNew"));
}

TEST_F(Misuse, ManyCallsInDestructorsDoNotEndTheProcess) {
  EXPECT_EXIT(
      {
        Harness harness([](OrchestrationContext ctx) -> Orchestration<void> {
          const Nuisance nuisance(ctx, 20);
          co_await ctx.schedule_activity<void>("A");
        });
        harness.limits.max_actions_per_turn = 10;
        harness.start();
        harness.evict();
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

// ---- the engine's own checks --------------------------------------------------------------------------------------

Orchestration<std::string> do_a(OrchestrationContext ctx) {
  co_await ctx.schedule_activity<void>("A");
  co_return "done";
}

TEST_F(Misuse, CodeCannotCatchItsOwnDivergence) {
  Harness harness(do_a);
  harness.start();
  harness.redeploy([](OrchestrationContext ctx) -> Orchestration<std::string> {
    try {
      co_await ctx.schedule_activity<void>("Changed");
    } catch (...) {
      co_return "swallowed";
    }
    co_return "went on";
  });
  const auto last = harness.turn({completed(2)});
  EXPECT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_THAT(divergence_of(last.error), HasSubstr("another decision than its history"));
}

TEST_F(Misuse, CodeCannotCatchALimit) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    try {
      ctx.set_kv_value("key", std::string(100, 'x'));
    } catch (...) {
      co_return "caught";
    }
    co_return "went on";
  });
  harness.limits.max_kv_value_bytes = 10;
  const auto last = harness.start();
  ASSERT_EQ(last.status, ExecutionStatus::kFailed);
  EXPECT_EQ(std::get<ApplicationError>(*last.error).kind, ApplicationErrorKind::kLimitExceeded);
}

TEST_F(Misuse, AnEndlessLoopOfCallsInADeadInstanceEnds) {
  Harness harness(do_a);
  harness.limits.max_actions_per_turn = 1'000;
  harness.start();
  harness.redeploy([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::string last;
    for (;;) last = ctx.new_guid();
    co_return last;
  });
  const auto last = harness.turn({completed(2)});
  EXPECT_THAT(divergence_of(last.error), HasSubstr("another decision than its history"));
}

TEST_F(Misuse, AMisuseThatTheCodeCatchesIsItsOwnBusiness) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<std::string> {
    std::vector<Future<int>> none;
    std::string seen;
    try {
      co_await ctx.select(none);
    } catch (const MisuseError&) {
      seen = "caught";
    }
    co_await ctx.schedule_activity<void>("A");
    co_return seen;
  });
  harness.start();
  EXPECT_EQ(harness.turn({completed(2)}).output, "\"caught\"");
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
}

}  // namespace
}  // namespace perdure::test
