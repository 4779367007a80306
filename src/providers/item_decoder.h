// From records to what the engine reasons about: the one decoder above all providers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/message.h>

namespace perdure {

struct UndecodableMessage {
  MessageId id = 0;
  std::string error;
  bool operator==(const UndecodableMessage&) const = default;
};

struct DecodedHistory {
  std::vector<Event> events;         // empty if there is an error: never a part of a history
  std::optional<std::string> error;  // what is wrong with it, and where
};

struct DecodedMessages {
  std::vector<Message> messages;  // in the order of the item
  std::vector<UndecodableMessage> undecodable;
};

// Never throws for damaged bytes: what cannot be decoded is named, so that it can be counted and ended.
[[nodiscard]] DecodedHistory decode_stored_history(const StoredHistory& history);
[[nodiscard]] DecodedMessages decode_queued_messages(const std::vector<QueuedMessage>& messages);

}  // namespace perdure
