#include "runtime/foreign_messages.h"

#include <algorithm>
#include <variant>

#include <perdure/message.h>
#include "model/decode_error.h"
#include "model/message_codec.h"
#include "replay/intake.h"

namespace perdure::runtime {

namespace {

// The link of an outcome is in its body. An outcome that cannot be decoded may be for this incarnation.
bool is_foreign_outcome(const MessageRecord& record, const OrchestrationItem& item) {
  if (record.kind != MessageKind::kSubOrchestrationCompleted && record.kind != MessageKind::kSubOrchestrationFailed) {
    return false;
  }
  try {
    return has_foreign_link(decode_message(record), item.metadata->parent, item.incarnation);
  } catch (const DecodeError&) {
    return false;
  }
}

bool is_foreign_cancel(const MessageRecord& record, const std::optional<ParentLink>& link) {
  return record.kind == MessageKind::kCancelInstance && record.parent && record.parent != link;
}

// A start that meets an instance, the cancel of a parent that the instance does not have, or the outcome of a child
// that another incarnation of the instance has scheduled.
bool is_for_another(const MessageRecord& record, const OrchestrationItem& item) {
  if (!item.metadata) return false;
  if (record.kind == MessageKind::kStartOrchestration) return true;
  return is_foreign_cancel(record, item.metadata->parent) || is_foreign_outcome(record, item);
}

// The parts of an undecodable message that its envelope has, or std::nullopt if they do not suffice.
std::optional<MessageBody> body_from_envelope(const QueuedMessage& queued, const OrchestrationItem& item,
                                              const std::optional<ParentLink>& link) {
  const MessageRecord& record = queued.record;
  if (is_foreign_cancel(record, link)) return messages::CancelInstance{{}, record.parent};
  const bool begins_instance = !item.metadata && &queued == &item.messages.front();
  if (record.kind != MessageKind::kStartOrchestration || begins_instance) return std::nullopt;
  return messages::StartOrchestration{record.name, std::nullopt, std::nullopt, record.parent};
}

}  // namespace

std::optional<ParentLink> link_of(const OrchestrationItem& item) {
  if (item.metadata) return item.metadata->parent;
  const bool starts = !item.messages.empty() && begins_execution(item.messages.front().record.kind);
  return starts ? item.messages.front().record.parent : std::nullopt;
}

DecodedMessages decode_messages_of(const OrchestrationItem& item, const std::optional<ParentLink>& link) {
  DecodedMessages decoded = decode_queued_messages(item.messages);
  std::erase_if(decoded.undecodable, [&](const UndecodableMessage& undecodable) {
    const auto queued = std::find_if(item.messages.begin(), item.messages.end(),
                                     [&](const QueuedMessage& each) { return each.id == undecodable.id; });
    const std::optional<MessageBody> body = body_from_envelope(*queued, item, link);
    if (body) decoded.messages.push_back({item.instance, std::nullopt, std::nullopt, *body});
    return body.has_value();
  });
  return decoded;
}

bool has_foreign_messages(const OrchestrationItem& item) {
  return std::any_of(item.messages.begin(), item.messages.end(),
                     [&](const QueuedMessage& message) { return is_for_another(message.record, item); });
}

void keep_foreign_messages(OrchestrationItem& item, DecodedMessages& decoded) {
  std::erase_if(decoded.messages, [&](const Message& message) {
    return !std::holds_alternative<messages::StartOrchestration>(message.body) &&
           !has_foreign_link(message, item.metadata->parent, item.incarnation);
  });
  decoded.undecodable.clear();
  std::erase_if(item.messages, [&](const QueuedMessage& message) { return !is_for_another(message.record, item); });
}

bool has_foreign_link(const Message& message, const std::optional<ParentLink>& link, std::uint64_t incarnation) {
  if (const auto* cancel = std::get_if<messages::CancelInstance>(&message.body)) return is_foreign(*cancel, link);
  if (const auto* completed = std::get_if<messages::SubOrchestrationCompleted>(&message.body)) {
    return completed->parent_incarnation != incarnation;
  }
  const auto* failed = std::get_if<messages::SubOrchestrationFailed>(&message.body);
  return failed && failed->parent_incarnation != incarnation;
}

DiscardedBatch describe_discarded(const DecodedMessages& messages, const std::optional<ParentLink>& link,
                                  std::uint64_t incarnation, IgnoreReason reason) {
  DiscardedBatch batch;
  const auto add = [&batch](IgnoreReason why, const std::string& kind) {
    batch.reasons.push_back(why);
    batch.kinds += (batch.kinds.empty() ? "" : ", ") + kind;
  };
  for (const Message& message : messages.messages) {
    const std::string kind(kind_name(message.body));
    if (has_foreign_link(message, link, incarnation)) {
      add(IgnoreReason::kForeignLink, kind + " (" + std::string(to_string(IgnoreReason::kForeignLink)) + ")");
    } else {
      add(reason, kind);
    }
  }
  for (const UndecodableMessage& message : messages.undecodable) add(reason, message.error);
  return batch;
}

}  // namespace perdure::runtime
