// torture, and the worker that it starts
#include "cli/torture.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/number_argument.h"

namespace perdure::cli {

namespace {

struct TortureWorkerArguments {
  std::string sync = "full";
  std::vector<std::string> settings;
};

// Not in the help: it makes no sense without the ledger of a run.
void add_torture_worker(CLI::App& program, Context& context) {
  const auto worker = std::make_shared<TortureWorkerArguments>();
  CLI::App& command =
      add_store_command(program, context, "torture-worker", "Run a worker of 'perdure torture'", [&context, worker] {
        run_torture_worker(context, worker->sync, worker->settings);
        return kSuccess;
      });
  command.group("");
  command.add_option("--sync", worker->sync)->check(CLI::IsMember({"full", "normal"}));
  command.add_option("settings", worker->settings, "name=value");
}

}  // namespace

void add_torture_commands(CLI::App& program, Context& context) {
  const auto torture = std::make_shared<TortureArguments>();
  const auto schema = std::make_shared<CLI::Option*>(nullptr);
  CLI::App& command = add_store_command(program, context, "torture",
                                        "Kill worker processes at random moments and check that nothing is lost",
                                        [&context, torture, schema] {
                                          torture->schema_given = (*schema)->count() > 0;
                                          return run_torture(context, *torture);
                                        });
  *schema = command.get_option("--schema");
  (*schema)->description("PostgreSQL: schema to create (default: a new one)")->default_str("");
  command.add_option("--kills", torture->kills, "Number of workers to kill")
      ->required()
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--workers", torture->workers, "Number of worker processes")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command.add_option("--in-flight", torture->in_flight, "Number of workflows in progress")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command.add_option("--seed", torture->seed, "Random seed for the choice and timing of kills (default: random)")
      ->check(at_least(0));
  command.add_option("--seconds-limit", torture->seconds_limit, "Stop after N seconds (default: no limit)")
      ->check(at_least(1));
  command.add_option("--stall-seconds", torture->stall_seconds, "Stop when no workflow has ended for N seconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  command.add_option("--sync", torture->sync, "SQLite: durability of commits, full waits for the disk")
      ->capture_default_str()
      ->check(CLI::IsMember({"full", "normal"}));
  command.add_flag("--keep", torture->keep, "Do not remove the store, the ledger and the logs");
  command.add_option("--plant", torture->planted)->group("");  // for tests
  add_torture_worker(program, context);
}

}  // namespace perdure::cli
