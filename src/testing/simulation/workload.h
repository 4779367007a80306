// Workload: what a simulated cluster is given to do, and what must come of it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <perdure/client.h>
#include <perdure/history_check.h>
#include <perdure/provider.h>
#include <perdure/registry.h>
#include <perdure/types.h>

namespace perdure::testing::simulation {

// Something that a client does. A call may fail, also after it took effect, and is then made again: so an action must
// bear to be carried out more than once.
struct ClientAction {
  std::string what;  // for the log: "start order-1", "raise 'paid' for order-1"
  Timestamp at{};    // not before
  // False: once more, a little later. So may an event be raised until somebody has taken it, or a deletion be tried
  // until the instance has ended. A retryable ClientError means the same; any other exception is a fault of the run.
  std::function<bool(const Client&)> act;
};

// Those of the same time stay in their order.
[[nodiscard]] std::vector<ClientAction> in_order_of_time(std::vector<ClientAction> actions);

// What to know about the end of a run, beside the store.
struct RunFacts {
  std::vector<std::string> damaged;  // instances of which a stored row was damaged: they may end as poison
  // Children that nobody knew of any more, because the row that told of them was damaged: they may run for ever.
  std::vector<std::string> lost_children;
  // Activities (instance, execution, schedule id) with a schedule-to-start timeout that a node was given to run and did
  // not return. It may have begun them, so they need not time out.
  std::set<std::tuple<std::string, ExecutionId, EventId>> fetched_in_vain;
};

class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  // The code of a node. Generations differ as deployments do: 0 at first, and 1 where the new version is rolled out.
  // Nodes of both work side by side for a while.
  [[nodiscard]] virtual Registry registry(int generation) = 0;
  // Tags that the cluster must serve; others are served by nobody.
  [[nodiscard]] virtual std::vector<std::string> tags() const { return {}; }
  // Every activity has one of these tags, so no node needs to serve those without one.
  [[nodiscard]] virtual bool tags_all() const { return false; }
  // Whether the check of histories may find this: the workload has orchestrations that diverge or have no code.
  [[nodiscard]] virtual bool allows(const HistoryFinding& /*finding*/) const { return false; }
  // Some node must fetch items that no node has code for, so that they end as poison.
  [[nodiscard]] virtual bool needs_unknown_names() const { return false; }
  // Clients have pruned it, so that old executions may be gone in the end.
  [[nodiscard]] virtual bool may_be_pruned(const std::string& /*instance*/) const { return false; }
  // A node has ended, with everything that its activities kept in memory.
  virtual void node_ended(const std::string& /*id*/) {}
  // In order of their times. Asked for once.
  [[nodiscard]] virtual std::vector<ClientAction> actions(Timestamp start) = 0;
  // True: the run is over, whatever else may still be going on. Asked after every step.
  [[nodiscard]] virtual bool is_done(Provider& /*store*/) { return false; }
  // The run does not come to rest: things still happen, or nothing does any more. Answers why, a line each.
  enum class Delay : std::uint8_t { kBusy, kIdle };
  [[nodiscard]] virtual std::vector<std::string> explain(Delay /*delay*/, Provider& /*store*/) { return {}; }
  // Everything has come to rest, or is_done() was true. Answers what is wrong, a line each; nothing: all is well.
  [[nodiscard]] virtual std::vector<std::string> check(Provider& store, const RunFacts& facts) = 0;
};

}  // namespace perdure::testing::simulation
