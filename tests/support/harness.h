// Harness: an orchestration, its history and the messages of each turn, in a few lines.
//
// Every turn is taken twice: by the instance that was kept since the first turn, and by one that is rebuilt from the
// history, which went through the codec on the way. Both must come to the same outcome, whatever the test is about.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/perdure.h>
#include "replay/live_instance.h"
#include "replay/turn.h"

namespace perdure::test {

// The traces of one turn.
class CollectedTraces final : public TraceSink {
 public:
  void trace(LogLevel level, std::string_view message) noexcept override {
    lines.push_back(std::string(to_string(level)) + ": " + std::string(message));
  }
  std::vector<std::string> lines;
};

class Harness {
 public:
  // The orchestration is registered as "Test", version 1.0.0.
  template <class F>
  explicit Harness(F orchestration) : handler_(detail::make_handler(std::move(orchestration))) {}

  // ---- set-up, before the first turn
  std::string instance = "inst";
  ExecutionId execution = kFirstExecutionId;
  std::uint64_t incarnation = 0;
  std::optional<ParentLink> parent;
  KeyValueSnapshot key_values;
  Limits limits;
  bool also_rebuild = true;  // off for orchestrations with side effects that a test counts
  Timestamp now{Milliseconds(1'000'000)};

  // ---- turns; each gives the outcome and appends its events to `history`
  TurnOutcome start(Payload input = std::nullopt, std::vector<MessageBody> behind = {});
  TurnOutcome turn(std::vector<MessageBody> bodies);
  // Messages as they are, other executions included.
  TurnOutcome turn_with(std::vector<Message> messages);
  // Forgets the kept instance, as a crash or an eviction would.
  void evict() { kept_.reset(); }
  // Goes on with other code for the same history, as a deployment would.
  template <class F>
  void redeploy(F orchestration) {
    handler_ = detail::make_handler(std::move(orchestration));
    evict();
  }

  // ---- what there is to look at
  std::vector<Event> history;
  std::vector<std::string> traces;  // of the last turn
  // Lines like "3 ActivityCompleted of 2 result=1" of the whole history.
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] const LiveInstance& kept() const { return *kept_; }
  // Rebuilds from `history` alone and tells why that failed.
  [[nodiscard]] std::optional<ErrorDetails> replay_failure() const;
  [[nodiscard]] std::unique_ptr<LiveInstance> rebuild() const;

 private:
  [[nodiscard]] TurnRequest request(const std::vector<Message>& messages) const;

  std::shared_ptr<const OrchestrationHandler> handler_;
  std::unique_ptr<LiveInstance> kept_;
};

// ---- messages, short
[[nodiscard]] MessageBody completed(EventId id, Payload result = std::nullopt);
[[nodiscard]] MessageBody failed(EventId id, std::string message, bool retryable = true);
[[nodiscard]] MessageBody failed_with(EventId id, ErrorDetails error);
[[nodiscard]] MessageBody fired(EventId id);
[[nodiscard]] MessageBody raised(std::string name, Payload data = std::nullopt);
[[nodiscard]] MessageBody queued(std::string queue, Payload data = std::nullopt);
[[nodiscard]] MessageBody child_completed(EventId id, Payload result = std::nullopt);
[[nodiscard]] MessageBody child_failed(EventId id, ErrorDetails error);
[[nodiscard]] MessageBody cancel(std::string reason);
[[nodiscard]] MessageBody terminate(std::string reason);

// "2 ActivityScheduled 'A' input=1", an event a line; and "to inst: TimerFired", a message a line.
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<Event>& events);
[[nodiscard]] std::vector<std::string> lines_of(const std::vector<Message>& messages);
[[nodiscard]] ApplicationError application_error(ApplicationErrorKind kind, std::string message);
// The message of a nondeterminism error, or a text that says that it is none.
[[nodiscard]] std::string divergence_of(const std::optional<ErrorDetails>& error);

}  // namespace perdure::test
