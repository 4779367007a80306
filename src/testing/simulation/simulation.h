// A simulated run: one seed decides what a cluster is given to do, who moves when, and what goes wrong.
//
// Nothing in it waits, and nothing depends on the machine: the same seed and options give the same run, to the last
// request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <perdure/history_check.h>
#include <perdure/runtime_options.h>
#include "testing/simulation/fault.h"
#include "testing/simulation/workload.h"

namespace perdure::testing::simulation {

enum class StoreKind : std::uint8_t { kMemory, kSqlite };

// The node that asks for the n-th write of a run dies at that moment, and comes back a second later. A write keeps
// turns, or outcomes of activities.
struct PlannedCrash {
  std::size_t write = 1;
  bool stored = false;  // the store has the write; the node has not heard of it
};

struct RunOptions {
  std::optional<std::size_t> nodes;                  // absent: the seed decides
  FaultSet faults = FaultSet().set();                // kinds that may strike
  std::optional<std::size_t> max_faults;             // the first so many strike; absent: the seed decides
  std::optional<std::size_t> faults_per_1000_steps;  // absent: the seed decides
  std::optional<StoreKind> store;                    // absent: a share of the seeds has SQLite
  std::optional<bool> fast_path;                     // absent: the seed decides
  std::size_t max_steps = 200'000;                   // a run that needs more does not come to rest
  std::optional<Milliseconds> time_limit;            // what lies behind so much virtual time is not waited for
  std::optional<PlannedCrash> crash;
  bool clients_prune = false;                        // old executions: they may be gone in the end
  std::function<void(RuntimeOptions&)> adjust_node;  // has the last word on the options of every node
  bool log = false;
};

enum class ProblemKind : std::uint8_t {
  kStore,      // the store broke its contract, or what it holds is not what was written
  kHistory,    // a history does not fit the code that wrote it
  kClient,     // an action of a client failed in a way that does not pass
  kDelay,      // the run did not come to rest
  kException,  // something threw that should not
  kOutcome,    // the workload is not content
};

struct RunReport {
  std::uint64_t seed = 0;
  std::vector<std::string> problems;      // nothing: all is well
  std::vector<ProblemKind> kinds;         // of the problems, in their order
  std::vector<HistoryFinding> histories;  // the problems of kind kHistory, in their order
  std::vector<std::string> log;
  std::size_t nodes = 0;
  StoreKind store = StoreKind::kMemory;
  bool fast_path = false;
  std::size_t requests = 0;  // that dispatchers and the client made
  std::size_t commits = 0;
  std::size_t writes = 0;  // requests of nodes to keep turns, or outcomes of activities
  FaultCounts faults{};
  Milliseconds virtual_time{0};

  [[nodiscard]] bool ok() const noexcept { return problems.empty(); }
  [[nodiscard]] std::size_t fault_count() const noexcept {
    return std::accumulate(faults.begin(), faults.end(), std::size_t{0});
  }
};

[[nodiscard]] RunReport run_seed(std::uint64_t seed, const RunOptions& options, Workload& workload);

}  // namespace perdure::testing::simulation
