// What a run of `perdure bench` is told.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace perdure::cli::bench {

struct Options {
  std::string workload;
  std::string store;          // empty: a SQLite file of its own under the temporary folder
  bool synced = true;         // --sync full
  bool fast_path = true;      // RuntimeOptions::fast_path
  std::size_t in_flight = 0;  // workflows, or signals; 0: as the workload says
  double seconds = 5;
  std::size_t steps = 5;                // seq: activities; timers: timers
  std::optional<std::size_t> width;     // fan, stress: activities; children: children
  std::size_t bytes = 10'240;           // payload
  std::size_t instances = 1'000;        // idle
  std::optional<std::size_t> delay_ms;  // stress: of an activity; timers: of a timer
  std::size_t workers = 0;              // RuntimeOptions::worker_concurrency; 0: as the workload says
  std::size_t turns = 2;                // RuntimeOptions::orchestration_concurrency
};

// With what the workload says where nothing was said. Throws std::invalid_argument that names the argument and what it
// may be.
[[nodiscard]] Options completed(Options options);

}  // namespace perdure::cli::bench
