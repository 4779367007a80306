// The part of the check that covers lives.
#include <string>

#include <perdure/client.h>
#include "testing/simulation/random_workload_check.h"

namespace perdure::testing::simulation {

namespace {

std::string listed_paths(const std::set<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) list += (list.empty() ? "" : " or ") + (path.empty() ? "nothing" : path);
  return list;
}

}  // namespace

void WorkloadCheck::check_life(const LifePlan& plan) {
  const Life& life = clients_.lives.at(plan.id);
  const auto found = paths_.find(plan.id);
  const std::string path = found == paths_.end() ? std::string() : found->second;
  if (damaged_.contains(plan.id) || may_fail_.contains(path)) return;
  problems_.insert(problems_.end(), life.problems.begin(), life.problems.end());
  // An instance with a contested id is checked against its own program.
  if (plan.contested) return;
  if (!life.possible.contains(path)) add(plan.id, listed_paths(life.possible), path.empty() ? "nothing" : path);
  if (path.empty()) return;
  const OrchestrationStatus status = client_.get_orchestration_status(plan.id);
  check_cancelled_ahead(plan, status, path);
  if (status.state != OrchestrationState::kCancelled && status.state != OrchestrationState::kTerminated) return;
  for (const auto& [reason, whom] : life.wishes) {
    if (whom.contains(path) && status.error_text().find(reason) != std::string::npos) return;
  }
  add(plan.id, "that nobody ends " + path + " but a client who meant it", status.error_text());
}

// A termination by the client may come before the first turn.
void WorkloadCheck::check_cancelled_ahead(const LifePlan& plan, const OrchestrationStatus& status,
                                          const std::string& path) {
  const auto& cancelled = clients_.lives.at(plan.id).cancelled_ahead;
  const auto reason = cancelled.find(path);
  if (reason == cancelled.end() || status.state == OrchestrationState::kTerminated) return;
  const bool names_reason = status.error_text().find(reason->second) != std::string::npos;
  if (status.state == OrchestrationState::kCancelled && names_reason) return;
  add(plan.id, "that the cancel before its start ends " + path,
      std::string(to_string(status.state)) + " " + status.error_text());
}

}  // namespace perdure::testing::simulation
