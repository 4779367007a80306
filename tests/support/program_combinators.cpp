// The steps of a random program that await the first or all of several.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/perdure.h>
#include "support/program_steps.h"

namespace perdure::test {

namespace {

std::vector<Task<std::string>> tasks_of(OrchestrationContext ctx, Code* code, const Step& step, Operations* kept) {
  std::vector<Task<std::string>> tasks;
  for (const Block& block : step.blocks) tasks.push_back(block_value(ctx, code, &block, kept));
  return tasks;
}

// ---- the first of several -----------------------------------------------------------------------------------------

Task<void> select_with_timer(OrchestrationContext ctx, Code* code, const Step* step) {
  Operation operation = code->start(step->sources[0]);
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  const std::vector<EventId> ids{operation.note.source_id(), timer.schedule_id()};
  auto first = co_await select{std::move(operation.future).as_result(), std::move(timer)};
  std::string value;
  if (auto* result = std::get_if<0>(&first)) {
    if (*result) value = **result;
    code->see(operation.note, *result);
  }
  code->selected(ids, first.index(), value);
}

Task<void> select_four(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  Operation one = code->start(step->sources[0]);
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  Operation two = code->start(step->sources[1]);
  const std::vector<EventId> ids{one.note.source_id(), 0, timer.schedule_id(), two.note.source_id()};
  auto first =
      co_await select{std::move(one.future).as_result(), block_value(ctx, code, &step->blocks[0], kept).as_result(),
                      std::move(timer), std::move(two.future).as_result()};
  std::string value;
  if (auto* result = std::get_if<0>(&first)) {
    if (*result) value = **result;
    code->see(one.note, *result);
  } else if (auto* block = std::get_if<1>(&first)) {
    code->see_result(*block);
  } else if (auto* last = std::get_if<3>(&first)) {
    if (*last) value = **last;
    code->see(two.note, *last);
  }
  if (first.index() != 1) code->selected(ids, first.index(), value);
}

Task<void> select_many(OrchestrationContext ctx, Code* code, const Step* step) {
  Operations operations = code->start(step->sources);
  const auto ids = operations.source_ids();
  try {
    auto first = co_await ctx.select(std::move(operations.futures));
    code->see(operations.notes[first.index()], first.value());
    code->selected(ids, first.index(), first.value());
  } catch (const DurableError& error) {
    code->see(error.what());
    if (step->on_failure == OnFailure::kThrow) throw;
  }
}

// Afterwards it looks at the losers that were done as well.
Task<void> select_kept(OrchestrationContext ctx, Code* code, Operations* kept) {
  if (kept->empty()) co_return;
  std::vector<bool> done;
  for (const auto& future : kept->futures) done.push_back(future.done());
  try {
    auto first = co_await ctx.select(kept->futures);
    code->see(kept->notes[first.index()], first.value());
    code->selected(kept->source_ids(), first.index(), first.value());
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (!done[i] || i == first.index()) continue;
      kept->notes[i].lost();
      const Result<std::string> loser = co_await kept->futures[i].as_result();
      code->see(kept->notes[i], loser);
    }
  } catch (const DurableError& error) {
    code->see(error.what());
  }
}

Task<void> select_kept_with_timer(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  if (kept->empty()) co_return;
  const std::size_t index = step->number % kept->size();
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  const std::vector<EventId> ids{timer.schedule_id(), kept->notes[index].source_id()};
  auto first = co_await select{std::move(timer), kept->futures[index].as_result()};
  std::string value;
  if (auto* result = std::get_if<1>(&first)) {
    if (*result) value = **result;
    code->see(kept->notes[index], *result);
  }
  code->selected(ids, first.index(), value);
}

Task<void> select_join(OrchestrationContext ctx, Code* code, const Step* step) {
  Operations two = code->start(step->sources);
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  auto first =
      co_await select{join{std::move(two.futures[0]), std::move(two.futures[1])}.as_result(), std::move(timer)};
  if (auto* both = std::get_if<0>(&first)) {
    code->joined(two);
    code->see(two.notes[0], std::get<0>(*both));
    code->see(two.notes[1], std::get<1>(*both));
  }
  code->see(first.index());
}

// ---- all of several -----------------------------------------------------------------------------------------------

Task<void> join_many(OrchestrationContext ctx, Code* code, const Step* step) {
  Operations operations = code->start(step->sources);
  if (step->on_failure == OnFailure::kAsResult) {
    const auto results = co_await ctx.join(std::move(operations.futures)).as_result();
    code->joined(operations);
    for (std::size_t i = 0; i < results.size(); ++i) code->see(operations.notes[i], results[i]);
    co_return;
  }
  try {
    const auto values = co_await ctx.join(std::move(operations.futures));
    code->joined(operations);
    for (std::size_t i = 0; i < values.size(); ++i) code->see(operations.notes[i], values[i]);
  } catch (const DurableError& error) {
    code->joined(operations);
    code->see(error.what());
    if (step->on_failure == OnFailure::kThrow) throw;
  }
}

Task<void> join_mixed(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  Operation operation = code->start(step->sources[0]);
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  auto all = co_await join{std::move(operation.future).as_result(), std::move(timer),
                           block_value(ctx, code, &step->blocks[0], kept).as_result()};
  code->see(operation.note, std::get<0>(all));
  code->see_result(std::get<2>(all));
}

Task<void> join_tasks(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  if (step->on_failure == OnFailure::kAsResult) {
    const auto results = co_await ctx.join(tasks_of(ctx, code, *step, kept)).as_result();
    for (const auto& result : results) code->see_result(result);
  } else {
    const auto values = co_await ctx.join(tasks_of(ctx, code, *step, kept));
    for (const auto& value : values) code->see(value);
  }
}

Task<void> join_select(OrchestrationContext ctx, Code* code, const Step* step) {
  Operations two = code->start(step->sources);
  Future<void> timer = ctx.schedule_timer(delay_of(*step));
  auto both = co_await join{select{std::move(two.futures[0]).as_result(), std::move(timer)},
                            std::move(two.futures[1]).as_result()};
  if (auto* result = std::get_if<0>(&std::get<0>(both))) code->see(two.notes[0], *result);
  code->see(std::get<0>(both).index());
  code->see(two.notes[1], std::get<1>(both));
}

Task<void> join_kept(OrchestrationContext, Code* code, Operations* kept) {
  if (kept->size() < 2) co_return;
  auto both = co_await join{kept->futures[0].as_result(), kept->futures[1].as_result()};
  code->see(kept->notes[0], std::get<0>(both));
  code->see(kept->notes[1], std::get<1>(both));
}

}  // namespace

Task<void> run_select(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  switch (step->kind) {
    case StepKind::kSelectWithTimer:
      co_await select_with_timer(ctx, code, step);
      break;
    case StepKind::kSelectFour:
      co_await select_four(ctx, code, step, kept);
      break;
    case StepKind::kSelectMany:
      co_await select_many(ctx, code, step);
      break;
    case StepKind::kSelectTasks: {
      const auto first = co_await ctx.select(tasks_of(ctx, code, *step, kept));
      code->see(first.value());
      code->see(first.index());
      break;
    }
    case StepKind::kSelectKept:
      co_await select_kept(ctx, code, kept);
      break;
    case StepKind::kSelectKeptWithTimer:
      co_await select_kept_with_timer(ctx, code, step, kept);
      break;
    default:
      co_await select_join(ctx, code, step);
  }
}

Task<void> run_join(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  switch (step->kind) {
    case StepKind::kJoinMany:
      co_await join_many(ctx, code, step);
      break;
    case StepKind::kJoinMixed:
      co_await join_mixed(ctx, code, step, kept);
      break;
    case StepKind::kJoinTasks:
      co_await join_tasks(ctx, code, step, kept);
      break;
    case StepKind::kJoinSelect:
      co_await join_select(ctx, code, step);
      break;
    default:
      co_await join_kept(ctx, code, kept);
  }
}

}  // namespace perdure::test
