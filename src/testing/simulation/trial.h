// Trial: a seed with everything that fixes its run on the random workload; what `perdure simulate` carries out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testing/simulation/simulation.h"

namespace perdure::testing::simulation {

struct Trial {
  std::uint64_t seed = 0;
  RunOptions options;
  std::optional<std::set<std::size_t>> roots;  // of the workload's instances only these; absent: all
  bool lifecycles = true;                      // clients also delete, replace and restart at any moment
  std::optional<std::set<std::size_t>> lives;  // of the lifecycles only these; absent: all
};

[[nodiscard]] RunReport run_trial(const Trial& trial);

// The command that repeats it: "perdure simulate --seeds 7..7 --faults crash".
[[nodiscard]] std::string command_of(const Trial& trial);

// The smallest trial of the same seed that the search finds and that still has a problem. `attempts` bounds the search.
[[nodiscard]] Trial shrink(const Trial& failing, std::size_t attempts = 200);

// What many seeds came to.
struct Campaign {
  std::size_t seeds = 0;
  std::size_t requests = 0;
  std::size_t commits = 0;
  FaultCounts faults{};
  std::size_t sqlite = 0;     // seeds on SQLite
  std::size_t fast_path = 0;  // seeds with the fast path
  std::vector<std::uint64_t> failed;

  [[nodiscard]] std::size_t fault_count() const noexcept;
};

// Seeds from `first` to `last` on so many threads. `seen` is told of each run, one at a time, in any order; false:
// stop.
[[nodiscard]] Campaign run_seeds(std::uint64_t first, std::uint64_t last, const Trial& like, std::size_t threads,
                                 const std::function<bool(const RunReport&, const Campaign& so_far)>& seen);

}  // namespace perdure::testing::simulation
