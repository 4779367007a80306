// Intake: the first half of a turn, in which messages become events.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/message.h>
#include "replay/history_facts.h"
#include "replay/turn.h"

namespace perdure {

// The message of a batch that starts the execution: a ContinueAsNew, else the first StartOrchestration, which is one
// with nothing to carry on.
[[nodiscard]] std::optional<messages::ContinueAsNew> find_start(std::span<const Message> messages);

struct Intake {
  std::vector<Event> inputs;
  std::vector<IgnoredMessage> ignored;
  std::vector<Message> replies;          // to parents of starts that came to nothing
  std::optional<ErrorDetails> abort;     // the execution fails with it, and its code does not run
  std::optional<std::string> terminate;  // the execution ends for this reason, and its code does not run
};

struct IntakeRequest {
  std::span<const Message> messages;
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;           // of the instance
  std::optional<SemanticVersion> version;  // resolved; for the event that starts the execution
  Timestamp now{};
};

// What the parent of a child is told whose instance id is taken; nothing for a start without a parent, and for the very
// start that the instance came from, which was delivered again.
[[nodiscard]] std::optional<Message> refusal_of(const Message& start, const std::optional<ParentLink>& own_parent);

// Whether a cancel is for another child than the one with this link. A client's cancel is for any instance of that id.
[[nodiscard]] bool is_foreign(const messages::CancelInstance& cancel, const std::optional<ParentLink>& own_parent);

// Converts the messages of a turn, in order, and records the events in `facts`.
[[nodiscard]] Intake take_in(const IntakeRequest& request, HistoryFacts& facts);

}  // namespace perdure
