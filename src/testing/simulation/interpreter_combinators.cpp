// The steps of a program that await the first or all of several, and helper coroutines.
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/combinators.h>
#include <perdure/context.h>
#include <perdure/error.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

Milliseconds delay_of(const Step& step) {
  return Milliseconds(static_cast<std::int64_t>(step.number));
}

std::string numbered(const Run& run, const Step& step, std::uint64_t index) {
  return run.token(step) + "." + std::to_string(index);
}

// Both have fired when they are looked at; the one that was first has won, though it was scheduled last.
Task<std::string> select_late(OrchestrationContext ctx, Run* run, Milliseconds delay) {
  const Ledger::Frame frame(*run->ledger);
  Future<void> second = ctx.schedule_timer(delay + Milliseconds(1));
  Future<void> first = ctx.schedule_timer(delay);
  co_await ctx.schedule_timer(delay + Milliseconds(2));
  const auto won = co_await select{second, first};
  co_return won.index() == 1 ? "timer" : "the later timer";
}

// The loser can never come.
Task<void> select_fixed(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  std::string text = "the one that never comes has won";
  if (step->number % 4 == 3) {
    text = co_await select_late(ctx, run, delay_of(*step));
  } else if (step->number % 3 == 0) {
    const auto first =
        co_await select{ctx.schedule_wait<Raw>(token), schedule(ctx, *run->ledger, activity::kEcho, token)};
    if (const auto* won = std::get_if<1>(&first)) text = *won;
  } else if (step->number % 3 == 1) {
    const auto first =
        co_await select{schedule(ctx, *run->ledger, activity::kNever, token), ctx.schedule_timer(delay_of(*step))};
    if (first.index() == 1) text = "timer";
  } else {
    Future<std::string> message = ctx.dequeue_event<std::string>(token);
    const auto first = co_await select{ctx.schedule_timer(delay_of(*step)), message};
    if (first.index() == 0) text = "timer";
  }
  run->note(*step, text);
}

Task<void> select_race(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const auto first = co_await select{schedule(ctx, *run->ledger, activity::kEcho, run->token(*step)).as_result(),
                                     ctx.schedule_timer(delay_of(*step))};
  const auto* won = std::get_if<0>(&first);
  run->note(*step, won ? text_of(*won) : "timer");
}

Task<void> select_many(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  std::vector<Future<std::string>> parts;
  parts.reserve(step->number);
  for (std::uint64_t i = 0; i < step->number; ++i) {
    parts.push_back(schedule(ctx, *run->ledger, activity::kEcho, numbered(*run, *step, i)));
  }
  const auto first = co_await ctx.select(std::move(parts));
  run->note(*step, std::to_string(first.index()) + ": " + first.value());
}

Task<void> join_many(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  std::vector<Future<std::string>> parts;
  parts.reserve(step->number);
  for (std::uint64_t i = 0; i < step->number; ++i) {
    const std::string_view name = i == 1 ? activity::kFails : activity::kEcho;
    parts.push_back(schedule(ctx, *run->ledger, name, numbered(*run, *step, i)));
  }
  const auto results = co_await ctx.join(std::move(parts)).as_result();
  std::string text;
  for (const auto& result : results) text += text_of(result) + "; ";
  run->note(*step, text);
}

Task<std::string> value_of_block(OrchestrationContext ctx, Run* run, const Block* block, std::string value) {
  const Ledger::Frame frame(*run->ledger);
  co_await run_block(ctx, run, block);
  co_return value;
}

Task<std::string> block_that_throws(OrchestrationContext ctx, Run* run, const Block* block, std::string message) {
  const Ledger::Frame frame(*run->ledger);
  co_await run_block(ctx, run, block);
  throw OrchestrationError(message);
}

Task<void> join_pack(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  const auto all =
      co_await join{schedule(ctx, *run->ledger, activity::kEcho, token), ctx.schedule_timer(delay_of(*step)),
                    value_of_block(ctx, run, &step->blocks[0], "block")};
  run->note(*step, std::get<0>(all) + "; " + std::get<2>(all));
}

Task<void> join_tasks(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  std::vector<Task<std::string>> tasks;
  tasks.reserve(step->blocks.size());
  for (const Block& block : step->blocks) {
    tasks.push_back(value_of_block(ctx, run, &block, "block " + std::to_string(tasks.size())));
  }
  const auto values = co_await ctx.join(std::move(tasks));
  std::string text;
  for (const std::string& value : values) text += value + "; ";
  run->note(*step, text);
}

}  // namespace

Task<void> run_combined_step(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  switch (step->op) {
    case Op::kSelectFixed:
      co_await select_fixed(ctx, run, step);
      break;
    case Op::kSelectRace:
      co_await select_race(ctx, run, step);
      break;
    case Op::kSelectMany:
      co_await select_many(ctx, run, step);
      break;
    case Op::kJoinMany:
      co_await join_many(ctx, run, step);
      break;
    case Op::kJoinPack:
      co_await join_pack(ctx, run, step);
      break;
    case Op::kJoinTasks:
      co_await join_tasks(ctx, run, step);
      break;
    case Op::kThrowingTask: {
      const auto result =
          co_await block_that_throws(ctx, run, &step->blocks[0], run->token(*step) + " throws").as_result();
      run->note(*step, text_of(result));
      break;
    }
    default:
      co_await run_block(ctx, run, &step->blocks[0]);
      run->note(*step, "task");
  }
}

}  // namespace perdure::testing::simulation
