#include "testing/simulation/interpreter.h"

#include <chrono>
#include <string>
#include <utility>

#include <perdure/codec.h>
#include <perdure/context.h>
#include <perdure/error.h>
#include <perdure/orchestration.h>
#include <perdure/saga.h>
#include "testing/simulation/interpreter_steps.h"

namespace perdure::testing::simulation {

namespace {

Task<void> note_guid(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string guid = ctx.new_guid();
  const std::string echoed = co_await schedule(ctx, *run->ledger, activity::kEcho, guid);
  co_await ctx.schedule_timer(Milliseconds(1));
  run->note(*step, echoed == "done " + guid ? "same" : "the guid was " + guid + " and became " + echoed);
}

Task<void> note_time(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string time = std::to_string(ctx.utc_now().time_since_epoch().count());
  const std::string bits = std::to_string(ctx.random());
  const std::string echoed = co_await schedule(ctx, *run->ledger, activity::kEcho, time + "/" + bits);
  co_await ctx.schedule_timer(Milliseconds(1));
  const std::string recorded = time + "/" + bits;
  run->note(*step, echoed == "done " + recorded ? "same" : "recorded was " + recorded + ", which became " + echoed);
}

Task<void> undo(OrchestrationContext ctx, Ledger* ledger, std::string what) {
  const Ledger::Frame frame(*ledger);
  co_await ctx.schedule_timer(Milliseconds(1));
  co_await schedule(ctx, *ledger, activity::kEcho, what);
}

Task<void> run_saga(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  const std::string token = run->token(*step);
  Saga saga(ctx);
  ActivityOptions options;
  if (run->ledger->tags_all()) options.tag(std::string(kServedTag));
  saga.undo_with(activity::kEcho, token + ".undo1", options);
  saga.undo_with(
      [ledger = run->ledger, token](OrchestrationContext context) { return undo(context, ledger, token + ".undo2"); });
  if (step->number % 2 == 1) saga.undo_with(activity::kFails, token, options);
  const auto tried = co_await schedule(ctx, *run->ledger, activity::kFails, token).as_result();
  const auto not_undone = co_await saga.compensate();
  std::string text = text_of(tried);
  for (const Error& error : not_undone) text += ", not undone: " + error.message();
  run->note(*step, text);
}

// Never does what it did before. It waits for ever if nobody has detached it.
Orchestration<Raw> diverge(OrchestrationContext ctx, Raw input, Ledger* ledger) {
  const Ledger::Frame frame(*ledger);
  const Assignment assignment = decode_assignment(input.text());
  const std::string& path = assignment.program.path;
  const std::string run = path + " #" + std::to_string(ledger->count("runs of " + path));
  if (assignment.program.sections.front().empty()) co_await ctx.schedule_wait<Raw>(run);
  co_await schedule(ctx, *ledger, activity::kEcho, run);
  co_return Raw(nlohmann::json{{"path", path}}.dump());
}

enum class Family : std::uint8_t { kActivities, kWaiting, kInstances, kCombined, kPlain, kRecording };

Family family_of(Op op) {
  if (op == Op::kUnknownActivity || op == Op::kUnknownTimedActivity || op == Op::kRetiredActivity ||
      op == Op::kDroppedUnknownActivity)
    return Family::kActivities;
  if (op > Op::kSaga) return Family::kInstances;
  if (op < Op::kTimer) return Family::kActivities;
  if (op < Op::kChild) return Family::kWaiting;
  if (op < Op::kSelectFixed) return Family::kInstances;
  if (op < Op::kSetKey) return Family::kCombined;
  return op == Op::kGuid || op == Op::kTime || op == Op::kSaga ? Family::kRecording : Family::kPlain;
}

// The names of both versions in turn: the second one has another beginning, so neither can replay the other.
Orchestration<Raw> interpret(OrchestrationContext ctx, Raw input, Ledger* ledger, bool greets) {
  const Ledger::Frame frame(*ledger);
  const Assignment assignment = decode_assignment(input.text());
  const Program& program = assignment.program;
  Run run{ledger, &program, assignment.state, {}};
  run.state.versions.push_back(ctx.orchestration_version().to_string());
  if (greets) co_await schedule(ctx, *ledger, activity::kGreet, program.path);
  co_await run_block(ctx, &run, &program.sections.at(run.state.section));
  if (++run.state.section < program.sections.size()) {
    StartOptions options;
    if (program.version) options.version(*program.version);
    const Assignment next{program, run.state};
    const Raw rest(encode_assignment(next));
    co_return ctx.continue_as_new(rest, options);
  }
  if (program.ending == Ending::kFails) throw OrchestrationError(failure_of(program));
  if (program.ending == Ending::kWaits) co_await ctx.schedule_wait<Raw>(kNeverRaised);
  nlohmann::json output = nlohmann::json::object();
  output["path"] = program.path;
  output["versions"] = run.state.versions;
  output["values"] = run.state.values;
  co_return Raw(output.dump());
}

}  // namespace

std::string text_of(const Result<std::string>& result) {
  return result ? *result : "failed: " + result.error().message();
}

ActivityOptions persistent() {
  RetryPolicy policy(1'000);
  policy.backoff(Backoff::fixed(std::chrono::seconds(1)));
  return ActivityOptions().retry(policy);
}

Future<std::string> schedule(OrchestrationContext ctx, const Ledger& ledger, std::string_view activity,
                             const std::string& input, ActivityOptions options) {
  if (ledger.tags_all() && !options.tag()) options.tag(std::string(kServedTag));
  return ctx.schedule_activity<std::string>(activity, input, options);
}

std::string waiting_key(const std::string& token) {
  return "waiting for " + token;
}

Task<void> run_block(OrchestrationContext ctx, Run* run, const Block* block) {
  const Ledger::Frame frame(*run->ledger);
  for (const Step& step : *block) {
    switch (family_of(step.op)) {
      case Family::kActivities:
        co_await run_activity_step(ctx, run, &step);
        break;
      case Family::kWaiting:
        co_await run_waiting_step(ctx, run, &step);
        break;
      case Family::kInstances:
        co_await run_instance_step(ctx, run, &step);
        break;
      case Family::kCombined:
        co_await run_combined_step(ctx, run, &step);
        break;
      case Family::kRecording:
        co_await run_recording_step(ctx, run, &step);
        break;
      case Family::kPlain:
        run_plain_step(ctx, *run, step);
    }
  }
}

Task<void> run_recording_step(OrchestrationContext ctx, Run* run, const Step* step) {
  const Ledger::Frame frame(*run->ledger);
  if (step->op == Op::kGuid) {
    co_await note_guid(ctx, run, step);
  } else if (step->op == Op::kTime) {
    co_await note_time(ctx, run, step);
  } else {
    co_await run_saga(ctx, run, step);
  }
}

void run_plain_step(OrchestrationContext ctx, Run& run, const Step& step) {
  switch (step.op) {
    case Op::kSetKey:
      ctx.set_kv_value(step.key, run.token(step));
      return;
    case Op::kClearKey:
      ctx.clear_kv_value(step.key);
      return;
    case Op::kClearKeys:
      ctx.clear_all_kv_values();
      return;
    case Op::kReadKey:
      run.note(step, ctx.get_kv_value<std::string>(step.key).value_or("absent") + " of " +
                         std::to_string(ctx.get_kv_length()));
      return;
    case Op::kStatus:
      ctx.set_custom_status(run.token(step));
      return;
    case Op::kResetStatus:
      run.note(step, ctx.get_custom_status().value_or("absent"));
      ctx.reset_custom_status();
      return;
    default:
      ctx.trace_info("at " + run.token(step));
  }
}

Registry interpreter_registry(const std::shared_ptr<Ledger>& ledger, int generation) {
  Registry registry;
  registry.add_orchestration(kInterpret, kFirstVersion, [ledger](OrchestrationContext ctx, Raw input) {
    return interpret(ctx, std::move(input), ledger.get(), false);
  });
  if (generation > 0) {
    registry.add_orchestration(kInterpret, kSecondVersion, [ledger](OrchestrationContext ctx, Raw input) {
      return interpret(ctx, std::move(input), ledger.get(), true);
    });
  }
  registry.add_orchestration(kDiverge, kFirstVersion, [ledger](OrchestrationContext ctx, Raw input) {
    return diverge(ctx, std::move(input), ledger.get());
  });
  add_interpreter_activities(registry, ledger, generation);
  return registry;
}

}  // namespace perdure::testing::simulation
