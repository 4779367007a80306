// What goes into a turn and what comes out of it: values only, so that threads, stores and other processes can carry
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/event.h>
#include <perdure/limits.h>
#include <perdure/log_level.h>
#include <perdure/message.h>
#include <perdure/status.h>
#include <perdure/types.h>

namespace perdure {

// Where an orchestration's traces go while it runs, not afterwards: a turn may take its process down.
class TraceSink {
 public:
  virtual void trace(LogLevel level, std::string_view message) noexcept = 0;

 protected:
  ~TraceSink() = default;
};

// Bits from outside for recorded values; a new draw for every turn.
struct Entropy {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

struct TurnRequest {
  Timestamp now{};  // the store's
  Entropy entropy;
  std::vector<Message> messages;  // oldest first
  TraceSink* traces = nullptr;    // null: nobody listens
};

enum class IgnoreReason : std::uint8_t {
  kOtherExecution,    // a completion of an earlier or later execution
  kDuplicate,         // the operation has its outcome already
  kAlreadyStarted,    // a second start
  kAlreadyCancelled,  // a second cancel request
  kForeignLink,       // from or for another parent, or another incarnation of it
  kExecutionEnded,    // the execution is terminal
  kNotStarted,        // neither a history nor a start
  kNotForOrchestrations,
  kNobodyWaits,  // an external event without an open wait; it stays in the history
};
[[nodiscard]] std::string_view to_string(IgnoreReason reason) noexcept;

// A message that had no effect on the code. The runtime logs it; nothing is dropped in silence.
struct IgnoredMessage {
  std::string what;  // kind and subject
  IgnoreReason reason = IgnoreReason::kDuplicate;
  EventId event_id = 0;  // kNobodyWaits: what it has become in the history
  bool operator==(const IgnoredMessage&) const = default;
};

// All that has to be committed, as one.
struct TurnOutcome {
  ExecutionStatus status = ExecutionStatus::kRunning;  // what the turn changes it to; kRunning: it changes nothing
  Payload output;                                      // kCompleted; kContinuedAsNew: the next input
  std::optional<ErrorDetails> error;                   // kFailed, kCancelled, kTerminated
  std::vector<Event> events;                           // to append
  std::vector<Message> activities;                     // to the worker queue
  std::vector<Message> messages;                       // to the orchestrator queue, in this order
  std::vector<EventId> cancelled_activities;           // scheduled by earlier turns of this execution, to be withdrawn
  std::vector<IgnoredMessage> ignored;
  std::vector<std::string> retried;  // activities that a RetryPolicy scheduled again, by name
};

}  // namespace perdure
