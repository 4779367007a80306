// What the histories of all instances of a seed must say when nothing runs any more, compared with each other and with
// the ledger.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <perdure/client.h>
#include "lifecycles/life_ledger.h"
#include "lifecycles/random_life.h"

namespace perdure::test {

class LifeHistories {
 public:
  LifeHistories(const Client& client, const std::vector<std::string>& ids);
  // Those that have not been pruned, of instances of "Life".
  [[nodiscard]] std::vector<std::string> check(const std::vector<Effect>& effects);

 private:
  struct Life {
    std::string id;
    OrchestrationStatus status;
    std::optional<LifePlan> plan;  // absent: no instance, or not of "Life"
    std::map<ExecutionId, std::vector<Event>> histories;
  };
  using Ran = std::map<std::pair<std::string, ExecutionId>, std::map<EventId, std::string>>;  // keys of effects

  void check_plan(const Life& life);
  void check_activities(const Life& life, ExecutionId execution, const std::map<EventId, std::string>& ran);
  // That the parent is there, and has done what the reason of the cancel says.
  void check_parent(const Life& life);
  void fault(const Life& life, const std::string& what);

  std::map<std::string, Life> lives_;
  std::vector<std::string> problems_;
};

}  // namespace perdure::test
