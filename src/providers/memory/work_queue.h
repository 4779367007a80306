// The worker queue: fetching activities, completing them, giving them back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider.h>
#include <perdure/provider_error.h>
#include <perdure/turn_commit.h>
#include <perdure/types.h>
#include "providers/memory/store.h"

namespace perdure::memory {

[[nodiscard]] WorkBatch fetch_work(Store& store, const WorkFetch& fetch, Timestamp now);
// Locks activities that a commit has just queued (the newest there are; those that it cancelled are gone), as a fetch
// would, unless that fetch would take something older. The commit must ask for it.
[[nodiscard]] std::vector<ClaimedActivity> claim_work(Store& store, const std::vector<Position>& queued,
                                                      const TurnCommit& commit, Timestamp now);
// What a commit of this instance had claimed, as far as it still holds.
[[nodiscard]] std::vector<ClaimedActivity> still_claimed(Store& store, const std::string& instance,
                                                         const TurnCommit& commit, Timestamp now);

[[nodiscard]] ProviderResult<void> ack_work(Store& store, const WorkAck& ack, Timestamp now);
// Whether one of these activities is gone, or under another lock.
[[nodiscard]] bool has_lost_any(const Store& store, std::span<const LockToken> held);
void abandon_work(Store& store, const Abandon& abandon, Timestamp now);
[[nodiscard]] ProviderResult<Timestamp> renew_work(Store& store, const LockToken& token, Milliseconds extend_for,
                                                   Timestamp now);
[[nodiscard]] ProviderResult<Timestamp> heartbeat(Store& store, const Heartbeat& heartbeat, Timestamp now);
[[nodiscard]] ProviderResult<void> enqueue_activity(Store& store, const MessageRecord& activity, Timestamp now);
[[nodiscard]] std::size_t cleanup_sessions(Store& store, Timestamp now);

}  // namespace perdure::memory
