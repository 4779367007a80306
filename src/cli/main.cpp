// The program `perdure`.
#include <cstdio>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "cli/simulate.h"
#ifdef PERDURE_PLANTED_FAULTS
#include "cli/mutation.h"
#endif

namespace perdure::cli {
namespace {

CLI::App* add_simulate(CLI::App& app, SimulateArguments& simulate, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Run simulated clusters, one for each seed, with crashes, lost answers, pauses and damage");
  command->add_option("--seeds", simulate.seeds, "A..B, or one number")->required();
  command->add_option("--nodes", simulate.nodes, "Nodes of a cluster, at most 16; else the seed decides")
      ->check(CLI::Range(1, 16));
  command->add_option("--faults", simulate.faults, "Kinds that may strike, as a list with commas; all; none");
  command->add_option("--max-faults", simulate.max_faults, "How many strike; else the seed decides");
  command->add_option("--store", simulate.store, "memory or sqlite; else one seed in ten has sqlite")
      ->check(CLI::IsMember({"memory", "sqlite"}));
  command->add_option("--fast-path", simulate.fast_path, "on or off; else the seed decides")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--roots", simulate.roots, "Only these instances of the workload, as a list with commas")
      ->delimiter(',');
  command->add_option("--jobs", simulate.jobs, "Seeds that run at the same time; else one for each core")
      ->check(CLI::Range(1, 256));
  command->add_flag("--log", simulate.log, "Print what happened in every run");
  command->add_flag("--no-shrink", simulate.no_shrink, "Show a failing seed as it is");
  command->add_flag("--json", simulate.json, "Print the result as JSON");
  command->callback([&] { exit_code = run(simulate, std::cout, std::cerr); });
  return command;
}

#ifdef PERDURE_PLANTED_FAULTS
void add_mutation(CLI::App& app, CLI::App& simulate, MutationArguments& mutation, int& exit_code) {
  simulate.add_option_function<std::string>("--plant", plant_fault, "A fault to plant in the engine");
  CLI::App* planting =
      app.add_subcommand("mutation", "Plant faults in the engine, one by one, and look for a seed that finds each");
  planting->add_option("--seeds", mutation.seeds, "A..B, or one number")->capture_default_str();
  planting->add_option("--only", mutation.only, "The name of one fault; else all are planted");
  planting->add_option("--jobs", mutation.jobs, "Seeds that run at the same time; else one for each core")
      ->check(CLI::Range(1, 256));
  planting->add_option("--fast-path", mutation.fast_path, "on or off; else the seed decides")
      ->check(CLI::IsMember({"on", "off"}));
  planting->add_flag("--json", mutation.json, "Print the result as JSON");
  planting->callback([&] { exit_code = run(mutation, std::cout, std::cerr); });
}
#endif

int run_program(int argc, char** argv) {
  CLI::App app("Perdure: durable execution for C++");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  int exit_code = 0;
  SimulateArguments simulate;
  [[maybe_unused]] CLI::App* const command = add_simulate(app, simulate, exit_code);
#ifdef PERDURE_PLANTED_FAULTS
  MutationArguments mutation;
  add_mutation(app, *command, mutation, exit_code);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return exit_code;
}

}  // namespace
}  // namespace perdure::cli

int main(int argc, char** argv) {
  try {
    return perdure::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perdure: %s\n", error.what());
    return 2;
  }
}
