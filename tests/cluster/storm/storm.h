// Storm: a cluster of worker processes on PostgreSQL that all faults at once befall, and whether that has lost or
// repeated anything. docs/torture.md says what it does and what must hold at the end.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "counts.h"
#include "options.h"

namespace perdure::test::storm {

struct Report {
  Counts counts;
  std::size_t workflows = 0;
  std::size_t workflows_done = 0;
  std::size_t failed_calls = 0;  // of the client, which repeated them
  std::size_t ledger_entries = 0;
  std::size_t repetitions = 0;
  std::size_t refused_for_space = 0;  // errors in the log of the server
  std::size_t mebibytes = 0;          // of the tables
  double recovery_seconds = 0;        // from the end of the last fault until everything had completed
  double seconds = 0;
  bool interrupted = false;  // nothing was checked
  std::vector<std::string> problems;

  [[nodiscard]] bool clean() const noexcept { return problems.empty() && !interrupted; }
};

// `worker` runs a worker process. Everything that it made is removed when it returns. Throws NotPermitted where file
// systems cannot be mounted, and std::runtime_error if something does not start.
[[nodiscard]] Report run(const Options& options, const std::vector<std::string>& worker,
                         const std::atomic<bool>& wants_to_end);

}  // namespace perdure::test::storm
