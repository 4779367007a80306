#include "lifecycles/random_life.h"

#include <chrono>

#include "support/dice.h"

namespace perdure::test {

namespace {

using Ctx = OrchestrationContext;

constexpr int kDeepest = 2;
constexpr ExecutionId kMostExecutions = 3;

[[noreturn]] void violation(const std::string& what) {
  throw OrchestrationError(std::string(kViolation) + ": " + what);
}

void check_own(const std::string& what, const std::string& expected, const std::string& got) {
  if (got != expected) violation(what + " of " + expected + " brought " + got);
}

// Only the parent ends its child, besides clients; and it waits for this one.
void check_child(const LifePlan& child, const Result<std::string>& outcome, bool may_be_taken) {
  if (outcome) return check_own("the child", child.generation, *outcome);
  const std::string text = outcome.error().message();
  const bool taken = text.find("is taken") != std::string::npos;
  const bool ended =
      text.find(kClientCancels) != std::string::npos || text.find(kClientTerminates) != std::string::npos;
  const bool failed = text == kOwnFailure + child.generation;
  if (!(taken && may_be_taken) && !ended && !failed) violation("the child " + child.generation + " failed: " + text);
}

Milliseconds short_time(Dice& dice, std::size_t most) {
  return Milliseconds(static_cast<std::int64_t>(dice.below(most)));
}

// One execution's draws: the same on every replay.
struct Draws {
  Draws(const LifePlan& from, ExecutionId number) : plan(from), execution(number), dice(plan.seed * 31 + execution) {}

  LifePlan child(const char* origin) {
    LifePlan next = plan;
    next.generation += "." + std::to_string(execution) + "." + std::to_string(++children);
    next.seed = dice.next() >> 1U;
    next.origin = origin;
    ++next.depth;
    return next;
  }
  // A child's own id, or none.
  SubOrchestrationOptions id() {
    collides = dice.chance(50);
    if (!collides) return {};
    return SubOrchestrationOptions().instance_id(shared_id(plan.prefix, dice.below(kSharedIds)));
  }

  LifePlan plan;
  ExecutionId execution;
  Dice dice;
  int children = 0;
  bool collides = false;  // the last id() may be taken
};

Task<void> run_activity(Ctx ctx, LifePlan plan, std::uint64_t roll) {
  if (roll == 0) {
    const auto echoed = co_await ctx.schedule_activity<std::string>("Echo", plan.generation);
    check_own("the activity", plan.generation, echoed);
  } else if (roll == 1) {
    auto activity = ctx.schedule_activity<std::string>("Echo", plan.generation);
    co_await perdure::select{activity, ctx.schedule_timer(Milliseconds(2))};
  } else {
    ctx.schedule_activity<std::string>("Echo", plan.generation).detach();
  }
}

// A number that is lost or out of order is waited for in vain.
Orchestration<int> read_numbers(Ctx ctx, NumbersRead numbers) {
  constexpr int kReadInAnExecution = 3;
  for (int i = 0; i < kReadInAnExecution && numbers.last < numbers.wanted; ++i) {
    const int number = co_await ctx.dequeue_event<int>("numbers");
    if (number != numbers.last + 1) continue;
    numbers.last = number;
    numbers.sum += number;
  }
  if (numbers.last < numbers.wanted) co_return ctx.continue_as_new(numbers);
  co_return numbers.sum;
}

Orchestration<std::string> live(Ctx ctx, LifePlan plan) {
  Draws draws(plan, ctx.execution_id());
  Dice& dice = draws.dice;
  ctx.set_custom_status(plan.origin);
  if (ctx.execution_id() > 1) {
    check_own("the value", plan.generation, ctx.get_kv_value<std::string>("generation").value_or("nothing"));
  } else if (ctx.get_kv_length() != 0) {
    violation("a new instance has values");
  }
  ctx.set_kv_value("generation", plan.generation);
  const std::size_t steps = dice.between(1, 3);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t what = dice.below(plan.depth < kDeepest ? 10 : 5);
    if (what <= 1) {
      co_await run_activity(ctx, plan, dice.below(3));
    } else if (what == 2) {
      co_await ctx.schedule_timer(short_time(dice, 8));
    } else if (what == 3) {
      const Milliseconds patience = short_time(dice, 30);
      const auto first = co_await perdure::select{ctx.dequeue_event<int>("numbers"), ctx.schedule_timer(patience)};
      ctx.set_kv_value("first", static_cast<int>(first.index()));
    } else if (what == 4) {
      const Milliseconds patience = short_time(dice, 40);
      const auto first = co_await perdure::select{ctx.schedule_wait<int>("event"), ctx.schedule_timer(patience)};
      ctx.set_kv_value("first", static_cast<int>(first.index()));
    } else if (what <= 6) {
      const LifePlan child = draws.child(kAwaitedChild);
      const SubOrchestrationOptions options = draws.id();
      const auto outcome = co_await ctx.schedule_sub_orchestration<std::string>("Life", child, options).as_result();
      check_child(child, outcome, draws.collides);
    } else if (what == 7) {  // dropped after a moment, or at the end
      const LifePlan child = draws.child(kAwaitedChild);
      const SubOrchestrationOptions options = draws.id();
      const Milliseconds patience = short_time(dice, 6);
      auto future = ctx.schedule_sub_orchestration<std::string>("Life", child, options);
      co_await ctx.schedule_timer(patience);
    } else if (what == 8) {
      const LifePlan child = draws.child(kDetachedChild);
      const SubOrchestrationOptions options = draws.id();
      ctx.schedule_sub_orchestration<std::string>("Life", child, options).detach();
    } else {
      const LifePlan other = draws.child(kTopLevel);
      ctx.schedule_orchestration("Life", shared_id(plan.prefix, dice.below(kSharedIds)), other);
    }
  }
  const std::size_t end = dice.below(10);
  if (end < 3 && ctx.execution_id() < kMostExecutions) co_return ctx.continue_as_new(plan);
  if (end == 3) throw OrchestrationError(kOwnFailure + plan.generation);
  co_return plan.generation;
}

}  // namespace

std::string shared_id(const std::string& prefix, std::size_t number) {
  return prefix + static_cast<char>('a' + number);
}

Registry life_registry(bool plain) {
  Registry registry;
  registry.add_activity("Echo", [](ActivityContext&, const std::string& text) { return text; });
  registry.add_orchestration("Life", live);
  if (!plain) registry.add_orchestration("Numbers", read_numbers);
  registry.add_orchestration("Letter", [](Ctx ctx) -> Orchestration<std::string> {
    co_return co_await ctx.dequeue_event<std::string>("letters");
  });
  registry.add_orchestration("Outcome", [](Ctx, std::string text) -> Orchestration<std::string> {
    if (text.starts_with(kOwnFailure)) throw OrchestrationError(text);
    co_return text;
  });
  return registry;
}

}  // namespace perdure::test
