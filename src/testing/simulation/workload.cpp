#include "testing/simulation/workload.h"

#include <map>
#include <utility>

namespace perdure::testing::simulation {

// Not std::stable_sort: with clang, that of g++ 12's library is deprecated.
std::vector<ClientAction> in_order_of_time(std::vector<ClientAction> actions) {
  std::multimap<Timestamp, ClientAction> by_time;
  for (ClientAction& action : actions) by_time.emplace(action.at, std::move(action));
  actions.clear();
  for (auto& [at, action] : by_time) actions.push_back(std::move(action));
  return actions;
}

}  // namespace perdure::testing::simulation
