// Whether a turn's commit can be done at all. Nothing is changed before all of this holds.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include "providers/memory/store.h"

namespace perdure::memory {

// Whether these events may follow those up to `last`. `what` names the instance in the error.
[[nodiscard]] std::optional<ProviderError> check_events(std::span<const EventRecord> events, EventId last,
                                                        const std::string& what);

// Of a commit whose token is good.
[[nodiscard]] std::optional<ProviderError> check_commit(Store& store, const KeyRow& row, const TurnCommit& commit,
                                                        Timestamp now);

}  // namespace perdure::memory
