#include "providers/memory/store.h"

#include <optional>
#include <utility>

#include "model/planted_fault.h"
#include "providers/store_errors.h"

namespace perdure::memory {

namespace {

// Whether the message requests the end of this instance. The cancel of another parent does not.
bool requests_end(const KeyRow& row, const MessageRecord& message) {
  return ends_instance(message.kind) && (!message.parent || message.parent == link_of(row));
}

}  // namespace

bool Store::lacks_receiver(const MessageRecord& message) const {
  if (!message.must_exist || planted(PlantedFault::kMissingReceiverNotSeen)) return false;
  const KeyRow* const row = keys.find(message.instance);
  return row == nullptr || is_orphan(*row);
}

void Store::enqueue_or_discard(const MessageRecord& message, Timestamp now) {
  if (lacks_receiver(message)) {
    discarded.push_back({.instance = message.instance});
  } else {
    enqueue(message, now);
  }
}

void Store::enqueue(const MessageRecord& message, Timestamp now) {
  KeyRow& row = keys.obtain(message.instance);
  Message queued{.record = message, .visible_at = message.visible_at.value_or(now)};
  queued.record.visible_at = queued.visible_at;
  queued.record.must_exist = false;
  row.mailbox.add(++last_message, std::move(queued));
  // A backoff waits for code that can run the instance; ending it needs none.
  if (requests_end(row, message)) row.not_before = row.lock ? std::optional(kEndRequested) : std::nullopt;
  keys.reindex(row);
}

Activity& Store::enqueue_activity(const MessageRecord& activity, Timestamp now) {
  keys.reindex(keys.obtain(activity.instance));
  return activities.add(activity, now);
}

bool Store::settle(KeyRow& row) {
  if (row.instance || !row.mailbox.empty() || activities.has_any_of(row.id)) {
    keys.reindex(row);
    return true;
  }
  keys.erase(row);
  return false;
}

KeyRow* Store::instance_of(const LockToken& token) {
  const std::optional<Age> age = Tokens::row_of(TokenKind::kInstance, token);
  return age ? keys.find(*age) : nullptr;
}

Activity* Store::activity_of(const LockToken& token) {
  const std::optional<Position> position = Tokens::row_of(TokenKind::kActivity, token);
  return position ? activities.find(*position) : nullptr;
}

const Activity* Store::activity_of(const LockToken& token) const {
  const std::optional<Position> position = Tokens::row_of(TokenKind::kActivity, token);
  if (!position) return nullptr;
  const auto row = activities.rows().find(*position);
  return row != activities.rows().end() ? &row->second : nullptr;
}

ProviderError invalid_argument(std::string message) {
  return {ProviderErrorKind::kInvalidArgument, std::move(message)};
}

ProviderError lock_lost(const KeyRow* row) {
  return perdure::lock_lost(row == nullptr ? "unknown token of an instance" : "instance '" + row->id + "'");
}

ProviderError lock_lost(const Activity* activity) {
  return perdure::lock_lost(activity == nullptr ? "unknown token of an activity" : described(activity->record));
}

std::string described(const MessageRecord& activity) {
  return "activity " + std::to_string(activity.activity_id) + " of instance '" + activity.instance + "'";
}

}  // namespace perdure::memory
