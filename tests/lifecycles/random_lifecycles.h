// Random lifecycles: clients that start, replace, cancel, terminate, delete and prune a few ids at the same time, and
// send to them, while workflows fight for the same ids. One seed is one such fight; many run in one store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <perdure/client.h>
#include "lifecycles/life_nodes.h"

namespace perdure::test {

struct LifecycleOptions {
  std::uint64_t first_seed = 1;
  std::optional<std::uint64_t> seeds;  // absent: as many as the time allows
  std::chrono::seconds time{4};
  bool kills = false;                   // nodes die
  std::optional<StoreAddress> address;  // its rows are checked at the end; absent: a store in memory

  // PERDURE_LIFECYCLE_FIRST_SEED, PERDURE_LIFECYCLE_SEEDS, PERDURE_LIFECYCLE_SECONDS; what is not set stays.
  [[nodiscard]] static LifecycleOptions from_environment();
};

struct LifecycleReport {
  std::uint64_t seeds = 0;
  std::uint64_t calls = 0;  // of clients
  std::uint64_t kills = 0;
  std::vector<std::string> problems;
};

// Ends after the first seed with a problem.
[[nodiscard]] LifecycleReport run_lifecycles(const std::shared_ptr<Provider>& store, const LifeLedger& ledger,
                                             LifeNodes& nodes, const LifecycleOptions& options);

}  // namespace perdure::test
