#include "cli/simulate.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <set>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/seed_range.h"
#include "testing/simulation/trial.h"

namespace perdure::cli {

namespace {

namespace simulation = testing::simulation;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kLastLines = 60;   // of the log of a failing run
constexpr std::size_t kShrunkSeeds = 3;  // the others are only named

simulation::Trial trial_of(const SimulateArguments& arguments) {
  simulation::Trial trial;
  trial.options.nodes = arguments.nodes;
  trial.options.faults = simulation::parse_faults(arguments.faults);
  trial.options.max_faults = arguments.max_faults;
  if (!arguments.store.empty()) {
    trial.options.store = arguments.store == "sqlite" ? simulation::StoreKind::kSqlite : simulation::StoreKind::kMemory;
  }
  if (!arguments.fast_path.empty()) trial.options.fast_path = arguments.fast_path == "on";
  if (!arguments.roots.empty()) trial.roots = std::set(arguments.roots.begin(), arguments.roots.end());
  trial.lifecycles = arguments.lifecycles == "on";
  if (!arguments.lives.empty()) trial.lives = std::set(arguments.lives.begin(), arguments.lives.end());
  trial.options.log = arguments.log;
  return trial;
}

// A failing seed: the smallest run like it, with its log.
struct Failure {
  std::uint64_t seed = 0;
  simulation::Trial smallest;
  simulation::RunReport report;
};

Failure look_into(std::uint64_t seed, const simulation::Trial& like, bool shrink) {
  Failure failure{.seed = seed, .smallest = like, .report = {}};
  failure.smallest.seed = seed;
  if (shrink) failure.smallest = simulation::shrink(failure.smallest);
  simulation::Trial logged = failure.smallest;
  logged.options.log = true;
  failure.report = simulation::run_trial(logged);
  return failure;
}

nlohmann::json to_json(const Failure& failure) {
  return {{"seed", failure.seed},
          {"command", command_of(failure.smallest)},
          {"problems", failure.report.problems},
          {"log", failure.report.log}};
}

void print(std::ostream& out, const Failure& failure) {
  out << "seed " << failure.seed << " fails: " << command_of(failure.smallest) << '\n';
  for (const std::string& problem : failure.report.problems) out << "  " << problem << '\n';
  const auto& lines = failure.report.log;
  const std::size_t first = lines.size() > kLastLines ? lines.size() - kLastLines : 0;
  if (first > 0) out << "  ... " << first << " earlier lines; pass --log for all\n";
  for (std::size_t line = first; line < lines.size(); ++line) out << "  " << lines[line] << '\n';
}

nlohmann::json to_json(const simulation::Campaign& campaign, double seconds) {
  nlohmann::json faults = nlohmann::json::object();
  for (std::size_t kind = 0; kind < simulation::kFaultKinds; ++kind) {
    faults[std::string(to_string(static_cast<simulation::Fault>(kind)))] = campaign.faults[kind];
  }
  return {{"seeds", campaign.seeds},
          {"failed", campaign.failed},
          {"requests", campaign.requests},
          {"commits", campaign.commits},
          {"faults", faults},
          {"sqlite_seeds", campaign.sqlite},
          {"fast_path_seeds", campaign.fast_path},
          {"seconds", seconds}};
}

void print(std::ostream& out, const simulation::Campaign& campaign, double seconds) {
  const auto seeds = static_cast<double>(std::max<std::size_t>(campaign.seeds, 1));
  out << campaign.seeds << " seeds, " << campaign.failed.size() << " failed; " << std::fixed << std::setprecision(1)
      << static_cast<double>(campaign.requests) / seeds << " requests, "
      << static_cast<double>(campaign.commits) / seeds << " commits and "
      << static_cast<double>(campaign.fault_count()) / seeds << " faults a seed; " << campaign.sqlite << " on SQLite, "
      << campaign.fast_path << " with the fast path; " << seconds << " s, " << seeds / std::max(seconds, 0.001)
      << " seeds a second\nfaults:";
  for (std::size_t kind = 0; kind < simulation::kFaultKinds; ++kind) {
    out << ' ' << to_string(static_cast<simulation::Fault>(kind)) << ' ' << campaign.faults[kind];
  }
  out << '\n';
}

}  // namespace

int run(const SimulateArguments& arguments, std::ostream& out, std::ostream& progress) {
  const auto [first, last] = parse_seed_range(arguments.seeds);
  const simulation::Trial like = trial_of(arguments);
  const std::size_t jobs = arguments.jobs > 0 ? arguments.jobs : std::max(std::thread::hardware_concurrency(), 1U);
  const auto begin = SteadyClock::now();
  auto told = begin;
  const auto elapsed = [&] { return std::chrono::duration<double>(SteadyClock::now() - begin).count(); };
  const auto seen = [&](const simulation::RunReport& report, const simulation::Campaign& so_far) {
    if (arguments.log && !arguments.json) {
      out << "seed " << report.seed << ":\n";
      for (const std::string& line : report.log) out << "  " << line << '\n';
    }
    if (SteadyClock::now() - told > std::chrono::seconds(10)) {
      told = SteadyClock::now();
      progress << so_far.seeds << " of " << last - first + 1 << " seeds, " << so_far.failed.size() << " failed, "
               << static_cast<int>(elapsed()) << " s\n";
    }
    return true;
  };
  const simulation::Campaign campaign = run_seeds(first, last, like, jobs, seen);
  const double seconds = elapsed();
  std::vector<Failure> failures;
  for (const std::uint64_t seed : campaign.failed) {
    if (failures.size() == kShrunkSeeds) break;
    failures.push_back(look_into(seed, like, !arguments.no_shrink));
  }
  if (arguments.json) {
    nlohmann::json result = to_json(campaign, seconds);
    for (const Failure& failure : failures) result["failures"].push_back(to_json(failure));
    out << result.dump(2) << '\n';
  } else {
    for (const Failure& failure : failures) print(out, failure);
    print(out, campaign, seconds);
    if (campaign.failed.size() > failures.size()) {
      out << "other seeds that failed:";
      for (std::size_t i = failures.size(); i < campaign.failed.size(); ++i) out << ' ' << campaign.failed[i];
      out << '\n';
    }
  }
  return campaign.failed.empty() ? 0 : 1;
}

}  // namespace perdure::cli
