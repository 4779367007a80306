// What a storm has done and what it met, for its report.
#pragma once

#include <cstddef>

namespace perdure::test::storm {

struct Counts {
  // Faults.
  std::size_t steps_forward = 0;
  std::size_t steps_back = 0;
  std::size_t silences = 0;
  double silent_seconds = 0;
  std::size_t full_volumes = 0;
  std::size_t pooler_restarts = 0;
  std::size_t cut_alls = 0;  // times at which all connections were cut
  std::size_t rough_times = 0;
  std::size_t cuts = 0;  // of connections, by the proxies
  std::size_t lost_answers = 0;
  std::size_t kills = 0;
  std::size_t standstills = 0;
  std::size_t restarts = 0;       // of nodes that were asked to end
  std::size_t failed_starts = 0;  // of nodes, because the store could not be reached
  std::size_t nodes = 0;          // processes that were started
  std::size_t most_at_once = 0;   // faults under way at one time
};

}  // namespace perdure::test::storm
