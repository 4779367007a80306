// The whole state of a memory provider, without its mutex and its clock, and the few steps that several operations
// share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/provider.h>
#include <perdure/provider_error.h>
#include <perdure/types.h>
#include "providers/discarded_messages.h"
#include "providers/memory/activity_rows.h"
#include "providers/memory/key_rows.h"
#include "providers/memory/sessions.h"
#include "providers/memory/tokens.h"

namespace perdure::memory {

struct Store {
  explicit Store(Milliseconds orphan_retention) : keys(orphan_retention) {}

  KeyRows keys;
  ActivityRows activities;
  Sessions sessions;
  Tokens tokens;
  std::map<std::string, NodeInfo> nodes;
  MessageId last_message = 0;
  std::vector<DiscardedMessages> discarded;  // by this transaction; the provider reports and clears them after it

  // The message needs an instance or a queued start, and there is neither.
  [[nodiscard]] bool lacks_receiver(const MessageRecord& message) const;
  // Queues a message, or discards it if it lacks its receiver.
  void enqueue_or_discard(const MessageRecord& message, Timestamp now);
  // Queues a message that was checked.
  void enqueue(const MessageRecord& message, Timestamp now);
  // Queues an activity that was checked.
  Activity& enqueue_activity(const MessageRecord& activity, Timestamp now);

  // Ends a change of a row: it is indexed anew, or forgotten if nothing is left of it. Answers whether it is still
  // there.
  bool settle(KeyRow& row);

  // The row that a token was given out for, whatever became of its lock; null if it is gone.
  [[nodiscard]] KeyRow* instance_of(const LockToken& token);
  [[nodiscard]] Activity* activity_of(const LockToken& token);
  [[nodiscard]] const Activity* activity_of(const LockToken& token) const;
};

[[nodiscard]] ProviderError invalid_argument(std::string message);
// Of a token that is no longer a key to this row, which may be null.
[[nodiscard]] ProviderError lock_lost(const KeyRow* row);
[[nodiscard]] ProviderError lock_lost(const Activity* activity);
// "activity 7 of instance 'order-42'"
[[nodiscard]] std::string described(const MessageRecord& activity);

}  // namespace perdure::memory
