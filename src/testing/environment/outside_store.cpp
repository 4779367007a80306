#include "testing/environment/outside_store.h"

namespace perdure::testing {

// Messages are delivered in the order of the times at which they become visible, and then of their arrival. A timer of
// that moment was queued long before, so a message that is to come first needs an earlier time.
std::vector<ProviderResult<void>> OutsideStore::enqueue_messages(std::span<const MessageRecord> messages) {
  const bool comes_first = clock_->on_driving_thread() && planned_moment_ && *planned_moment_ == clock_->now();
  if (!comes_first) return ForwardingProvider::enqueue_messages(messages);
  std::vector<MessageRecord> early(messages.begin(), messages.end());
  for (MessageRecord& message : early) {
    if (!message.visible_at) message.visible_at = *planned_moment_ - Milliseconds(1);
  }
  return ForwardingProvider::enqueue_messages(early);
}

}  // namespace perdure::testing
