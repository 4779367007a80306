// WorkloadCheck: compares what a store holds in the end with what had to come of a workload.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include <perdure/event.h>
#include <perdure/provider.h>
#include "testing/simulation/interpreter_ledger.h"
#include "testing/simulation/program_prediction.h"
#include "testing/simulation/random_workload_clients.h"

namespace perdure::testing::simulation {

class WorkloadCheck {
 public:
  WorkloadCheck(Provider& store, const Rules& rules, const Ledger& ledger, const RandomWorkload::Clients& clients,
                const RunFacts& facts);

  // A line for everything that is wrong: instance, expected, actual.
  [[nodiscard]] std::vector<std::string> run(const std::vector<RootPlan>& plans, const std::vector<LifePlan>& lives);

 private:
  void add(const std::string& instance, const std::string& expected, const std::string& actual);

  // ---- who is who ----

  void find_instances();
  // Those whose fate a damaged instance may have changed: it and its ancestors may have failed, what they started may
  // have been cut short.
  void find_shaken();
  // Whoever waits for it, directly or not, may end in the same way.
  void shake(const std::string& path, std::set<std::string>& may_end);
  // Those that ended as poison because a node did not return an activity that no node has code for; and what has been
  // deleted and may have ended so.
  void find_poisoned();
  [[nodiscard]] bool is_of_one_in_vain(const std::optional<ErrorDetails>& error) const;
  [[nodiscard]] std::string path_of(const std::string& instance) const;
  // Its own, or that of the nearest ancestor with a rule.
  [[nodiscard]] std::string nearest_path(const std::string& instance) const;
  [[nodiscard]] bool was_deleted(const InstanceRule& rule) const;
  // Whether that instance runs the program, or another one has its id.
  [[nodiscard]] bool runs_program(const std::string& instance, const std::string& path) const;

  // ---- one instance ----

  void check_rule(const InstanceRule& rule);
  void check_left_behind(const InstanceRule& rule, const std::string& instance);
  // The instance with the id is one that the client left there, and any end by a client was requested.
  void check_life(const LifePlan& plan);
  void check_cancelled_ahead(const LifePlan& plan, const OrchestrationStatus& status, const std::string& path);
  void check_ended(const InstanceRule& rule, const std::string& instance);
  [[nodiscard]] static bool is_end_of_diverging(const InstanceRule& rule, const OrchestrationStatus& status);
  [[nodiscard]] static bool is_nondeterminism(const ErrorDetails& error);
  void check_completed(const InstanceRule& rule, const std::string& instance, const OrchestrationStatus& status);
  void check_what_is_left(const InstanceRule& rule, const std::string& instance, const OrchestrationStatus& status);
  // What is wrong with an output, or with a part of it; empty: nothing.
  [[nodiscard]] std::string mismatch(const InstanceRule& rule, const nlohmann::json& output) const;
  [[nodiscard]] std::string mismatch(const ValueRule& rule, const nlohmann::json& value) const;

  // ---- its histories ----

  void check_histories(const std::string& instance);
  void check_history(const std::string& instance, ExecutionId execution, const std::vector<Event>& history);
  void check_activity(const ActivityKey& key, const events::ActivityScheduled& scheduled, const GivenOutcome& recorded,
                      bool timed_out);
  void check_child(const std::string& parent, const events::SubOrchestrationScheduled& scheduled,
                   const std::optional<Payload>& result, const std::optional<ErrorDetails>& error);
  // The outcome that a parent recorded must come from the child that it scheduled.
  void check_origin(const std::string& parent, const std::string& path, const std::optional<Payload>& result,
                    const std::optional<ErrorDetails>& error);
  // Whoever is cancelled or terminated takes its open children along.
  void check_cut_children(const std::string& parent, ExecutionId execution, const std::vector<Event>& history);
  void check_cut_child(const std::string& parent, Timestamp cut, const std::string& child);

  Client client_;
  const Rules& rules_;
  const Ledger& ledger_;
  const RandomWorkload::Clients& clients_;
  std::set<std::string> damaged_;
  std::vector<std::string> lost_children_;
  decltype(RunFacts::fetched_in_vain) fetched_in_vain_;
  std::map<std::string, std::string> instances_;  // by path
  std::map<std::string, std::string> paths_;      // by instance
  std::set<std::string> may_fail_;                // paths
  std::set<std::string> may_be_poison_;           // paths; only as is_of_one_in_vain() says
  std::set<std::string> may_be_cut_;              // paths
  std::set<std::string> may_run_on_;              // paths
  std::vector<std::string> problems_;
};

}  // namespace perdure::testing::simulation
