// Committing a turn: the steps of docs/provider-guide.md, in its order.
#pragma once

#include <perdure/provider_error.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include "providers/memory/store.h"

namespace perdure::memory {

[[nodiscard]] ProviderResult<CommitAnswer> commit_turn(Store& store, const TurnCommit& commit, Timestamp now);

}  // namespace perdure::memory
