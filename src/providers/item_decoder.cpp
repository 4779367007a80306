#include "providers/item_decoder.h"

#include "model/event_codec.h"
#include "model/message_codec.h"

namespace perdure {

DecodedHistory decode_stored_history(const StoredHistory& history) {
  if (history.error) return {.events = {}, .error = history.error};
  try {
    return {.events = decode_history(history.events), .error = {}};
  } catch (const DecodeError& error) {
    return {.events = {}, .error = error.what()};
  }
}

DecodedMessages decode_queued_messages(const std::vector<QueuedMessage>& messages) {
  DecodedMessages decoded;
  for (const QueuedMessage& message : messages) {
    try {
      decoded.messages.push_back(decode_message(message.record));
    } catch (const DecodeError& error) {
      decoded.undecodable.push_back({.id = message.id, .error = error.what()});
    }
  }
  return decoded;
}

}  // namespace perdure
