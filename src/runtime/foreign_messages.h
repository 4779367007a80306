// Messages that reach an instance only because it has the id of another one: starts of children whose id is taken, the
// cancels of their parents, and outcomes of children of another incarnation. An instance refuses or discards them
// without its code. The envelopes of starts and cancels suffice for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/fetch.h>
#include <perdure/message.h>
#include "providers/item_decoder.h"
#include "replay/turn.h"

namespace perdure::runtime {

// The link of the instance to its parent, even if neither the history nor the start can be decoded. Before the first
// turn it is that of the start that is delivered first.
[[nodiscard]] std::optional<ParentLink> link_of(const OrchestrationItem& item);

// Decodes the messages of an item whose instance has this link. An undecodable message of another sender is represented
// by its envelope, so that it does not end the instance that it meets.
[[nodiscard]] DecodedMessages decode_messages_of(const OrchestrationItem& item, const std::optional<ParentLink>& link);

// Returns false before the first turn. A commit that only discards messages would reset the attempts of the start, and
// the first turn refuses or discards them anyway.
[[nodiscard]] bool has_foreign_messages(const OrchestrationItem& item);

// Removes all other messages from the item and from `decoded`: starts, foreign cancels and foreign outcomes remain.
void keep_foreign_messages(OrchestrationItem& item, DecodedMessages& decoded);

// Whether it is the cancel of another parent, or the outcome of a child of another incarnation.
[[nodiscard]] bool has_foreign_link(const Message& message, const std::optional<ParentLink>& link,
                                    std::uint64_t incarnation);

// Why each message of a batch is discarded, and the kinds of all of them for the log.
struct DiscardedBatch {
  std::vector<IgnoreReason> reasons;
  std::string kinds;
};
// `reason` is that of messages without a foreign link.
[[nodiscard]] DiscardedBatch describe_discarded(const DecodedMessages& messages, const std::optional<ParentLink>& link,
                                                std::uint64_t incarnation, IgnoreReason reason);

}  // namespace perdure::runtime
