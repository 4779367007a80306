// The coroutines that run a random program: its blocks, and steps that await one thing.
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <perdure/perdure.h>
#include <perdure/saga.h>
#include "support/program_code.h"
#include "support/program_steps.h"
#include "support/random_program.h"

namespace perdure::test {

namespace {

Task<void> run_block(OrchestrationContext ctx, Code* code, const Block* block, Operations* outer);

// ---- one operation ------------------------------------------------------------------------------------------------

Task<void> await_kept(OrchestrationContext, Code* code, Operations* kept, std::size_t index, OnFailure on_failure) {
  Future<std::string>& future = kept->futures[index];
  Note& note = kept->notes[index];
  if (on_failure == OnFailure::kAsResult) {
    const Result<std::string> result = co_await future.as_result();
    code->see(note, result);
  } else if (on_failure == OnFailure::kThrow) {
    const std::string value = co_await future;
    code->see(note, value);
  } else {
    try {
      const std::string value = co_await future;
      code->see(note, value);
    } catch (const DurableError& error) {
      code->see(error.what());
    }
  }
}

Task<void> await_new(OrchestrationContext ctx, Code* code, const Step* step) {
  Operations operation = code->start(step->sources);
  const Source source = step->sources.front();
  const bool stands_at_queue = source.kind == SourceKind::kQueue && !operation.futures.front().done();
  if (stands_at_queue) ++code->seen().queue_awaits.at(source.name);
  struct Leaving {
    ~Leaving() {
      if (standing) --standing->queue_awaits.at(queue);
    }
    Observations* standing;
    std::size_t queue;
  };
  const Leaving leaving{stands_at_queue ? &code->seen() : nullptr, source.name};
  co_await await_kept(ctx, code, &operation, 0, step->on_failure);
}

Task<void> run_one(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept, Operations* outer) {
  switch (step->kind) {
    case StepKind::kAwait:
      co_await await_new(ctx, code, step);
      break;
    case StepKind::kAwaitTimer:
      co_await ctx.schedule_timer(delay_of(*step));
      break;
    case StepKind::kReadForeignKey: {
      const auto value = co_await ctx.get_kv_value_from_instance<std::string>("other", "key").as_result();
      code->see(value ? value->value_or("absent") : value.error().to_string());
      break;
    }
    case StepKind::kAwaitKept:
      if (!kept->empty()) co_await await_kept(ctx, code, kept, step->number % kept->size(), step->on_failure);
      break;
    case StepKind::kAwaitOuter:
      if (outer && !outer->empty()) {
        co_await await_kept(ctx, code, outer, step->number % outer->size(), step->on_failure);
      }
      break;
    default:
      break;
  }
}

bool handle_kept(Code& code, const Step& step, Operations& kept) {
  const std::size_t index = kept.empty() ? 0 : step.number % kept.size();
  switch (step.kind) {
    case StepKind::kKeep:
      for (const Source& source : step.sources) kept.add(code.start(source));
      return true;
    case StepKind::kLookAtKept:
      for (const auto& future : kept.futures) code.see(future.done() ? "done" : "open");
      return true;
    case StepKind::kDropKept:
      if (!kept.empty()) kept.drop(index);
      return true;
    case StepKind::kDetachKept:
      if (!kept.empty()) kept.detach(index);
      return true;
    case StepKind::kDropNew: {
      const Operation dropped = code.start(step.sources.front());
    }
      return true;
    case StepKind::kDetachNew: {
      Operation detached = code.start(step.sources.front());
      std::move(detached.future).detach();
      detached.note.detached();
      return true;
    }
    default:
      return false;
  }
}

// ---- structure ----------------------------------------------------------------------------------------------------

Task<void> undo_slowly(OrchestrationContext ctx, std::string what) {
  co_await ctx.schedule_timer(Milliseconds(10));
  co_await ctx.schedule_activity<void>("UndoSlowly", what);
}

Task<void> run_saga(OrchestrationContext ctx, Code* code) {
  Saga saga(ctx);
  saga.undo_with("Undo", code->text());
  saga.undo_with([what = code->text()](OrchestrationContext context) { return undo_slowly(context, what); });
  const auto failures = co_await saga.compensate();
  for (const Error& failure : failures) code->see(failure.to_string());
}

Task<void> run_task(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  Task<std::string> task = block_value(ctx, code, &step->blocks[0], kept);
  if (step->on_failure == OnFailure::kAsResult) {
    code->see_result(co_await std::move(task).as_result());
  } else if (step->on_failure == OnFailure::kThrow) {
    code->see(co_await std::move(task));
  } else {
    try {
      code->see(co_await std::move(task));
    } catch (const std::exception& error) {
      code->see(error.what());
    }
  }
}

Task<void> run_structure(OrchestrationContext ctx, Code* code, const Step* step, Operations* kept) {
  switch (step->kind) {
    case StepKind::kTask:
      co_await run_task(ctx, code, step, kept);
      break;
    case StepKind::kBranch:
      co_await run_block(ctx, code, &step->blocks[code->coin() ? 0 : 1], kept);
      break;
    case StepKind::kRepeat:
      for (std::size_t i = 0; i <= step->number % 3; ++i) co_await run_block(ctx, code, &step->blocks[0], kept);
      break;
    case StepKind::kSaga:
      co_await run_saga(ctx, code);
      break;
    default:
      if (ctx.execution_id() >= kLastExecution) break;
      code->ends();
      co_await ctx.continue_as_new(code->text());
  }
}

Task<void> run_block(OrchestrationContext ctx, Code* code, const Block* block, Operations* outer) {
  Operations kept;
  for (const Step& step : *block) {
    if (handle_kept(*code, step, kept) || code->call(step)) continue;
    if (step.kind < StepKind::kSelectWithTimer) {
      co_await run_one(ctx, code, &step, &kept, outer);
    } else if (step.kind < StepKind::kJoinMany) {
      co_await run_select(ctx, code, &step, &kept);
    } else if (step.kind < StepKind::kTask) {
      co_await run_join(ctx, code, &step, &kept);
    } else {
      co_await run_structure(ctx, code, &step, &kept);
    }
  }
}

Orchestration<std::string> run_program(OrchestrationContext ctx, Raw input, const Block* program, Observations* seen) {
  Code code(ctx, *seen);
  code.see(input.text());
  co_await run_block(ctx, &code, program, nullptr);
  co_return code.text();
}

}  // namespace

Milliseconds delay_of(const Step& step) {
  return Milliseconds(static_cast<std::int64_t>(step.number));
}

Task<std::string> block_value(OrchestrationContext ctx, Code* code, const Block* block, Operations* outer) {
  co_await run_block(ctx, code, block, outer);
  co_return "block at " + code->text();
}

std::shared_ptr<const OrchestrationHandler> program_handler(std::shared_ptr<const Block> program, Observations& seen) {
  return detail::make_handler([program = std::move(program), observed = &seen](OrchestrationContext ctx, Raw input) {
    return run_program(ctx, std::move(input), program.get(), observed);
  });
}

}  // namespace perdure::test
