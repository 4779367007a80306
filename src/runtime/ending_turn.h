// The last turn of an execution that ends without its code: poison, a request from outside, or a damaged history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/message.h>
#include "providers/item_decoder.h"
#include "replay/turn.h"

namespace perdure::runtime {

struct EndingTurn {
  const OrchestrationItem& item;
  const StoredHistory& stored;  // as the store gave it
  DecodedHistory history;       // as far as it could be decoded
  std::vector<Message> messages;
  std::string name;                // of the orchestration
  std::optional<ParentLink> link;  // of the instance to its parent
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;
  bool begins_next = false;          // the history belongs to the execution before
  bool start_is_unreadable = false;  // the start of the instance cannot be decoded
  Timestamp now{};
};

// Moves the end requests of the item that can be decoded behind its messages, and behind `decoded`: the code does not
// run, so nothing that came before them has to be processed first.
void add_end_requests(OrchestrationItem& item, DecodedMessages& decoded);

// Returns the end that a message requests, which needs no code; a terminate has precedence. Returns std::nullopt if no
// message does.
[[nodiscard]] std::optional<ErrorDetails> requested_end(const std::vector<Message>& messages,
                                                        const std::optional<ParentLink>& link);

// The outcome that ends the execution with `error`. Behind a damaged history only the end is written: the activities
// and children of the lost events are cancelled, the parent hears of the end, and child starts are refused. The outcome
// reports all other messages as ignored.
[[nodiscard]] TurnOutcome end_turn(EndingTurn turn, ErrorDetails error);

}  // namespace perdure::runtime
