// Scenery: what a seed decides before a simulated run begins: how many nodes, which store, how the nodes are set up,
// and how rough the weather is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <perdure/runtime_options.h>
#include "testing/simulation/node_store.h"
#include "testing/simulation/simulation.h"

namespace perdure::testing::simulation {

struct Scenery {
  Scenery(std::uint64_t seed, const RunOptions& options);

  // The tags that the workload needs; the first node serves them all.
  struct Tags {
    std::vector<std::string> names;
    bool only = false;  // nodes serve no activities without a tag
  };
  [[nodiscard]] RuntimeOptions node_options(std::size_t place, int generation, const Tags& tags) const;

  std::size_t nodes = 3;
  StoreKind store = StoreKind::kMemory;
  bool fast_path = false;
  bool holds_updates = false;      // what the dispatchers of a node have for each other may wait
  int first_generation = 0;        // of the code, on all nodes
  std::size_t latest_upgrade = 0;  // the step by which the new code is rolled out somewhere
  std::size_t faults = 0;
  std::size_t faults_per_1000_steps = 0;
  struct StoreOutage {
    std::size_t step = 0;  // of the run
    Milliseconds length{0};
    Refusal refusal = Refusal::kNone;
    [[nodiscard]] std::string describe() const;
  };
  // One that begins while another lasts takes its place.
  std::vector<StoreOutage> store_outages;
  struct ClockStep {
    std::size_t step = 0;  // of the run
    Milliseconds by{0};
  };
  std::vector<ClockStep> clock_steps;

 private:
  struct Place {
    std::size_t turns = 1;
    std::size_t activities = 1;
    std::size_t cached = 0;
    bool named = false;
    bool serves_tags = false;
    bool only_registered = false;
  };
  std::vector<Place> places_;
  bool new_engine_ = false;  // the next generation brings one
  Milliseconds turn_lock_{5'000};
  Milliseconds work_lock_{30'000};
  std::size_t sessions_ = 2;
};

}  // namespace perdure::testing::simulation
