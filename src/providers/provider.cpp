// The conveniences for one item: batches of one.
#include <perdure/provider.h>

#include <utility>

#include <perdure/clock.h>

namespace perdure {

namespace {

template <class T>
T only(std::vector<T> outcomes) {
  return std::move(outcomes.front());
}

// The first item of a batch, if there is one.
template <class Item, class Batch>
ProviderResult<std::optional<Item>> first_item(ProviderResult<Batch> batch) {
  if (!batch) return batch.error();
  if (batch->items.empty()) return std::optional<Item>();
  return std::optional<Item>(std::move(batch->items.front()));
}

}  // namespace

Milliseconds Provider::steady() {
  return SystemClock().steady();
}

ProviderResult<std::optional<OrchestrationItem>> Provider::fetch_orchestration_item(OrchestrationFetch fetch) {
  fetch.limit = 1;
  return first_item<OrchestrationItem>(fetch_orchestration_items(fetch));
}

ProviderResult<CommitAnswer> Provider::ack_orchestration_item(const TurnCommit& commit) {
  return only(ack_orchestration_items({&commit, 1}));
}

ProviderResult<void> Provider::abandon_orchestration_item(const Abandon& abandon) {
  return only(abandon_orchestration_items({&abandon, 1}));
}

ProviderResult<Timestamp> Provider::renew_orchestration_lock(const LockToken& token, Milliseconds extend_for) {
  return only(renew_orchestration_locks({&token, 1}, extend_for));
}

ProviderResult<void> Provider::enqueue_message(const MessageRecord& message) {
  return only(enqueue_messages({&message, 1}));
}

ProviderResult<std::optional<WorkItem>> Provider::fetch_work_item(WorkFetch fetch) {
  fetch.limit = 1;
  return first_item<WorkItem>(fetch_work_items(fetch));
}

ProviderResult<void> Provider::ack_work_item(const WorkAck& ack) {
  return only(ack_work_items({&ack, 1}));
}

ProviderResult<void> Provider::abandon_work_item(const Abandon& abandon) {
  return only(abandon_work_items({&abandon, 1}));
}

ProviderResult<Timestamp> Provider::renew_work_lock(const LockToken& token, Milliseconds extend_for) {
  return only(renew_work_locks({&token, 1}, extend_for));
}

ProviderResult<void> Provider::enqueue_activity(const MessageRecord& activity) {
  return only(enqueue_activities({&activity, 1}));
}

}  // namespace perdure
