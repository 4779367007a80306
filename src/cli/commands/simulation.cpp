// simulate, and mutation in builds with planted faults
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/number_argument.h"
#include "cli/simulate.h"
#ifdef PERDURE_PLANTED_FAULTS
#include "cli/mutation.h"
#endif

namespace perdure::cli {

namespace {

CLI::App& add_simulate(CLI::App& program, Context& context) {
  const auto simulate = std::make_shared<SimulateArguments>();
  CLI::App& command = add_command(
      program, context, "simulate",
      "Run simulated clusters, one for each seed, with crashes, lost answers, pauses and damage", [&context, simulate] {
        simulate->json = context.json;
        return run(*simulate, context.out, context.err);
      });
  command.add_option("--seeds", simulate->seeds, "A..B, or one number")->required();
  command.add_option("--nodes", simulate->nodes, "Nodes of a cluster, at most 16; else the seed decides")
      ->check(CLI::Range(1, 16));
  command.add_option("--faults", simulate->faults, "Kinds that may strike, as a list with commas; all; none");
  command.add_option("--max-faults", simulate->max_faults, "How many strike; else the seed decides")
      ->check(at_least(0));
  command.add_option("--store", simulate->store, "memory or sqlite; else one seed in ten has sqlite")
      ->check(CLI::IsMember({"memory", "sqlite"}));
  command.add_option("--fast-path", simulate->fast_path, "on or off; else the seed decides")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_option("--roots", simulate->roots, "Only these instances of the workload, as a list with commas")
      ->delimiter(',');
  command
      .add_option("--lifecycles", simulate->lifecycles,
                  "on or off: whether clients also delete, replace and start again what they like")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command.add_option("--lives", simulate->lives, "Only these lifecycles, as a list with commas")->delimiter(',');
  command.add_option("--jobs", simulate->jobs, "Seeds that run at the same time; else one for each core")
      ->check(CLI::Range(1, 256));
  command.add_flag("--log", simulate->log, "Print what happened in every run");
  command.add_flag("--no-shrink", simulate->no_shrink, "Show a failing seed as it is");
  return command;
}

#ifdef PERDURE_PLANTED_FAULTS
void add_mutation(CLI::App& program, Context& context) {
  const auto mutation = std::make_shared<MutationArguments>();
  CLI::App& command =
      add_command(program, context, "mutation",
                  "Plant faults in the engine, one by one, and look for a seed that finds each", [&context, mutation] {
                    mutation->json = context.json;
                    return run(*mutation, context.out, context.err);
                  });
  command.add_option("--seeds", mutation->seeds, "A..B, or one number")->capture_default_str();
  command.add_option("--only", mutation->only, "The name of one fault; else all are planted");
  command.add_option("--jobs", mutation->jobs, "Seeds that run at the same time; else one for each core")
      ->check(CLI::Range(1, 256));
  command.add_option("--fast-path", mutation->fast_path, "on or off; else the seed decides")
      ->check(CLI::IsMember({"on", "off"}));
}
#endif

}  // namespace

void add_simulation_commands(CLI::App& program, Context& context) {
  [[maybe_unused]] CLI::App& simulate = add_simulate(program, context);
#ifdef PERDURE_PLANTED_FAULTS
  simulate.add_option_function<std::string>("--plant", plant_fault, "A fault to plant in the engine");
  add_mutation(program, context);
#endif
}

}  // namespace perdure::cli
