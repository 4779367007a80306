// Whether the events of an execution and the code of a registry fit: the heart of the deployment check and of the
// Replayer.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <perdure/fetch.h>
#include <perdure/history_check.h>
#include <perdure/limits.h>
#include <perdure/registry.h>
#include <perdure/version.h>
#include "replay/key_values.h"
#include "replay/turn_executor.h"

namespace perdure {

struct HistoryProblem {
  HistoryFindingKind kind = HistoryFindingKind::kDiverges;
  std::string report;
};

// Replays the request's history, which must not be empty. Nothing: it fits.
[[nodiscard]] std::optional<HistoryProblem> find_history_problem(const Registry& registry, const Limits& limits,
                                                                 OpenRequest request);

// Nothing: there is such code.
[[nodiscard]] std::optional<HistoryProblem> find_missing_code(const Registry& registry, const std::string& name,
                                                              const std::optional<SemanticVersion>& version);

[[nodiscard]] KeyValueSnapshot to_snapshot(std::span<const KeyValue> values);

}  // namespace perdure
