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
      "Run a simulated cluster per seed, with crashes, lost responses, pauses and corruption", [&context, simulate] {
        simulate->json = context.json;
        return run(*simulate, context.out, context.progress());
      });
  command.add_option("--seeds", simulate->seeds, "Seeds as A..B, or one seed")->required();
  command.add_option("--nodes", simulate->nodes, "Number of nodes, at most 16 (default: chosen by the seed)")
      ->check(CLI::Range(1, 16));
  command.add_option("--faults", simulate->faults, "Fault kinds to inject, comma-separated, or all or none");
  command
      .add_option("--max-faults", simulate->max_faults,
                  "Maximum number of injected faults (default: chosen by the seed)")
      ->check(at_least(0));
  command.add_option("--store", simulate->store, "Store: memory or sqlite (default: sqlite for one seed in ten)")
      ->check(CLI::IsMember({"memory", "sqlite"}));
  command.add_option("--fast-path", simulate->fast_path, "Use the fast path: on or off (default: chosen by the seed)")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_option("--roots", simulate->roots, "Run only these instances of the workload, comma-separated")
      ->delimiter(',');
  command
      .add_option("--lifecycles", simulate->lifecycles,
                  "Let clients also delete, replace and restart instances: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command.add_option("--lives", simulate->lives, "Run only these lifecycles, comma-separated")->delimiter(',');
  command.add_option("--jobs", simulate->jobs, "Number of seeds to run concurrently (default: one per core)")
      ->check(CLI::Range(1, 256));
  command.add_flag("--log", simulate->log, "Print the log of every run");
  command.add_flag("--no-shrink", simulate->no_shrink, "Report a failing seed without shrinking it");
  return command;
}

#ifdef PERDURE_PLANTED_FAULTS
void add_mutation(CLI::App& program, Context& context) {
  const auto mutation = std::make_shared<MutationArguments>();
  CLI::App& command =
      add_command(program, context, "mutation",
                  "Plant faults in the engine one by one and search for a seed that finds each", [&context, mutation] {
                    mutation->json = context.json;
                    return run(*mutation, context.out, context.progress());
                  });
  command.add_option("--seeds", mutation->seeds, "Seeds as A..B, or one seed")->capture_default_str();
  command.add_option("--only", mutation->only, "Plant only the fault with this name (default: all)");
  command.add_option("--jobs", mutation->jobs, "Number of seeds to run concurrently (default: one per core)")
      ->check(CLI::Range(1, 256));
  command.add_option("--fast-path", mutation->fast_path, "Use the fast path: on or off (default: chosen by the seed)")
      ->check(CLI::IsMember({"on", "off"}));
}
#endif

}  // namespace

void add_simulation_commands(CLI::App& program, Context& context) {
  [[maybe_unused]] CLI::App& simulate = add_simulate(program, context);
#ifdef PERDURE_PLANTED_FAULTS
  simulate.add_option_function<std::string>("--plant", plant_fault, "Plant this fault in the engine");
  add_mutation(program, context);
#endif
}

}  // namespace perdure::cli
