// All histories of a store, read as they are stored, with what they say about activities and whether they can be true.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/provider.h>
#include <perdure/types.h>
#include <perdure/version.h>
#include "testing/cluster/ledger_check.h"

namespace perdure::testing::cluster {

struct StoredExecution {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  std::optional<SemanticVersion> pinned_version;
  std::vector<Event> events;
  bool begins_with_unknown_kind = false;  // a later engine wrote its start; a stand-in is in its place
};

// Of every instance, each with its executions in their order. Throws std::runtime_error if the store does not answer,
// and DecodeError for an event that cannot be read, unless it is the first one.
[[nodiscard]] std::vector<StoredExecution> read_executions(Provider& store);

[[nodiscard]] RecordedSteps steps_of(const std::vector<StoredExecution>& executions);
// A line for each rule that a history breaks: see broken_rules().
[[nodiscard]] std::vector<std::string> check_executions(const std::vector<StoredExecution>& executions);

}  // namespace perdure::testing::cluster
