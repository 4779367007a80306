// Torture: a cluster of worker processes that are killed at random moments while they work, and whether that has lost
// or repeated anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <perdure/provider.h>
#include <perdure/types.h>

namespace perdure::testing::cluster {

struct TortureCounts {
  std::size_t kills = 0;
  std::size_t workers = 0;  // processes that were started
  std::size_t workflows = 0;
  std::size_t workflows_done = 0;
  std::size_t ledger_entries = 0;
  std::size_t repetitions = 0;  // runs of activities beyond the first one of each
};

struct TortureOptions {
  std::vector<std::string> worker_command;      // that runs run_worker() on the store; its options are appended
  std::vector<std::string> worker_environment;  // "NAME=value", beyond ours
  std::string folder;                           // which exists, for the ledger and the logs of workers
  std::size_t kills = 0;
  std::size_t workers = 3;
  std::size_t in_flight = 30;  // workflows, at any time
  std::uint64_t seed = 1;      // of whom it strikes and when
  Milliseconds lock_timeout{20'000};
  Milliseconds stall_limit{60'000};                    // without a workflow that ends
  Milliseconds time_limit{0};                          // 0: none
  std::string planted;                                 // see workflows.h
  std::function<bool()> wants_to_end;                  // asked often; true: stop at once
  std::function<void(const TortureCounts&)> progress;  // called often
};

struct TortureReport {
  TortureCounts counts;
  double seconds = 0;
  bool interrupted = false;  // wants_to_end() said so: nothing was checked
  std::vector<std::string> problems;

  [[nodiscard]] bool clean() const noexcept { return problems.empty() && !interrupted; }
};

// The store is empty at first, and what the workers open. Workers are gone when it returns. Throws std::system_error if
// there can be no ledger; whatever goes wrong later is in the report.
[[nodiscard]] TortureReport torture(const std::shared_ptr<Provider>& store, const TortureOptions& options);

}  // namespace perdure::testing::cluster
