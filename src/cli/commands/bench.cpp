// bench
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/bench/run.h"
#include "cli/bench/workloads.h"
#include "cli/commands.h"
#include "cli/number_argument.h"

namespace perdure::cli {

namespace {

std::string workload_help() {
  std::string text;
  for (const bench::Workload& workload : bench::workloads()) {
    text += (text.empty() ? "" : "; ") + std::string(workload.name) + ": " + std::string(workload.about);
  }
  return text;
}

int run_bench(const bench::Options& options, Context& context) {
  const Interrupt interrupt;
  const bench::Figures figures = bench::run(bench::completed(options), context, interrupt);
  if (context.json) {
    bench::print_json(figures, context.out);
  } else {
    bench::print_text(figures, context.out);
  }
  return kSuccess;
}

}  // namespace

void add_bench_command(CLI::App& program, Context& context) {
  const auto options = std::make_shared<bench::Options>();
  const auto sync = std::make_shared<std::string>("full");
  const auto fast_path = std::make_shared<std::string>("on");
  CLI::App& command = add_command(program, context, "bench",
                                  "Benchmark the engine on a temporary store and compare with the raw database",
                                  [&context, options, sync, fast_path] {
                                    options->synced = *sync == "full";
                                    options->fast_path = *fast_path == "on";
                                    return run_bench(*options, context);
                                  });
  command.add_option("WORKLOAD", options->workload, workload_help())->required();
  // Not PERDURE_STORE: nobody wants a load on the store that they work with because they forgot to name another.
  command.add_option("--store", options->store,
                     "sqlite:PATH (must not exist) or postgres://... (a schema is created); removed afterwards "
                     "(default: a file in the temporary directory)");
  command
      .add_option("--sync", *sync,
                  "Durability of commits: full waits for the disk, normal survives only a process crash")
      ->check(CLI::IsMember({"full", "normal"}))
      ->capture_default_str();
  command.add_option("--fast-path", *fast_path, "Use the fast path, which needs one write per step instead of four")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command
      .add_option("--in-flight", options->in_flight,
                  "Number of concurrent workflows or signals (default: 1; stress: 20)")
      ->check(at_least(1));
  command.add_option("--seconds", options->seconds, "Duration of the measurement in seconds")->capture_default_str();
  // Here only what is no number at all: the workload knows the ranges.
  command.add_option("--steps", options->steps, "seq, timers: number of sequential steps per workflow")
      ->check(at_least(0))
      ->capture_default_str();
  command
      .add_option("--width", options->width,
                  "fan, children, stress: number of concurrent operations per workflow (default: 10; 5; 5)")
      ->check(at_least(0));
  command.add_option("--bytes", options->bytes, "payload: size of input and result in bytes")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_option("--instances", options->instances, "idle: number of waiting instances")
      ->check(at_least(0))
      ->capture_default_str();
  command
      .add_option("--delay-ms", options->delay_ms,
                  "stress, timers: duration of an activity or timer in milliseconds (default: 10)")
      ->check(at_least(0));
  command
      .add_option("--workers", options->workers, "Activity concurrency (default: --in-flight, at most 64; stress: 2)")
      ->check(at_least(1));
  command.add_option("--turns", options->turns, "Turn concurrency")->check(at_least(0))->capture_default_str();
}

}  // namespace perdure::cli
