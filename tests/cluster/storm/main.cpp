// `make storm`. Prints what it did, and returns 0 if nothing was lost and nothing repeated without an excuse, 1 if not
// or if it was interrupted, 2 if it cannot start, and 77 where it is not permitted or pgbouncer is missing.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/interrupt.h"
#include "cluster/store_address.h"
#include "small_volume.h"
#include "storm.h"
#include "testing/cluster/worker.h"

namespace perdure::test::storm {

namespace {

constexpr int kNotClean = 1;
constexpr int kCannotStart = 2;
constexpr int kNotPossible = 77;
constexpr std::size_t kShownProblems = 20;

Options parse(int count, char** values) {
  Options options;
  bench::read_arguments(count, values,
                        {{"seconds", &options.seconds},
                         {"seed", &options.seed},
                         {"nodes", &options.nodes},
                         {"in_flight", &options.in_flight},
                         {"rate", &options.rate},
                         {"volume", &options.volume},
                         {"round", &options.round},
                         {"calm", &options.calm},
                         {"silence_least", &options.silence_least},
                         {"silence_most", &options.silence_most},
                         {"bound", &options.bound},
                         {"planted", &options.planted}});
  if (options.silence_least > options.silence_most) throw std::invalid_argument("silence_least is above silence_most");
  if (options.nodes == 0) throw std::invalid_argument("nodes=0: there must be one");
  if (options.seed == 0) options.seed = std::random_device()();
  return options;
}

void print(const Options& options, const Report& report) {
  const Counts& counts = report.counts;
  for (std::size_t i = 0; i < std::min(report.problems.size(), kShownProblems); ++i) {
    std::printf("problem: %s\n", report.problems[i].c_str());
  }
  std::printf("clock steps:      %zu forward, %zu back\n", counts.steps_forward, counts.steps_back);
  std::printf("silences:         %zu, %.0f s together\n", counts.silences, counts.silent_seconds);
  std::printf("full volume:      %zu times, %zu errors of the server\n", counts.full_volumes, report.refused_for_space);
  std::printf("pooler restarts:  %zu\n", counts.pooler_restarts);
  std::printf("cut connections:  %zu times all, %zu rough times, %zu connections, %zu responses lost\n",
              counts.cut_alls, counts.rough_times, counts.cuts, counts.lost_answers);
  std::printf(
      "nodes:            %zu killed, %zu stopped and continued, %zu restarted, %zu failed starts, %zu processes\n",
      counts.kills, counts.standstills, counts.restarts, counts.failed_starts, counts.nodes);
  std::printf("at once:          %zu faults at most\n", counts.most_at_once);
  std::printf("workflows:        %zu of %zu done, the last %.1f s after the last fault; %zu MB of tables\n",
              report.workflows_done, report.workflows, report.recovery_seconds, report.mebibytes);
  std::printf("client:           %zu calls failed and were repeated\n", report.failed_calls);
  std::printf("ledger:           %zu entries, %zu repetitions\n", report.ledger_entries, report.repetitions);
  std::printf("seed %zu, %.0f s\n", options.seed, report.seconds);
  if (report.interrupted) {
    std::printf("interrupted: nothing was checked\n");
  } else if (report.problems.empty()) {
    std::printf("clean: nothing lost, nothing repeated without an excuse, no lock granted twice\n");
  } else {
    std::printf("NOT CLEAN: %zu problems\n", report.problems.size());
  }
}

int run_program(int count, char** values) {
  if (!std::filesystem::exists("/usr/sbin/pgbouncer")) {
    std::fprintf(stderr, "storm: there is no pgbouncer: make setup installs it\n");
    return kNotPossible;
  }
  const cli::Interrupt interrupt;
  const Options options = parse(count, values);
  std::fprintf(stderr, "seed %zu\n", options.seed);
  const Report report =
      run(options, {std::filesystem::read_symlink("/proc/self/exe").string(), "worker"}, interrupt.requested());
  print(options, report);
  return report.clean() ? 0 : kNotClean;
}

int run_worker(const std::vector<std::string>& arguments) {
  const auto options = testing::cluster::WorkerOptions::parse(arguments);
  testing::cluster::run_worker(options, [&](const Logger& logger) { return open_store(options.store, logger); });
  return 0;
}

}  // namespace

int run_any(int count, char** values) {
  const bool is_worker = count > 1 && std::string(values[1]) == "worker";
  try {
    return is_worker ? run_worker({values + 2, values + count}) : run_program(count, values);
  } catch (const NotPermitted& error) {
    std::fprintf(stderr, "storm: %s\n", error.what());
    return kNotPossible;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "storm: %s\n", error.what());
    return is_worker ? kNotClean : kCannotStart;
  }
}

}  // namespace perdure::test::storm

int main(int count, char** values) {
  return perdure::test::storm::run_any(count, values);
}
