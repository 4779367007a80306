// The orchestrator queue: fetching instances, giving them back, and queueing messages for them.
#pragma once

#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider.h>
#include <perdure/provider_error.h>
#include <perdure/records.h>
#include <perdure/types.h>
#include "providers/memory/store.h"

namespace perdure::memory {

// What a fetch would take, and when to look again if that is nothing and nothing changes.
struct FoundInstances {
  std::vector<Age> rows;
  Timestamp look_again_at = Timestamp::max();
};
[[nodiscard]] FoundInstances find_instances(const Store& store, const OrchestrationFetch& fetch, Timestamp now);

[[nodiscard]] OrchestrationBatch fetch_instances(Store& store, const OrchestrationFetch& fetch, Timestamp now);
[[nodiscard]] ProviderResult<StoredHistory> read_history(Store& store, const LockToken& token, EventId after,
                                                         Timestamp now);
[[nodiscard]] ProviderResult<void> abandon_instance(Store& store, const Abandon& abandon, Timestamp now);
[[nodiscard]] ProviderResult<Timestamp> renew_instance(Store& store, const LockToken& token, Milliseconds extend_for,
                                                       Timestamp now);

[[nodiscard]] ProviderResult<void> enqueue_message(Store& store, const MessageRecord& message, Timestamp now);
[[nodiscard]] ProviderResult<StartOutcome> enqueue_start(Store& store, const MessageRecord& start, StartPolicy policy,
                                                         Timestamp now);

struct DroppedMessage {
  MessageId id = 0;
  MessageRecord record;
};
// Drops what orphans have collected, of some of them: the next call goes on.
[[nodiscard]] std::vector<DroppedMessage> drop_orphans(Store& store, Timestamp now);

}  // namespace perdure::memory
