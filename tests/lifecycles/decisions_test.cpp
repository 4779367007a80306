// Decisions of code that loops, races, throws and is ended: the rules of the guide for select, join, errors and timers.
#include <limits>
#include <string>
#include <vector>

#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using Decisions = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Decisions);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Decisions);

using Text = std::string;

Registry add_work(Registry registry) {
  registry.add_activity("Echo", [](ActivityContext&, int n) { return n; });
  registry.add_activity("Fail", [](ActivityContext&, Text text) -> int { throw std::runtime_error(text); });
  return registry;
}

// Guide: "The select owns the operations written inside its braces: the losers are dropped", nested ones too. A drop
// cancels a child.
TEST_P(Decisions, ANestedSelectDropsEveryLoser) {
  Registry registry = registry_of(add_victims, add_work);
  registry.add_orchestration("Nests", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto near = child_id("near");
    const auto far = child_id("far");
    const auto first = co_await perdure::select{
        perdure::select{ctx.schedule_sub_orchestration<int>("Victim", near), ctx.dequeue_event<int>("q")},
        perdure::join{ctx.schedule_sub_orchestration<int>("Victim", far), ctx.schedule_timer(1s)},
        ctx.schedule_timer(2s)};
    co_await ctx.schedule_timer(1s);
    co_return static_cast<int>(first.index());
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Nests");
  EXPECT_EQ(world.wait("i").result<int>(), 2);
  for (const char* child : {"near", "far"}) {
    EXPECT_THAT(outcome_of(world.client(), child), HasSubstr("parent dropped sub-orchestration future"));
  }
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

// Guide: "dropping an unfinished future cancels its operation, durably", in every round of a loop.
TEST_P(Decisions, ALoopLeavesNoDroppedActivityBehind) {
  Registry registry;
  registry.add_orchestration("Loops", [](OrchestrationContext ctx) -> Orchestration<int> {
    const auto options = ActivityOptions().tag("unserved");
    int timeouts = 0;
    for (int i = 0; i < 5; ++i) {
      const auto first =
          co_await perdure::select{ctx.schedule_activity<int>("Echo", i, options), ctx.schedule_timer(1min)};
      timeouts += first.index() == 1 ? 1 : 0;
    }
    co_await ctx.dequeue_event<void>("go");
    co_return timeouts;
  });
  world.start_node(add_work(registry));
  world.client().start_orchestration("i", "Loops");
  world.settle();
  EXPECT_EQ(world.client().get_queue_depths().activities, 1U);
  for (int i = 0; i < 5; ++i) world.advance(1min);
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
  world.client().enqueue_event("i", "go");
  EXPECT_EQ(world.wait("i").result<int>(), 5);
}

// schedule_timer: "negative delays count as zero, and there is no longest one".
TEST_P(Decisions, TimersMayBePastOrForever) {
  Registry registry;
  registry.add_orchestration("Extremes", [](OrchestrationContext ctx) -> Orchestration<int> {
    const Timestamp before = ctx.utc_now();
    co_await ctx.schedule_timer(-1h);
    co_await ctx.schedule_timer(Milliseconds::min());
    co_await ctx.schedule_timer_at(Timestamp(Milliseconds(-5)));
    co_await ctx.schedule_timer_at(Timestamp(Milliseconds(std::numeric_limits<std::int64_t>::min())));
    co_await ctx.schedule_timer_at(before - 1h);
    if (ctx.utc_now() != before) throw OrchestrationError("time has passed");
    auto forever = ctx.schedule_timer(Milliseconds::max());
    const auto first = co_await perdure::select{forever, ctx.dequeue_event<void>("go")};
    co_return static_cast<int>(first.index());
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Extremes");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
  EXPECT_EQ(world.client().get_queue_depths().delayed_messages, 1U);
  world.advance(24h * 365);
  world.client().enqueue_event("i", "go");
  EXPECT_EQ(world.wait("i").result<int>(), 1);
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

// Guide: "co_await throws when an operation failed"; code that catches continues. A name that breaks the rule "throws
// MisuseError", which code may catch as well.
TEST_P(Decisions, CodeThatCatchesContinues) {
  Registry registry = registry_of(add_victims, add_work);
  registry.add_orchestration("Panics", [](OrchestrationContext ctx) -> Orchestration<int> {
    if (ctx.execution_id() == 1) throw 5;
    co_return 1;
  });
  registry.add_orchestration("Catches", [](OrchestrationContext ctx) -> Orchestration<int> {
    Text caught;
    try {
      co_await ctx.schedule_activity<int>("Fail", "no");
    } catch (const ActivityError& error) {
      caught += error.error().message() + ";";
    }
    try {
      co_await ctx.schedule_activity<int>("bad\nname");
    } catch (const MisuseError&) {
      caught += "misuse;";
    }
    try {
      co_await ctx.schedule_sub_orchestration<int>("Panics");
    } catch (const SubOrchestrationError& error) {
      const bool panicked = error.error().message().starts_with("orchestration panicked");
      caught += panicked ? "panic;" : "other;";
    }
    try {
      static_cast<void>(co_await ctx.schedule_activity<Text>("Echo", 1));
    } catch (const CodecError&) {
      caught += "codec;";
    }
    ctx.set_custom_status(caught);
    co_await ctx.schedule_timer(1s);
    throw OrchestrationError("after " + caught);
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Catches");
  const OrchestrationStatus status = world.wait("i");
  const Text caught = "no;misuse;panic;codec;";
  EXPECT_EQ(status.custom_status, caught);
  EXPECT_EQ(status.error_text(), "after " + caught);
}

// Guide: "join waits for all and then throws the first failure by position", whichever came first.
TEST_P(Decisions, AJoinThrowsTheFirstFailureByPosition) {
  Registry registry = add_work({});
  registry.add_orchestration("Joins", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const auto late = [](OrchestrationContext inner) -> Task<int> {
      co_await inner.schedule_timer(1h);
      co_return co_await inner.schedule_activity<int>("Fail", "late");
    };
    const Timestamp before = ctx.utc_now();
    Text caught;
    try {
      co_await perdure::join{ctx.schedule_activity<int>("Echo", 1), late(ctx),
                             ctx.schedule_activity<int>("Fail", "early")};
    } catch (const ActivityError& error) {
      caught = error.error().message();
    }
    co_return caught + (ctx.utc_now() - before >= 1h ? " at the end" : " too early");
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Joins");
  EXPECT_EQ(world.wait("i").result<Text>(), "late at the end");
}

// Registers Listens(): sets "heard" to each message of "q", forever.
Registry add_listens(Registry registry) {
  registry.add_orchestration("Listens", [](OrchestrationContext ctx) -> Orchestration<void> {
    while (true) {
      const auto message = co_await ctx.dequeue_event<Text>("q");
      ctx.set_kv_value("heard", message);
      ctx.schedule_orchestration("Quick", "detached-" + message, 1);
      ctx.schedule_activity<int>("Echo", 1).detach();
    }
  });
  return registry;
}

// Client::cancel_instance: "its code runs once more for what arrived before". Architecture: detached starts leave in
// every end, detached operations do not.
TEST_P(Decisions, ACancelledTurnRunsForWhatArrivedBefore) {
  auto& node = world.start_node(registry_of(add_listens, add_victims, add_work));
  world.client().start_orchestration("i", "Listens");
  world.settle();
  world.stop_node(node);
  world.client().enqueue_event("i", "q", "before");
  world.client().cancel_instance("i", "by hand");
  world.start_node(registry_of(add_listens, add_victims, add_work));
  world.wait("i");
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Cancelled: cancelled: by hand");
  EXPECT_EQ(world.client().get_kv_value<Text>("i", "heard"), "before");
  EXPECT_EQ(outcome_of(world.client(), "detached-before"), "Completed 1");
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// Client::terminate_instance: "The same without running its code".
TEST_P(Decisions, ATerminatedTurnRunsNoCode) {
  auto& node = world.start_node(registry_of(add_listens, add_victims, add_work));
  world.client().start_orchestration("i", "Listens");
  world.settle();
  world.stop_node(node);
  world.client().enqueue_event("i", "q", "before");
  world.client().cancel_instance("i", "gently");
  world.client().terminate_instance("i", "by hand");
  world.start_node(registry_of(add_listens, add_victims, add_work));
  world.wait("i");
  EXPECT_THAT(outcome_of(world.client(), "i"), HasSubstr("Terminated"));
  EXPECT_EQ(world.client().get_kv_value<Text>("i", "heard"), std::nullopt);
  EXPECT_EQ(outcome_of(world.client(), "detached-before"), "NotFound");
}

// continue_as_new: "Nothing of this execution runs after the next co_await". An exception after the call changes
// nothing.
TEST_P(Decisions, ContinueAsNewWinsOverALaterException) {
  Registry registry = add_work({});
  registry.add_orchestration("Throws", [](OrchestrationContext ctx, Text seen) -> Orchestration<Text> {
    if (ctx.execution_id() == 1) {
      static_cast<void>(ctx.continue_as_new("from 1"));
      ctx.set_kv_value("after", 1);
      throw OrchestrationError("too late");
    }
    if (ctx.execution_id() == 2) {
      try {
        co_await ctx.continue_as_new(seen + " from 2");
      } catch (...) {
        co_return "caught";
      }
      co_return "went on";
    }
    co_return seen;
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Throws", "");
  EXPECT_EQ(world.wait("i").result<Text>(), "from 1 from 2");
  EXPECT_EQ(world.client().get_kv_value<int>("i", "after"), std::nullopt);
}

// context.h: recorded values are drawn anew in every execution, and guids never repeat. utc_now never runs backwards.
TEST_P(Decisions, EveryExecutionDrawsItsOwnValues) {
  Registry registry;
  registry.add_orchestration("Draws", [](OrchestrationContext ctx, std::vector<Text> seen) -> Orchestration<int> {
    seen.push_back(ctx.new_guid());
    seen.push_back(std::to_string(ctx.random()));
    co_await ctx.schedule_timer(1s);
    seen.push_back(ctx.new_guid());
    if (ctx.execution_id() < 3) co_return ctx.continue_as_new(seen);
    std::sort(seen.begin(), seen.end());
    co_return static_cast<int>(std::unique(seen.begin(), seen.end()) - seen.begin());
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Draws", std::vector<Text>());
  EXPECT_EQ(world.wait("i").result<int>(), 9);
}

// Limits::max_history_events: "of one execution; continue_as_new begins a new one". The error names the limit.
TEST_P(Decisions, TheLimitOfHistoryIsThatOfAnExecution) {
  RuntimeOptions options;
  options.limits.max_history_events = 30;
  Registry registry = add_work({});
  registry.add_orchestration("Grows", [](OrchestrationContext ctx, int executions) -> Orchestration<int> {
    for (int i = 0; i < 9; ++i) co_await ctx.schedule_activity<int>("Echo", i);
    if (ctx.execution_id() < static_cast<ExecutionId>(executions)) co_return ctx.continue_as_new(executions);
    while (executions == 3) co_await ctx.schedule_activity<int>("Echo", 1);
    co_return executions;
  });
  world.start_node(registry, options);
  world.client().start_orchestration("short", "Grows", 5);
  world.client().start_orchestration("long", "Grows", 3);
  EXPECT_EQ(world.wait("short").result<int>(), 5);
  world.wait("long");
  EXPECT_THAT(outcome_of(world.client(), "long"), HasSubstr("max_history_events"));
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// A child whose id is taken fails, and the instance that has the id continues. The id may be the parent's own, or that
// of another child of the same turn.
TEST_P(Decisions, AChildCannotTakeAFamilyId) {
  Registry registry = add_victims();
  registry.add_orchestration("Family", [](OrchestrationContext ctx) -> Orchestration<Text> {
    const auto own = child_id(ctx.instance_id());
    const auto twin = child_id("twin");
    ctx.schedule_orchestration("Quick", ctx.instance_id(), 5);
    auto self = ctx.schedule_sub_orchestration<int>("Quick", 1, own);
    auto first = ctx.schedule_sub_orchestration<int>("Quick", 2, twin);
    auto second = ctx.schedule_sub_orchestration<int>("Quick", 3, twin);
    const auto a = co_await self.as_result();
    const auto b = co_await first.as_result();
    const auto c = co_await second.as_result();
    if (a || c) co_return "a taken id was given away";
    co_return std::to_string(*b) + a.error().message() + c.error().message();
  });
  world.start_node(registry);
  world.client().start_orchestration("i", "Family");
  EXPECT_THAT(world.wait("i").result<Text>(),
              ::testing::AllOf(::testing::StartsWith("2"), HasSubstr("'i' is taken"), HasSubstr("'twin' is taken")));
  world.client().delete_instance("i");
  expect_nothing_left(world.client());
}

}  // namespace
}  // namespace perdure::test
