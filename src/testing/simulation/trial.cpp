#include "testing/simulation/trial.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "testing/simulation/random_workload.h"

namespace perdure::testing::simulation {

namespace {

std::string listed(const std::set<std::size_t>& numbers) {
  std::string list;
  for (const std::size_t number : numbers) list += (list.empty() ? "" : ",") + std::to_string(number);
  return list;
}

}  // namespace

RunReport run_trial(const Trial& trial) {
  RandomWorkloadOptions options;
  options.only = trial.roots;
  options.lifecycles = trial.lifecycles;
  options.only_lives = trial.lives;
  RandomWorkload workload(trial.seed, options);
  return run_seed(trial.seed, trial.options, workload);
}

std::string command_of(const Trial& trial) {
  const RunOptions& options = trial.options;
  const std::string seed = std::to_string(trial.seed);
  std::string command = "perdure simulate --seeds " + seed + ".." + seed;
  if (options.nodes) command += " --nodes " + std::to_string(*options.nodes);
  if (!options.faults.all()) command += " --faults " + to_string(options.faults);
  if (options.max_faults) command += " --max-faults " + std::to_string(*options.max_faults);
  if (options.store) command += std::string(" --store ") + (*options.store == StoreKind::kSqlite ? "sqlite" : "memory");
  if (options.fast_path) command += std::string(" --fast-path ") + (*options.fast_path ? "on" : "off");
  if (trial.roots) command += " --roots " + listed(*trial.roots);
  if (trial.lives && !trial.lives->empty()) command += " --lives " + listed(*trial.lives);
  if (!trial.lifecycles || (trial.lives && trial.lives->empty())) command += " --lifecycles off";
  return command;
}

std::size_t Campaign::fault_count() const noexcept {
  return std::accumulate(faults.begin(), faults.end(), std::size_t{0});
}

Campaign run_seeds(std::uint64_t first, std::uint64_t last, const Trial& like, std::size_t threads,
                   const std::function<bool(const RunReport&, const Campaign& so_far)>& seen) {
  Campaign campaign;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = first;
  std::atomic<bool> stopped = false;
  const auto work = [&] {
    for (std::uint64_t seed = next++; seed <= last && !stopped; seed = next++) {
      Trial trial = like;
      trial.seed = seed;
      const RunReport report = run_trial(trial);
      const std::scoped_lock lock(mutex);
      ++campaign.seeds;
      campaign.requests += report.requests;
      campaign.commits += report.commits;
      for (std::size_t kind = 0; kind < kFaultKinds; ++kind) campaign.faults[kind] += report.faults[kind];
      if (report.store == StoreKind::kSqlite) ++campaign.sqlite;
      if (report.fast_path) ++campaign.fast_path;
      if (!report.ok()) campaign.failed.push_back(seed);
      if (!seen(report, campaign)) stopped = true;
    }
  };
  std::vector<std::jthread> pool;
  for (std::size_t i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  pool.clear();
  std::sort(campaign.failed.begin(), campaign.failed.end());
  return campaign;
}

}  // namespace perdure::testing::simulation
