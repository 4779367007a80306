// The steps of a program that have to do with other instances.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <perdure/codec.h>
#include <perdure/combinators.h>
#include <perdure/context.h>
#include "testing/simulation/interpreter.h"
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

Raw beginning_of(const Program& program) {
  return Raw(encode_assignment({program, {}}));
}

Future<Raw> start_child(OrchestrationContext ctx, const Step& step) {
  const Program& program = step.programs.front();
  SubOrchestrationOptions options;
  const bool named = step.op == Op::kNamedChild || step.op == Op::kForeignKey || !program.id.empty();
  if (named) options.instance_id(instance_id_of(program));
  if (program.version) options.version(*program.version);
  const Raw input = beginning_of(program);
  const bool is_unknown = step.op == Op::kUnknownChild || step.op == Op::kDroppedUnknownChild;
  const std::string_view name = is_unknown ? kUnknown : step.op == Op::kDivergingChild ? kDiverge : kInterpret;
  return ctx.schedule_sub_orchestration<Raw>(name, input, options);
}

Task<void> await_child(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const Result<Raw> result = co_await start_child(ctx, *step).as_result();
  if (result) {
    run->state.values[step->id] = nlohmann::json::parse(result->text());
  } else {
    run->note(*step, "failed: " + result.error().message());
  }
}

Task<void> read_key_of_child(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const Result<Raw> ended = co_await start_child(ctx, *step).as_result();
  const std::string child = instance_id_of(step->programs.front());
  const auto value = co_await ctx.get_kv_value_from_instance<std::string>(child, step->key);
  const std::string outcome = ended ? "completed" : "failed";
  run->note(*step, outcome + " with " + value.value_or("nothing"));
}

Task<void> drop_child(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  std::optional<Future<Raw>> child(start_child(ctx, *step));
  if (step->number % 3 == 1) {
    co_await schedule(ctx, *run->ledger, activity::kEcho, token);
  } else if (step->number % 3 == 2) {
    // It waits for ever, so it loses.
    const auto first = co_await select{std::move(*child), schedule(ctx, *run->ledger, activity::kEcho, token)};
    const auto* won = std::get_if<1>(&first);
    run->note(*step, won ? *won : "the child has won");
    co_return;
  }
  child.reset();
  run->note(*step, "dropped");
}

void start_detached(OrchestrationContext ctx, const Step& step) {
  const Program& program = step.programs.front();
  StartOptions options;
  if (program.version) options.version(*program.version);
  const Raw input = beginning_of(program);
  ctx.schedule_orchestration(kInterpret, instance_id_of(program), input, options);
}

// Its id may be taken. The refusal may arrive before the child is dropped, afterwards, or in the next execution.
Task<void> share_child(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  switch (sharing_of(*step)) {
    case Sharing::kAwaited:
      co_await await_child(ctx, run, step);
      break;
    case Sharing::kDropped: {
      const Future<Raw> child = start_child(ctx, *step);
      co_await schedule(ctx, *run->ledger, activity::kEcho, token);
      run->note(*step, "dropped");
      break;
    }
    case Sharing::kDetached:
      start_child(ctx, *step).detach();
      run->note(*step, "detached");
      break;
    case Sharing::kHeld:
      run->held.push_back(start_child(ctx, *step));
      co_await schedule(ctx, *run->ledger, activity::kEcho, token);
      run->note(*step, "held");
      break;
    case Sharing::kStartedAlone:
      start_detached(ctx, *step);
      run->note(*step, "started");
  }
}

// Its outcome is an error that no code may see, and comes when nobody waits for it any more.
Task<void> give_up_child(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const bool detaches = step->op == Op::kDivergingChild && is_detached(*step);
  if (detaches) {
    start_child(ctx, *step).detach();
  } else {
    const Future<Raw> child = start_child(ctx, *step);
    co_await schedule(ctx, *run->ledger, activity::kEcho, run->token(*step));
  }
  if (step->number > 0) co_await ctx.schedule_timer(Milliseconds(step->number));
  run->note(*step, detaches ? "detached" : "dropped");
}

}  // namespace

Task<void> run_instance_step(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  switch (step->op) {
    case Op::kDroppedChild:
      co_await drop_child(ctx, run, step);
      break;
    case Op::kSharedChild:
      co_await share_child(ctx, run, step);
      break;
    case Op::kUnknownChild:
      start_child(ctx, *step).detach();
      if (step->number > 0) co_await ctx.schedule_timer(Milliseconds(step->number));
      run->note(*step, "detached");
      break;
    case Op::kDroppedUnknownChild:
    case Op::kDivergingChild:
      co_await give_up_child(ctx, run, step);
      break;
    case Op::kDetachedChild:
      start_child(ctx, *step).detach();
      run->note(*step, "detached");
      break;
    case Op::kDetachedStart:
      start_detached(ctx, *step);
      run->note(*step, "started");
      break;
    case Op::kForeignKey:
      co_await read_key_of_child(ctx, run, step);
      break;
    default:
      co_await await_child(ctx, run, step);
  }
}

}  // namespace perdure::testing::simulation
