// The determinism contract, decision by decision: what is compared with the history, and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/harness.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

constexpr const char* kNoDifference = "no error at all";

// One decision, kept, and then a wait.
template <class F>
auto then_wait(F decide) {
  return [decide](OrchestrationContext ctx) -> Orchestration<void> {
    if constexpr (std::is_void_v<decltype(decide(ctx))>) {
      decide(ctx);
      co_await ctx.schedule_wait<void>("end");
    } else {
      auto kept = decide(ctx);
      co_await ctx.schedule_wait<void>("end");
    }
  };
}

// How the replay of a history that `recorded` wrote ends when the code does `done` instead.
template <class Recorded, class Done>
std::string replayed(Recorded recorded, Done done) {
  Harness harness(then_wait(recorded));
  harness.key_values = {{"k", {"0", Timestamp{}}}};
  EXPECT_EQ(harness.start().status, ExecutionStatus::kRunning);
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.redeploy(then_wait(done));
  return divergence_of(harness.replay_failure());
}

auto other_decision() {
  return HasSubstr("the code made another decision than its history");
}

template <class F>
auto activity(F options) {
  return [options](Ctx ctx) { return ctx.schedule_activity<int>("A", 1, options()); };
}
auto plain_activity() {
  return activity([] { return ActivityOptions(); });
}

TEST(ComparedDecisions, AnActivitysNameIsCompared) {
  EXPECT_THAT(replayed(plain_activity(), [](Ctx ctx) { return ctx.schedule_activity<int>("B", 1); }), other_decision());
}

TEST(ComparedDecisions, AnActivitysInputIsCompared) {
  EXPECT_THAT(replayed(plain_activity(), [](Ctx ctx) { return ctx.schedule_activity<int>("A", 2); }), other_decision());
  EXPECT_THAT(replayed(plain_activity(), [](Ctx ctx) { return ctx.schedule_activity<int>("A"); }), other_decision());
}

TEST(ComparedDecisions, AnActivitysSessionIsCompared) {
  const auto on_s = activity([] { return ActivityOptions().session("s"); });
  EXPECT_EQ(replayed(on_s, on_s), kNoDifference);
  EXPECT_THAT(replayed(on_s, activity([] { return ActivityOptions().session("t"); })), other_decision());
  EXPECT_THAT(replayed(on_s, plain_activity()), other_decision());
  EXPECT_THAT(replayed(plain_activity(), on_s), other_decision());
}

TEST(ComparedDecisions, AnActivitysTagIsCompared) {
  const auto on_gpu = activity([] { return ActivityOptions().tag("gpu"); });
  EXPECT_EQ(replayed(on_gpu, on_gpu), kNoDifference);
  EXPECT_THAT(replayed(on_gpu, activity([] { return ActivityOptions().tag("cpu"); })), other_decision());
  EXPECT_THAT(replayed(plain_activity(), on_gpu), other_decision());
}

TEST(ComparedDecisions, AnActivitysTimeoutsAreNotCompared) {
  EXPECT_EQ(replayed(plain_activity(), activity([] {
                       return ActivityOptions()
                           .timeout(Milliseconds(1))
                           .schedule_to_start_timeout(Milliseconds(2))
                           .heartbeat_timeout(Milliseconds(3));
                     })),
            kNoDifference);
}

TEST(ComparedDecisions, ATimersTimeIsNotComparedButThatItIsATimer) {
  const auto timer = [](Ctx ctx) { return ctx.schedule_timer(Milliseconds(500)); };
  EXPECT_EQ(replayed(timer, [](Ctx ctx) { return ctx.schedule_timer(Milliseconds(9'999)); }), kNoDifference);
  EXPECT_EQ(replayed(timer, [](Ctx ctx) { return ctx.schedule_timer_at(Timestamp{}); }), kNoDifference);
  EXPECT_THAT(replayed(timer, plain_activity()), other_decision());
}

TEST(ComparedDecisions, AWaitsNameIsCompared) {
  const auto wait = [](Ctx ctx) { return ctx.schedule_wait<int>("a"); };
  EXPECT_EQ(replayed(wait, wait), kNoDifference);
  EXPECT_THAT(replayed(wait, [](Ctx ctx) { return ctx.schedule_wait<int>("b"); }), other_decision());
}

TEST(ComparedDecisions, AQueuesNameIsComparedAndAQueueIsNoWait) {
  const auto dequeue = [](Ctx ctx) { return ctx.dequeue_event<int>("a"); };
  EXPECT_EQ(replayed(dequeue, dequeue), kNoDifference);
  EXPECT_THAT(replayed(dequeue, [](Ctx ctx) { return ctx.dequeue_event<int>("b"); }), other_decision());
  EXPECT_THAT(replayed(dequeue, [](Ctx ctx) { return ctx.schedule_wait<int>("a"); }), other_decision());
}

TEST(ComparedDecisions, AChildsNameAndInputAreCompared) {
  const auto child = [](Ctx ctx) { return ctx.schedule_sub_orchestration<int>("C", 1); };
  EXPECT_EQ(replayed(child, child), kNoDifference);
  EXPECT_THAT(replayed(child, [](Ctx ctx) { return ctx.schedule_sub_orchestration<int>("D", 1); }), other_decision());
  EXPECT_THAT(replayed(child, [](Ctx ctx) { return ctx.schedule_sub_orchestration<int>("C", 2); }), other_decision());
}

TEST(ComparedDecisions, AChildsInstanceIdAndVersionAreNotCompared) {
  const auto child = [](Ctx ctx) { return ctx.schedule_sub_orchestration<int>("C", 1); };
  const auto named = [](Ctx ctx) {
    return ctx.schedule_sub_orchestration<int>("C", 1, SubOrchestrationOptions().instance_id("x").version("2.0.0"));
  };
  EXPECT_EQ(replayed(child, named), kNoDifference);
  EXPECT_EQ(replayed(named, child), kNoDifference);
}

TEST(ComparedDecisions, ADetachedStartsNameInstanceAndInputAreComparedItsVersionIsNot) {
  const auto start = [](Ctx ctx) { ctx.schedule_orchestration("N", "i", 1); };
  EXPECT_EQ(replayed(start, [](Ctx ctx) { ctx.schedule_orchestration("N", "i", 1, StartOptions().version("3.0.0")); }),
            kNoDifference);
  EXPECT_THAT(replayed(start, [](Ctx ctx) { ctx.schedule_orchestration("M", "i", 1); }), other_decision());
  EXPECT_THAT(replayed(start, [](Ctx ctx) { ctx.schedule_orchestration("N", "j", 1); }), other_decision());
  EXPECT_THAT(replayed(start, [](Ctx ctx) { ctx.schedule_orchestration("N", "i", 2); }), other_decision());
}

TEST(ComparedDecisions, OfACustomStatusOnlyTheKindIsCompared) {
  const auto status = [](Ctx ctx) { ctx.set_custom_status("a"); };
  EXPECT_EQ(replayed(status, [](Ctx ctx) { ctx.set_custom_status("b"); }), kNoDifference);
  EXPECT_EQ(replayed(status, [](Ctx ctx) { ctx.reset_custom_status(); }), kNoDifference);
  EXPECT_THAT(replayed(status, [](Ctx ctx) { ctx.set_kv_value("k", 1); }), other_decision());
}

TEST(ComparedDecisions, AKeyAndItsValueAreCompared) {
  const auto set = [](Ctx ctx) { ctx.set_kv_value("k", 1); };
  EXPECT_EQ(replayed(set, set), kNoDifference);
  EXPECT_THAT(replayed(set, [](Ctx ctx) { ctx.set_kv_value("l", 1); }), other_decision());
  EXPECT_THAT(replayed(set, [](Ctx ctx) { ctx.set_kv_value("k", 2); }), other_decision());
}

TEST(ComparedDecisions, AClearedKeyIsComparedAndOneKeyIsNotAll) {
  const auto clear = [](Ctx ctx) { ctx.clear_kv_value("k"); };
  const auto clear_all = [](Ctx ctx) { ctx.clear_all_kv_values(); };
  EXPECT_EQ(replayed(clear, clear), kNoDifference);
  EXPECT_EQ(replayed(clear_all, clear_all), kNoDifference);
  EXPECT_THAT(replayed(clear, [](Ctx ctx) { ctx.clear_kv_value("l"); }), other_decision());
  EXPECT_THAT(replayed(clear, clear_all), other_decision());
  EXPECT_THAT(replayed(clear_all, clear), other_decision());
}

TEST(ComparedDecisions, OfARecordedValueTheKindIsCompared) {
  const auto guid = [](Ctx ctx) { (void)ctx.new_guid(); };
  const auto now = [](Ctx ctx) { (void)ctx.utc_now(); };
  const auto random = [](Ctx ctx) { (void)ctx.random(); };
  EXPECT_EQ(replayed(guid, guid), kNoDifference);
  EXPECT_THAT(replayed(guid, now), other_decision());
  EXPECT_THAT(replayed(now, random), other_decision());
  EXPECT_THAT(replayed(random, guid), other_decision());
}

TEST(ComparedDecisions, TheCodeGetsTheRecordedValuesWhateverItAskedForNow) {
  const auto code = [](Milliseconds delay, std::string id) {
    return [delay, id](OrchestrationContext ctx) -> Orchestration<std::string> {
      auto timer = ctx.schedule_timer(delay);
      auto child = ctx.schedule_sub_orchestration<int>("C", SubOrchestrationOptions().instance_id(id));
      const std::string guid = ctx.new_guid();
      co_await ctx.schedule_wait<void>("end");
      co_return guid + "," + std::to_string(timer.schedule_id()) + "," + std::to_string(child.schedule_id());
    };
  };
  Harness harness(code(Milliseconds(1), "old"));
  harness.start();
  const std::string guid = std::get<events::ValueRecorded>(harness.history.at(3).body).value;
  harness.redeploy(code(Milliseconds(2), "new"));
  const auto last = harness.turn({raised("end")});
  EXPECT_EQ(last.output, "\"" + guid + ",2,3\"");
  ASSERT_EQ(lines_of(last.messages), std::vector<std::string>{"to old: CancelInstance"});
}

// ---- positions -----------------------------------------------------------------------------------------------------

TEST(ComparedDecisions, TheOrderIsCompared) {
  const auto ab = [](Ctx ctx) {
    auto a = ctx.schedule_activity<int>("A");
    return std::pair(std::move(a), ctx.schedule_activity<int>("B"));
  };
  const auto ba = [](Ctx ctx) {
    auto b = ctx.schedule_activity<int>("B");
    return std::pair(std::move(b), ctx.schedule_activity<int>("A"));
  };
  EXPECT_EQ(replayed(ab, ab), kNoDifference);
  EXPECT_THAT(replayed(ab, ba), other_decision());
}

TEST(ComparedDecisions, AStatusOrKeyThatMovedIsSeen) {
  EXPECT_THAT(replayed(
                  [](Ctx ctx) {
                    ctx.set_custom_status("s");
                    ctx.set_kv_value("k", 1);
                  },
                  [](Ctx ctx) {
                    ctx.set_kv_value("k", 1);
                    ctx.set_custom_status("s");
                  }),
              other_decision());
}

// ---- calls that come or go although nothing is queued behind them
// ----------------------------------------------------

template <class F>
std::string added_at_the_end_of_a_turn(F call) {
  Harness harness([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("end"); });
  harness.start();
  harness.redeploy([call](OrchestrationContext ctx) -> Orchestration<void> {
    auto end = ctx.schedule_wait<void>("end");
    call(ctx);
    co_await end;
  });
  return divergence_of(harness.replay_failure());
}

template <class F>
std::string removed_from_the_end_of_a_turn(F call) {
  Harness harness([call](OrchestrationContext ctx) -> Orchestration<void> {
    auto end = ctx.schedule_wait<void>("end");
    call(ctx);
    co_await end;
  });
  harness.start();
  harness.redeploy([](OrchestrationContext ctx) -> Orchestration<void> { co_await ctx.schedule_wait<void>("end"); });
  return divergence_of(harness.replay_failure());
}

TEST(ComparedDecisions, AnAddedKeyValueOrStatusCallIsSeenAtTheEndOfATurn) {
  const auto seen = HasSubstr("the code made a decision that is not in its history");
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.set_kv_value("k", 1); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.clear_kv_value("k"); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.clear_all_kv_values(); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.set_custom_status("s"); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.reset_custom_status(); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { (void)ctx.new_guid(); }), seen);
  EXPECT_THAT(added_at_the_end_of_a_turn([](Ctx ctx) { ctx.schedule_orchestration("N", "i"); }), seen);
}

TEST(ComparedDecisions, ARemovedKeyValueOrStatusCallIsSeenAtTheEndOfATurn) {
  const auto seen = HasSubstr("a recorded decision was not repeated");
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.set_kv_value("k", 1); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.clear_kv_value("k"); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.clear_all_kv_values(); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.set_custom_status("s"); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.reset_custom_status(); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { (void)ctx.random(); }), seen);
  EXPECT_THAT(removed_from_the_end_of_a_turn([](Ctx ctx) { ctx.schedule_orchestration("N", "i"); }), seen);
}

TEST(ComparedDecisions, WhatIsNoDecisionMayChangeFreely) {
  EXPECT_EQ(replayed([](Ctx ctx) { ctx.set_custom_status("s"); },
                     [](Ctx ctx) {
                       ctx.trace_info("new line");
                       if (ctx.get_kv_length() == 1 && ctx.is_replaying()) ctx.trace_error("another one");
                       ctx.set_custom_status("s");
                     }),
            kNoDifference);
}

// ---- drops ---------------------------------------------------------------------------------------------------------

enum class Operation { kActivity, kChild, kWait, kQueue, kTimer };

// Schedules one operation, and drops it or keeps it in the second turn.
auto keeps(Operation operation, bool keep) {
  return [operation, keep](OrchestrationContext ctx) -> Orchestration<void> {
    std::vector<Future<int>> kept;
    std::vector<Future<void>> timers;
    if (operation == Operation::kActivity) kept.push_back(ctx.schedule_activity<int>("A"));
    if (operation == Operation::kChild) kept.push_back(ctx.schedule_sub_orchestration<int>("C"));
    if (operation == Operation::kWait) kept.push_back(ctx.schedule_wait<int>("w"));
    if (operation == Operation::kQueue) kept.push_back(ctx.dequeue_event<int>("q"));
    if (operation == Operation::kTimer) timers.push_back(ctx.schedule_timer(Milliseconds(1)));
    auto end = ctx.schedule_wait<void>("end");
    co_await ctx.schedule_wait<void>("go");
    if (!keep) {
      kept.clear();
      timers.clear();
    }
    co_await end;
  };
}

std::string replayed_drop(Operation operation, bool keep) {
  Harness harness(keeps(operation, keep));
  harness.start();
  harness.turn({raised("go")});
  EXPECT_EQ(harness.replay_failure(), std::nullopt);
  harness.redeploy(keeps(operation, !keep));
  return divergence_of(harness.replay_failure());
}

TEST(ComparedDrops, ADropThatIsNotRepeatedIsNondeterminism) {
  for (const auto operation : {Operation::kActivity, Operation::kChild, Operation::kWait, Operation::kQueue}) {
    EXPECT_THAT(replayed_drop(operation, false),
                AllOf(HasSubstr("a recorded drop of a future was not repeated"), HasSubstr("turn 2"),
                      HasSubstr("drop of the future of event 2   <- recorded in history")));
  }
}

TEST(ComparedDrops, AnAdditionalDropIsNondeterminism) {
  for (const auto operation : {Operation::kActivity, Operation::kChild, Operation::kWait, Operation::kQueue}) {
    EXPECT_THAT(replayed_drop(operation, true),
                AllOf(HasSubstr("the code dropped a future that its history did not drop"), HasSubstr("turn 2"),
                      HasSubstr("drop of the future of event 2   <- decided by the code")));
  }
}

TEST(ComparedDrops, DropsOfTimersAreNotRecordedAndNotCompared) {
  EXPECT_EQ(replayed_drop(Operation::kTimer, false), kNoDifference);
  EXPECT_EQ(replayed_drop(Operation::kTimer, true), kNoDifference);
}

TEST(ComparedDrops, TheOrderOfDropsDoesNotMatter) {
  const auto drops = [](bool forwards) {
    return [forwards](OrchestrationContext ctx) -> Orchestration<void> {
      auto a = std::make_unique<Future<int>>(ctx.schedule_activity<int>("A"));
      auto b = std::make_unique<Future<int>>(ctx.schedule_activity<int>("B"));
      (forwards ? a : b).reset();
      (forwards ? b : a).reset();
      co_await ctx.schedule_wait<void>("end");
    };
  };
  Harness harness(drops(true));
  harness.start();
  harness.redeploy(drops(false));
  EXPECT_EQ(divergence_of(harness.replay_failure()), kNoDifference);
}

TEST(ComparedDrops, WhatOneSideDoesNotHaveIsShownAsNothing) {
  EXPECT_THAT(replayed_drop(Operation::kActivity, true), HasSubstr("  - (nothing)   <- recorded in history\n"));
  EXPECT_THAT(replayed_drop(Operation::kActivity, false), HasSubstr("  + (nothing)   <- decided by the code\n"));
}

}  // namespace
}  // namespace perdure::test
