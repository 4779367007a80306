#include "testing/cluster/torture_check.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <perdure/client.h>
#include <perdure/history_check.h>
#include <perdure/provider_error.h>
#include "testing/cluster/histories.h"
#include "testing/cluster/ledger_check.h"
#include "testing/cluster/workflows.h"
#include "testing/simulation/end_checks.h"

namespace perdure::testing::cluster {

namespace {

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Everything has completed, clients' instances are all there, and the others are children.
std::vector<std::string> check_instances(Provider& store, std::set<std::string> missing) {
  std::vector<std::string> problems;
  InstanceQuery query;
  query.limit = 1'000;
  do {
    const auto page = store.admin()->list_instances(query);
    if (!page) throw ProviderFailure(page.error());
    for (const InstanceInfo& info : page->instances) {
      if (info.status != ExecutionStatus::kCompleted) {
        problems.push_back("'" + info.id + "' is " + std::string(to_string(info.status)) + " at the end");
      }
      if (!info.parent && missing.erase(info.id) == 0)
        problems.push_back("'" + info.id + "' exists but was not started");
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  for (const std::string& instance : missing) problems.push_back("'" + instance + "' was started but does not exist");
  return problems;
}

// The code repeats every decision of every history.
std::vector<std::string> check_replay(Provider& store, const std::shared_ptr<const Ledger>& ledger) {
  HistoryCheckOptions options;
  options.live_only = false;
  const HistoryCheckResult result = check_histories(store, cluster_registry(ledger, {}), options);
  std::vector<std::string> problems;
  problems.reserve(result.findings.size());
  for (const HistoryFinding& finding : result.findings) problems.push_back(finding.to_string());
  return problems;
}

}  // namespace

std::vector<std::string> check_books(Provider& store, const Ledger& ledger, const std::set<std::string>& started) {
  const std::vector<StoredExecution> executions = read_executions(store);
  const std::vector<LedgerEntry> entries = ledger.read();
  const RecordedSteps recorded = steps_of(executions);
  std::vector<std::string> problems = check_instances(store, started);
  append(problems, check_executions(executions));
  append(problems, check_ledger(entries, recorded));
  append(problems, check_late_runs(entries, recorded));
  append(problems, simulation::check_queues(store));
  append(problems, check_replay(store, std::make_shared<const Ledger>(ledger.path())));
  return problems;
}

std::vector<std::string> describe_stuck(const std::shared_ptr<Provider>& store,
                                        const std::vector<std::string>& instances) {
  constexpr std::size_t kShown = 5;
  constexpr std::size_t kLastEvents = 4;
  const Client client(store);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(instances.size(), kShown); ++i) {
    const OrchestrationStatus status = client.get_orchestration_status(instances[i]);
    std::string line = "'" + instances[i] + "' is " + std::string(to_string(status.state)) + ", execution " +
                       std::to_string(status.execution_id) + "; its last events:";
    const std::vector<Event> history = client.read_execution_history(instances[i]);
    if (history.empty()) line += " none";
    for (std::size_t e = history.size() - std::min(history.size(), kLastEvents); e < history.size(); ++e) {
      line += "\n    " + std::to_string(history[e].id) + " " + summarize(history[e].body);
    }
    lines.push_back(std::move(line));
  }
  if (instances.size() > kShown) lines.push_back("and " + std::to_string(instances.size() - kShown) + " more");
  const QueueDepths depths = client.get_queue_depths();
  lines.push_back("in the queues: " + std::to_string(depths.messages) + " messages, " +
                  std::to_string(depths.delayed_messages) + " delayed ones, " + std::to_string(depths.activities) +
                  " activities, " + std::to_string(depths.locked_activities) + " locked ones");
  return lines;
}

}  // namespace perdure::testing::cluster
