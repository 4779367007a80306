// What the clients of a random workload remember between their calls.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <perdure/orchestration_status.h>
#include "testing/simulation/random_workload.h"

namespace perdure::testing::simulation {

struct RandomWorkload::Clients {
  std::set<std::string> deletion_begun;                // of instances that were there: what is gone stays gone
  std::set<std::string> deleted;                       // for certain
  std::set<std::string> raised;                        // signals that were sent at least once, perhaps in vain
  std::map<std::string, OrchestrationStatus> endings;  // as they were first seen
  // A line each. Those of an instance that turns out to be damaged mean nothing.
  std::map<std::string, std::vector<std::string>> problems;
  std::map<std::string, Life> lives;  // by id
};

// Carries out one intent. False: its time has not come. Throws what the client throws.
[[nodiscard]] bool carry_out(const ClientIntent& intent, const Program& root, const Client& client,
                             RandomWorkload::Clients& clients);

}  // namespace perdure::testing::simulation
