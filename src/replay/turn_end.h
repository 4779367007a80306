// The second half of a turn: what it decided becomes events, messages and cancellations, ready to be committed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <perdure/event.h>
#include <perdure/message.h>
#include "replay/history_facts.h"
#include "replay/intake.h"
#include "replay/turn.h"

namespace perdure {

namespace verdicts {
struct Continue {};
struct Completed {
  Payload output;
};
struct Failed {
  ErrorDetails error;
};
struct ContinuedAsNew {
  Payload input;
  std::optional<SemanticVersion> version;
  std::vector<CarriedMessage> carry_forward;
  std::optional<std::string> custom_status;
};
}  // namespace verdicts
// Cancelled and Terminated are failures whose error says so.
using Verdict = std::variant<verdicts::Continue, verdicts::Completed, verdicts::Failed, verdicts::ContinuedAsNew>;

struct TurnEnd {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;  // of the instance
  Timestamp now{};
  Verdict verdict;
  std::vector<Event> inputs;           // recorded in the facts already
  std::vector<Event> decisions;        // not yet recorded
  std::vector<EventId> dropped;        // ascending: futures that the code gave up in this turn; no timers
  std::vector<EventId> detached;       // ascending: operations that outlive a normal end
  std::vector<EventId> open_waits;     // ascending: subscriptions that are still open
  std::vector<EventId> open_dequeues;  // ascending
  std::vector<IgnoredMessage> ignored;
  std::vector<Message> replies;  // for others, whatever becomes of this execution
};

// Completes the turn and records its events in `facts`.
[[nodiscard]] TurnOutcome close_turn(TurnEnd end, HistoryFacts& facts);

// Ends an execution whose code cannot or must not run: poison, terminate, cancel without a handler. `start` stands in
// for a history that does not exist yet. Messages of the batch are recorded as far as they belong to the execution.
struct EndWithoutCode {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;  // of the instance
  Timestamp now{};
  std::vector<Message> messages;
  ErrorDetails error;
};
[[nodiscard]] TurnOutcome end_without_code(const EndWithoutCode& request, HistoryFacts& facts);

}  // namespace perdure
