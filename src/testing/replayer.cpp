#include <perdure/testing/replayer.h>

#include "check/history_problem.h"
#include "model/history_text.h"

namespace perdure::testing {

Replayer::Replayer(Registry registry, Limits limits) : registry_(std::move(registry)), limits_(limits) {
  registry_.check();
}

ReplayOutcome Replayer::replay(std::span<const Event> history, const RecordedExecution& execution) const {
  if (history.empty())
    return {HistoryFindingKind::kCorrupt, "the history has no events, so there is nothing to replay"};
  auto problem = find_history_problem(registry_, limits_,
                                      {.instance = execution.instance,
                                       .execution = execution.execution,
                                       .history = history,
                                       .messages = {},
                                       .key_values = to_snapshot(execution.key_values)});
  if (!problem) return {};
  return {problem->kind, std::move(problem->report)};
}

ReplayOutcome Replayer::replay_text(std::string_view text, const RecordedExecution& execution) const {
  std::vector<Event> history;
  try {
    history = read_history_text(text);
  } catch (const DecodeError& error) {
    return {HistoryFindingKind::kUndecodable, error.what()};
  }
  return replay(history, execution);
}

}  // namespace perdure::testing
