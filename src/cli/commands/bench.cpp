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
  const bench::Figures figures = bench::run(bench::completed(options), context.err, interrupt);
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
  CLI::App& command =
      add_command(program, context, "bench", "Measure the engine on a store of its own, beside the bare database",
                  [&context, options, sync, fast_path] {
                    options->synced = *sync == "full";
                    options->fast_path = *fast_path == "on";
                    return run_bench(*options, context);
                  });
  command.add_option("WORKLOAD", options->workload, workload_help())->required();
  // Not PERDURE_STORE: nobody wants a load on the store that they work with because they forgot to name another.
  command.add_option("--store", options->store,
                     "sqlite:PATH of a file that is not there yet, or postgres://..., where a schema is made; without "
                     "it a file under the temporary folder. It is removed in the end");
  command.add_option("--sync", *sync, "full: commits wait for the disk; normal: they outlive the process only")
      ->check(CLI::IsMember({"full", "normal"}))
      ->capture_default_str();
  command.add_option("--fast-path", *fast_path, "Whether a step costs one write instead of four")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command.add_option("--in-flight", options->in_flight, "Workflows, or signals, at the same time; else 1, stress 20")
      ->check(at_least(1));
  command.add_option("--seconds", options->seconds, "How long to measure")->capture_default_str();
  // Here only what is no number at all: the workload knows the ranges.
  command.add_option("--steps", options->steps, "seq, timers: of a workflow, one after the other")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_option("--width", options->width, "fan, children, stress: at once; else 10, 5, 5")->check(at_least(0));
  command.add_option("--bytes", options->bytes, "payload: of input and result")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_option("--instances", options->instances, "idle: that wait")->check(at_least(0))->capture_default_str();
  command.add_option("--delay-ms", options->delay_ms, "stress: of an activity; timers: of a timer; else 10")
      ->check(at_least(0));
  command
      .add_option("--workers", options->workers,
                  "Activities that run at the same time; else all that are in flight, at most 64, and for stress 2")
      ->check(at_least(1));
  command.add_option("--turns", options->turns, "Turns that run at the same time")
      ->check(at_least(0))
      ->capture_default_str();
}

}  // namespace perdure::cli
