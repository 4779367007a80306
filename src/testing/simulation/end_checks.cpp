#include "testing/simulation/end_checks.h"

#include <memory>

#include <perdure/client.h>
#include <perdure/provider_admin.h>
#include "model/event_codec.h"

namespace perdure::testing::simulation {

namespace {

std::string named(const Audit::ExecutionKey& key) {
  return "'" + key.first + "', execution " + std::to_string(key.second);
}

}  // namespace

std::vector<std::string> check_queues(Provider& store) {
  std::vector<std::string> problems;
  const QueueDepths depths = store.admin()->queue_depths().value();
  const auto left = [&](const char* what, std::uint64_t count) {
    if (count > 0) problems.push_back(std::to_string(count) + " " + what + " are left in the queues");
  };
  left("activities", depths.activities);
  left("locked activities", depths.locked_activities);
  left("delayed activities", depths.delayed_activities);
  return problems;
}

std::vector<std::string> check_stuck(Provider& store) {
  std::vector<std::string> problems;
  const Client client(std::shared_ptr<Provider>(std::shared_ptr<void>(), &store));
  for (const StuckInstance& stuck : client.find_stuck_instances()) {
    problems.push_back("instance " + stuck.instance + " is reported as stuck at the end: " + stuck.reason);
  }
  return problems;
}

std::vector<std::string> check_messages_taken(Provider& store, const Audit& audit) {
  const QueueDepths depths = store.admin()->queue_depths().value();
  const std::uint64_t messages = depths.messages + depths.delayed_messages;
  const std::uint64_t orphans = audit.orphans();
  if (messages <= orphans) return {};
  return {std::to_string(messages - orphans) + " messages that nobody can ever take are left in the queues"};
}

std::vector<std::string> check_histories_kept(Provider& store, const Audit& audit, const std::set<std::string>& damaged,
                                              const std::function<bool(const std::string&)>& may_be_pruned) {
  std::vector<std::string> problems;
  for (const auto& [key, committed] : audit.histories()) {
    const auto stored = store.admin()->read_history(key.first, key.second).value();
    if (stored.empty() && may_be_pruned(key.first)) continue;
    if (stored != committed) {
      problems.push_back(named(key) + ": the stored history (" + std::to_string(stored.size()) +
                         " events) is not the one that was committed (" + std::to_string(committed.size()) + ")");
    }
    if (damaged.contains(key.first)) continue;
    std::vector<Event> events;
    events.reserve(stored.size());
    for (const EventRecord& record : stored) events.push_back(decode_event(record));
    for (const std::string& rule : broken_rules(events)) problems.push_back(named(key) + ": " + rule);
  }
  return problems;
}

std::vector<HistoryFinding> check_rebuilding(Provider& store, const Registry& registry,
                                             const std::set<std::string>& damaged, bool only_registered) {
  HistoryCheckOptions options;
  options.live_only = false;
  options.only_registered = only_registered;
  std::vector<HistoryFinding> findings = check_histories(store, registry, options).findings;
  std::erase_if(findings, [&](const HistoryFinding& finding) { return damaged.contains(finding.instance); });
  return findings;
}

}  // namespace perdure::testing::simulation
