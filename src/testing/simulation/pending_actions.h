// The actions of clients that are left in a run. Each waits for its moment and is repeated until it succeeds.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "testing/simulation/workload.h"

namespace perdure::testing::simulation {

class PendingActions {
 public:
  PendingActions() = default;
  explicit PendingActions(std::vector<ClientAction> actions);

  [[nodiscard]] bool empty() const noexcept { return actions_.empty(); }
  [[nodiscard]] std::size_t due(Timestamp now) const;
  // The action number `index` of those that are due.
  [[nodiscard]] const ClientAction& due_action(std::size_t index, Timestamp now) const;
  // Removes that action if it is done; otherwise it waits twice as long as the last time.
  void settle(std::size_t index, Timestamp now, bool done);
  // When the next one is due; Timestamp::max() if none is left.
  [[nodiscard]] Timestamp next_moment() const;
  // Whether each of them has failed so often that it waits for the longest time.
  [[nodiscard]] bool all_in_vain() const;
  void clear() { actions_.clear(); }
  // "; a client still wants to ..." for each.
  [[nodiscard]] std::string describe() const;

 private:
  struct Action {
    ClientAction what;
    Milliseconds again_after;
  };
  [[nodiscard]] std::size_t position(std::size_t index, Timestamp now) const;

  std::vector<Action> actions_;
};

}  // namespace perdure::testing::simulation
