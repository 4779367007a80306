// Whether the ledger and the histories of a store tell the same story.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "testing/cluster/ledger.h"

namespace perdure::testing::cluster {

// What the histories say about activities.
struct RecordedSteps {
  std::set<Step> scheduled;
  std::set<Step> completed;     // with an outcome, good or bad
  std::map<Step, Step> next{};  // what was scheduled first when the outcome of a step had been recorded
};

// A line for each thing that cannot be true:
//   - a step is completed in a history, but no run of it came to its end: the effect is lost;
//   - a run of a step that no history asks for, or an end without a beginning;
//   - two runs of a step without a reason. At least once means that a run is repeated if its node died, stood still or
//     lost the store before it was done: a disturbance of the node of the first run, after that has begun and before
//     the second one does. Or the second one is late: its node had stood still with the step in its hands.
[[nodiscard]] std::vector<std::string> check_ledger(const std::vector<LedgerEntry>& ledger,
                                                    const RecordedSteps& recorded);

// A line for each run of a step that began after the next one had. What a turn schedules runs when the turn is
// committed, so the outcome of the step was recorded by then, and a further run has no reason, whichever nodes died.
// Only a node that stood still, or knew nothing of the store, when the next step began may have had the step in its
// hands.
[[nodiscard]] std::vector<std::string> check_late_runs(const std::vector<LedgerEntry>& ledger,
                                                       const RecordedSteps& recorded);

// How many runs there were beyond the first one of each step.
[[nodiscard]] std::size_t count_repetitions(const std::vector<LedgerEntry>& ledger);
// How many runs each node brought to an end.
[[nodiscard]] std::map<std::string, std::size_t> ended_runs_by_node(const std::vector<LedgerEntry>& ledger);

}  // namespace perdure::testing::cluster
