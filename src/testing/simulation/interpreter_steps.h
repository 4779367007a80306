// What the files of the interpreter call from each other.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/codec.h>
#include <perdure/context.h>
#include <perdure/future.h>
#include <perdure/result.h>
#include <perdure/task.h>
#include "testing/simulation/interpreter_ledger.h"
#include "testing/simulation/program.h"

namespace perdure::testing::simulation {

// What the engine says of an asynchronous activity that nobody can end any more.
inline constexpr std::string_view kCompletionDropped = "the activity's completion was dropped without a result";
// For what must not strike: longer than whatever a fault may delay.
inline constexpr Milliseconds kAges = std::chrono::hours(24 * 365);

// One execution. It lies in the frame of the orchestration, so helpers point to it.
struct Run {
  Ledger* ledger = nullptr;
  const Program* program = nullptr;
  ProgramState state;
  std::vector<Future<Raw>> held;  // children without a waiter: the end of the execution drops them

  [[nodiscard]] std::string token(const Step& step) const { return simulation::token(*program, step); }
  void note(const Step& step, std::string value) { state.values[step.id] = std::move(value); }
};

// "failed: what the other side said", or the value.
[[nodiscard]] std::string text_of(const Result<std::string>& result);
// For activities that talk to the store, which may refuse any of their calls.
[[nodiscard]] ActivityOptions persistent();

// With the served tag, if no node serves activities without one.
[[nodiscard]] Future<std::string> schedule(OrchestrationContext ctx, const Ledger& ledger, std::string_view activity,
                                           const std::string& input, ActivityOptions options = ActivityOptions());

[[nodiscard]] Task<void> run_block(OrchestrationContext ctx, Run* run, const Block* block);
// Each of them one family of operations.
[[nodiscard]] Task<void> run_activity_step(OrchestrationContext ctx, Run* run, const Step* step);
[[nodiscard]] Task<void> run_waiting_step(OrchestrationContext ctx, Run* run, const Step* step);
[[nodiscard]] Task<void> run_instance_step(OrchestrationContext ctx, Run* run, const Step* step);
[[nodiscard]] Task<void> run_combined_step(OrchestrationContext ctx, Run* run, const Step* step);
[[nodiscard]] Task<void> run_recording_step(OrchestrationContext ctx, Run* run, const Step* step);
void run_plain_step(OrchestrationContext ctx, Run& run, const Step& step);

}  // namespace perdure::testing::simulation
