// LiveInstance: one execution in memory: its coroutine, its place in history and its open operations.
//
// Replay and live turns run the same loop: an event is applied, the code runs until nothing is ready, and each decision
// it makes is matched with the next recorded one of that turn or, in a live turn, becomes a new event. So an instance
// that was kept between turns equals one that was rebuilt from its history.
//
//   state      entered by                                              calls      co_await
//   running    construction                                            work       works
//   finished   the code returned or threw                              inert      -
//   continued  continue_as_new                                         inert      never resumes
//   aborted    an operation ended with an error that is not the code's  inert      never resumes
//   dead       divergence, misuse, a limit, a corrupt history          inert      never resumes
//
// Single-threaded: one thread at a time, and no thread, clock or store inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <perdure/detail/context_core.h>
#include <perdure/orchestration_handler.h>
#include "replay/channels.h"
#include "replay/history_facts.h"
#include "replay/key_values.h"
#include "replay/open_operations.h"
#include "replay/turn.h"
#include "replay/turn_end.h"

namespace perdure {

struct ExecutionIdentity {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  SemanticVersion version;        // of the handler
  std::uint64_t incarnation = 0;  // of the instance: the id of the commit that created it
};

class LiveInstance final : private detail::ContextCore {
 public:
  LiveInstance(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
               KeyValueSnapshot key_values, Limits limits);
  ~LiveInstance();

  // Applies committed turns, whole ones, that follow what has been applied before. If the code or the events do not
  // fit, the instance is dead, failure() tells why, and the next turn ends the execution with it.
  void replay(std::span<const Event> events);
  // Takes one more turn. The outcome is valid for the store only as a whole; if it cannot be committed the instance has
  // to be thrown away.
  [[nodiscard]] TurnOutcome run_turn(const TurnRequest& request);

  [[nodiscard]] const HistoryFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::optional<ErrorDetails>& failure() const noexcept;
  // An estimate of what it occupies: frames, with the inputs that retries keep; slots, history facts, custom status and
  // key values; and the encoded size of every value that the code was given, whether or not the code still has it. What
  // the code allocates otherwise is not known.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  [[nodiscard]] const ExecutionIdentity& identity() const noexcept { return identity_; }

 private:
  // What the code returned or threw.
  struct Finished {
    std::variant<Payload, ApplicationError> result;
  };
  struct Continued {
    Payload input;
    std::optional<SemanticVersion> version;
  };
  // Why nothing has an effect any more. Apart from the instance, because most of its life it has none.
  struct Ending {
    std::optional<ErrorDetails> failure;
    std::optional<ErrorDetails> aborted;  // by the outcome of an operation, which the code must not see
    std::optional<Finished> finished;
    std::optional<Continued> continued;
  };
  [[nodiscard]] const ErrorDetails* aborted() const noexcept;
  [[nodiscard]] const Finished* finished() const noexcept;
  [[nodiscard]] const Continued* continued() const noexcept;
  [[nodiscard]] const ApplicationError* finished_with_error() const noexcept;
  [[nodiscard]] Ending& ending();
  void count_given(const Payload& payload) noexcept { given_bytes_ += payload ? payload->size() : 0; }
  void finish_with_error(ApplicationErrorKind kind, std::string_view message);

  // ---- detail::ContextCore: what the code calls (live_instance_calls.cpp) ------------------------------------------
  [[nodiscard]] bool inert() const noexcept override;
  [[nodiscard]] detail::SlotRef open(EventBody decision) override;
  void chain(events::OrchestrationChained start) override;
  [[nodiscard]] std::string record(RecordedValueKind kind) override;
  void set_custom_status(std::optional<std::string> status) override;
  void set_key_value(std::string key, std::string value) override;
  void clear_key_value(std::string key) override;
  void clear_key_values() override;
  [[nodiscard]] std::size_t prune_key_values(Timestamp updated_before) override;
  void continue_as_new(Payload input, std::optional<SemanticVersion> version) override;
  void drop(detail::Slot& slot) noexcept override;
  void detach(const detail::SlotRef& slot) override;
  void taken(detail::Slot& slot) noexcept override;
  [[nodiscard]] const std::optional<std::string>& custom_status() const override { return custom_status_; }
  [[nodiscard]] std::optional<std::string> key_value(const std::string& key) const override;
  [[nodiscard]] std::map<std::string, std::string> key_values() const override;
  [[nodiscard]] const std::string& instance_id() const override { return identity_.instance; }
  [[nodiscard]] ExecutionId execution_id() const override { return identity_.execution; }
  [[nodiscard]] const std::string& orchestration_name() const override { return facts_.name(); }
  [[nodiscard]] std::optional<SemanticVersion> orchestration_version() const override { return identity_.version; }
  [[nodiscard]] Timestamp now() const override { return now_; }
  [[nodiscard]] bool is_replaying() const override { return replaying_; }
  void trace(LogLevel level, std::string_view message) override;

  // The recorded or new event of a decision; null when the instance is inert, or became it here.
  const Event* decide(EventBody decision);
  const Event* claim_recorded(const EventBody& decision);
  const Event* add_new(EventBody decision);
  // Throws MisuseError for a name that no store could hold.
  void check_names(const EventBody& decision) const;
  [[nodiscard]] std::size_t next_recorded_decision() const;
  [[nodiscard]] std::optional<std::string> limit_exceeded_by(const EventBody& decision) const;
  [[nodiscard]] bool payload_fits(const char* what, const Payload& payload);
  void exceed_limit(const std::string& what);
  void count_inert_call();
  void deliver(const MessageQueues::Delivery& delivery) noexcept;

  // ---- the loop (live_instance.cpp) --------------------------------------------------------------------------------
  void replay_turn(std::span<const Event> turn);
  void apply(const Event& event);
  void begin(const events::OrchestrationStarted& start);
  void settle(EventId schedule_id, const Payload& payload, const ErrorDetails* error);
  void settle_failed(const Event& event, EventId schedule_id, const Payload& payload, const ErrorDetails& error);
  [[nodiscard]] bool given_up(EventId schedule_id) const;
  void raise(EventId id, const events::ExternalEvent& event);
  void run_ready();
  void finish();
  class UserCode;
  void check_end_of_recorded_turn(std::span<const Event> turn, bool terminal);
  void check_terminal(const EventBody& body, std::size_t position);
  void die(ErrorDetails error);
  void diverge(const std::string& headline, std::size_t position, const std::optional<std::string>& recorded,
               const std::optional<std::string>& done);
  [[nodiscard]] Verdict verdict(const Intake& intake) const;
  void check_limits_of_turn();
  [[nodiscard]] TurnEnd end_of_turn(Intake intake);
  void destroy_code() noexcept;

  ExecutionIdentity identity_;
  Limits limits_;
  std::shared_ptr<const OrchestrationHandler> handler_;  // outlives root_: a lambda's captures live in it
  HistoryFacts facts_;
  KeyValues key_values_;
  std::optional<std::string> custom_status_;
  OpenOperations operations_;
  EventWaits waits_;
  MessageQueues queues_;
  std::vector<detail::SlotRef> adopted_;  // detached retry loops
  std::unique_ptr<Ending> ending_;

  // The turn that is replayed or run.
  bool replaying_ = false;
  bool closing_ = false;
  Timestamp now_{};
  Entropy entropy_;
  std::uint64_t draws_ = 0;
  TraceSink* traces_ = nullptr;
  std::span<const Event> recorded_;  // replay: the turn's events
  std::size_t next_recorded_ = 0;    // replay: behind the last claimed decision
  EventId next_id_ = kFirstEventId;  // live: of the next decision
  std::vector<Event> decisions_;     // live
  std::size_t decided_bytes_ = 0;    // live: of the names and payloads in them
  std::vector<EventId> dropped_;
  std::vector<IgnoredMessage> ignored_;
  std::size_t inert_calls_ = 0;
  std::size_t given_bytes_ = 0;  // encoded inputs, results and messages that were given to the code

  detail::Root root_;  // last: destroyed first
};

}  // namespace perdure
