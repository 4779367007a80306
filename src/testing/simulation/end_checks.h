// What must hold of a store when everything has come to rest.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/history_check.h>
#include <perdure/provider.h>
#include <perdure/registry.h>
#include "testing/simulation/audit.h"

namespace perdure::testing::simulation {

// What was damaged had to be ended by an engine that could not read all of it, so nothing is asked of its rules.

// No activity is queued or locked. A line for each kind that is.
[[nodiscard]] std::vector<std::string> check_queues(Provider& store);
// Everything has ended, so nothing is reported as stuck.
[[nodiscard]] std::vector<std::string> check_stuck(Provider& store);
// Only messages that clients sent to ids without an instance are queued.
[[nodiscard]] std::vector<std::string> check_messages_taken(Provider& store, const Audit& audit);
// Every history is the one that was committed, and keeps the rules. A line for each that does not hold. One that is
// missing altogether may have been pruned.
[[nodiscard]] std::vector<std::string> check_histories_kept(
    Provider& store, const Audit& audit, const std::set<std::string>& damaged,
    const std::function<bool(const std::string&)>& may_be_pruned);
// Every history can be rebuilt with the code of the registry. Answers those that cannot. `only_registered`: there are
// orchestrations that no node has.
[[nodiscard]] std::vector<HistoryFinding> check_rebuilding(Provider& store, const Registry& registry,
                                                           const std::set<std::string>& damaged, bool only_registered);

// Rules that every history keeps: it begins with a start, its turns and times go on, each completion belongs to an
// operation that was scheduled and is its only one, and nothing but breadcrumbs comes behind the end.
[[nodiscard]] std::vector<std::string> broken_rules(std::span<const Event> history);

}  // namespace perdure::testing::simulation
