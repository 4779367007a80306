#include "lifecycles/random_life.h"

#include <chrono>
#include <stdexcept>
#include <utility>
#include <variant>

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

bool contains_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Only the parent ends its child, besides clients; and it waits for this one.
void check_child(const LifePlan& child, const Result<LifeOutput>& outcome, bool may_be_taken) {
  if (outcome) {
    if (!child.id.empty()) check_own("the id", child.id, outcome->id);
    return check_own("the child", child.generation, outcome->generation);
  }
  const std::string text = outcome.error().message();
  const std::string addressee = child.id.empty() ? "'" + child.parent + "::sub::" : "'" + child.id + "'";
  const bool taken = contains_text(text, "is taken");
  const bool ended =
      contains_text(text, kClientCancels + addressee) || contains_text(text, kClientTerminates + addressee);
  const bool failed = text == kOwnFailure + child.generation;
  if (!(taken && may_be_taken) && !ended && !failed) violation("the child " + child.generation + " failed: " + text);
}

Milliseconds short_time(Dice& dice, std::size_t most) {
  return Milliseconds(static_cast<std::int64_t>(dice.below(most)));
}

// One execution's draws: the same on every replay.
struct Draws {
  Draws(const LifePlan& from, std::string instance_id, ExecutionId number)
      : plan(from), instance(std::move(instance_id)), execution(number), dice(plan.seed * 31 + execution) {}

  LifePlan child(const char* origin) {
    LifePlan next = plan;
    next.generation += "." + std::to_string(execution) + "." + std::to_string(++children);
    next.seed = dice.next() >> 1U;
    next.origin = origin;
    next.parent = origin == kTopLevel ? "" : instance;
    next.id = origin == kTopLevel || dice.chance(50) ? any_id() : "";
    ++next.depth;
    return next;
  }
  std::string any_id() {
    if (dice.chance(10)) return contested_id(plan.prefix, dice.below(kContestedNumbers));
    return shared_id(plan.prefix, dice.below(kSharedIds));
  }

  LifePlan plan;
  std::string instance;
  ExecutionId execution;
  Dice dice;
  int children = 0;
};

SubOrchestrationOptions id_of(const LifePlan& child) {
  return child.id.empty() ? SubOrchestrationOptions() : SubOrchestrationOptions().instance_id(child.id);
}

// What an activity is scheduled with, and whether it may run out of time.
struct DrawnActivity {
  DrawnActivity(const LifePlan& plan, Dice& dice) : input{plan.generation, plan.prefix} {
    constexpr std::uint32_t kMostAttempts = 3;
    switch (dice.below(10)) {
      case 0:
        options.session(plan.prefix + "session" + std::to_string(dice.below(3)));
        break;
      case 1:
        options.tag(dice.chance(50) ? kFastTag : kOtherTag);
        break;
      case 2:
        input.failures = static_cast<std::uint32_t>(dice.below(kMostAttempts));
        options.retry(RetryPolicy(kMostAttempts).backoff(Backoff::fixed(Milliseconds(1))));
        break;
      case 3:
        may_time_out = true;
        options.schedule_to_start_timeout(Milliseconds(1) + short_time(dice, 20));
        break;
      case 4:
        may_time_out = true;
        options.tag(kUnservedTag).schedule_to_start_timeout(Milliseconds(1) + short_time(dice, 20));
        break;
      default:
        break;
    }
  }
  Echo input;
  ActivityOptions options;
  bool may_time_out = false;
};

Task<void> run_activity(Ctx ctx, DrawnActivity drawn, std::uint64_t roll) {
  if (roll == 0) {
    const auto echoed = co_await ctx.schedule_activity<Echoed>("Echo", drawn.input, drawn.options).as_result();
    if (echoed) check_own("the activity", drawn.input.generation, echoed->generation);
    const bool timed_out = !echoed && drawn.may_time_out && echoed.error().is_timeout();
    if (!echoed && !timed_out) violation("an activity failed: " + echoed.error().message());
  } else if (roll == 1) {
    auto activity = ctx.schedule_activity<Echoed>("Echo", drawn.input, drawn.options);
    try {
      co_await perdure::select{activity, ctx.schedule_timer(Milliseconds(2))};
    } catch (const ActivityError& failure) {
      if (!drawn.may_time_out || !failure.error().is_timeout()) throw;
    }
  } else {
    drawn.input.detached = true;
    ctx.schedule_activity<Echoed>("Echo", drawn.input, drawn.options).detach();
  }
}

void remember(Ctx& ctx, const char* value, const Note& note) {
  check_own("a message", ctx.instance_id(), note.to);
  ctx.set_kv_value(value, note.request);
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

Orchestration<LifeOutput> live(Ctx ctx, LifePlan plan) {
  Draws draws(plan, ctx.instance_id(), ctx.execution_id());
  Dice& dice = draws.dice;
  ctx.set_custom_status(life_status(plan));
  if (!plan.id.empty()) check_own("the id", plan.id, ctx.instance_id());
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
      const DrawnActivity drawn(plan, dice);
      co_await run_activity(ctx, drawn, dice.below(3));
    } else if (what == 2) {
      co_await ctx.schedule_timer(short_time(dice, 8));
    } else if (what == 3) {
      const Milliseconds patience = short_time(dice, 30);
      const auto first = co_await perdure::select{ctx.dequeue_event<Note>("notes"), ctx.schedule_timer(patience)};
      if (const auto* note = std::get_if<0>(&first)) remember(ctx, kLastNote, *note);
    } else if (what == 4) {
      const Milliseconds patience = short_time(dice, 40);
      const auto first = co_await perdure::select{ctx.schedule_wait<Note>("event"), ctx.schedule_timer(patience)};
      if (const auto* note = std::get_if<0>(&first)) remember(ctx, kLastEvent, *note);
    } else if (what <= 6) {
      const LifePlan child = draws.child(kAwaitedChild);
      const auto outcome = co_await ctx.schedule_sub_orchestration<LifeOutput>("Life", child, id_of(child)).as_result();
      check_child(child, outcome, !child.id.empty());
    } else if (what == 7) {  // dropped after a moment, or at the end
      const LifePlan child = draws.child(kAwaitedChild);
      const Milliseconds patience = short_time(dice, 6);
      auto future = ctx.schedule_sub_orchestration<LifeOutput>("Life", child, id_of(child));
      co_await ctx.schedule_timer(patience);
    } else if (what == 8) {
      const LifePlan child = draws.child(kDetachedChild);
      ctx.schedule_sub_orchestration<LifeOutput>("Life", child, id_of(child)).detach();
    } else {
      const LifePlan other = draws.child(kTopLevel);
      ctx.schedule_orchestration("Life", other.id, other);
    }
  }
  const std::size_t end = dice.below(10);
  if (end < 3 && ctx.execution_id() < kMostExecutions) co_return ctx.continue_as_new(plan);
  if (end == 3) throw OrchestrationError(kOwnFailure + plan.generation);
  co_return LifeOutput{plan.generation, ctx.instance_id()};
}

Orchestration<std::string> end_as(Ctx, std::string text) {
  if (text.starts_with(kOwnFailure)) throw OrchestrationError(text);
  co_return text;
}

Orchestration<std::string> read_chapters(Ctx ctx, Chapters chapters) {
  if (ctx.execution_id() < chapters.last) co_return ctx.continue_as_new(chapters);
  if (chapters.outcome.starts_with(kOwnFailure)) throw OrchestrationError(chapters.outcome);
  co_return chapters.outcome;
}

bool serves(LifeNodeKind kind, const std::optional<std::string>& tag) {
  return !tag || *tag == (kind == LifeNodeKind::kFast ? kFastTag : kOtherTag);
}

Echoed write_effect(LifeNodeKind kind, const LifeLedger& ledger, ActivityContext& ctx, const Echo& input) {
  if (!serves(kind, ctx.tag())) violation("this node does not serve the tag");
  const std::string key = ctx.idempotency_key();
  ledger.add(input.prefix, {key, input.generation, ctx.execution_id(), ctx.activity_id(), ctx.attempt()});
  if (ctx.attempt() <= input.failures) throw std::runtime_error(kFailsThisTime);
  return {input.generation, key};
}

}  // namespace

std::string life_status(const LifePlan& plan) {
  return plan.generation + " " + plan.origin;
}

std::string shared_id(const std::string& prefix, std::size_t number) {
  return prefix + static_cast<char>('a' + number);
}

std::string contested_id(const std::string& prefix, std::size_t number) {
  return prefix + "contested" + std::to_string(number);
}

const char* to_string(LifeNodeKind kind) noexcept {
  switch (kind) {
    case LifeNodeKind::kFast:
      return "fast";
    case LifeNodeKind::kPlain:
      return "plain";
    case LifeNodeKind::kUncached:
      return "uncached";
  }
  return "";
}

LifeNodeKind parse_life_node_kind(const std::string& text) {
  for (const LifeNodeKind kind : {LifeNodeKind::kFast, LifeNodeKind::kPlain, LifeNodeKind::kUncached}) {
    if (text == to_string(kind)) return kind;
  }
  throw std::invalid_argument("there is no kind of node '" + text + "'");
}

Registry life_registry(LifeNodeKind kind, const LifeLedger& ledger) {
  Registry registry;
  registry.add_activity("Echo", [kind, ledger](ActivityContext& ctx, const Echo& input) {
    return write_effect(kind, ledger, ctx, input);
  });
  registry.add_orchestration("Life", live);
  registry.add_orchestration("Outcome", end_as);
  registry.add_orchestration("Chapters", read_chapters);
  if (kind != LifeNodeKind::kPlain) registry.add_orchestration("Numbers", read_numbers);
  registry.add_orchestration("Letter", [](Ctx ctx) -> Orchestration<std::string> {
    co_return co_await ctx.dequeue_event<std::string>("letters");
  });
  return registry;
}

}  // namespace perdure::test
