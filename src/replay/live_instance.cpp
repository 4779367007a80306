#include "replay/live_instance.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <perdure/detail/thrown.h>
#include "model/check.h"
#include "model/error_text.h"
#include "model/planted_fault.h"
#include "replay/turn_scope.h"

namespace perdure {

using detail::OperationKind;
using detail::Slot;
using detail::SlotRef;

// Around every call into the user's code. What a determinism guard refused in it is as final as a divergence.
class LiveInstance::UserCode {
 public:
  explicit UserCode(LiveInstance& instance) noexcept
      : instance_(instance), scope_(instance.identity_.instance, instance.facts_.name(), TurnScope::Phase::kRunning) {}
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;
  ~UserCode() {
    if (scope_.refusal().empty()) return;
    instance_.die(
        ConfigurationError{ConfigurationErrorKind::kNondeterminism, instance_.facts_.name(), scope_.refusal()});
  }

 private:
  LiveInstance& instance_;
  TurnScope scope_;
};

LiveInstance::LiveInstance(ExecutionIdentity identity, std::shared_ptr<const OrchestrationHandler> handler,
                           KeyValueSnapshot key_values, Limits limits)
    : identity_(std::move(identity)),
      limits_(limits),
      handler_(std::move(handler)),
      key_values_(std::move(key_values)) {}

LiveInstance::~LiveInstance() {
  destroy_code();
  // Futures that the code hid somewhere else must not find us any more.
  operations_.for_each([](Slot& slot) { slot.core.store(nullptr, std::memory_order_relaxed); });
  for (const auto& slot : adopted_) slot->core.store(nullptr, std::memory_order_relaxed);
}

// Runs destructors of the code's locals, in which nothing may have an effect any more.
void LiveInstance::destroy_code() noexcept {
  const Running running(*this);
  const TurnScope scope(identity_.instance, facts_.name(), TurnScope::Phase::kDestroying);
  closing_ = true;
  root_ = detail::Root();
  for (const auto& slot : adopted_) slot->driver.reset();
}

// ---- a live turn ---------------------------------------------------------------------------------------------------

TurnOutcome LiveInstance::run_turn(const TurnRequest& request) {
  if (facts_.terminal()) {
    TurnOutcome outcome;
    for (const Message& message : request.messages) {
      if (auto refusal = refusal_of(message, std::nullopt)) outcome.messages.push_back(std::move(*refusal));
      outcome.ignored.push_back(
          {.what = std::string(kind_name(message.body)), .reason = IgnoreReason::kExecutionEnded});
    }
    return outcome;
  }
  Intake intake =
      take_in({request.messages, identity_.execution, identity_.incarnation, identity_.version, request.now}, facts_);
  const bool without_code = failure() || intake.abort || intake.terminate;
  if (intake.inputs.empty() && (!facts_.started() || !without_code)) {
    TurnOutcome outcome;
    outcome.ignored = std::move(intake.ignored);
    outcome.messages = std::move(intake.replies);
    return outcome;
  }
  now_ = request.now;
  entropy_ = request.entropy;
  draws_ = 0;
  decided_bytes_ = 0;
  traces_ = request.traces;
  next_id_ = facts_.next_event_id();
  if (!without_code) {
    const Running running(*this);
    for (const Event& event : intake.inputs) {
      if (failure() || aborted()) break;
      apply(event);
    }
    check_limits_of_turn();
  }
  traces_ = nullptr;
  TurnOutcome outcome = close_turn(end_of_turn(std::move(intake)), facts_);
  outcome.retried = std::exchange(retried_, {});
  if (outcome.status != ExecutionStatus::kRunning) destroy_code();
  return outcome;
}

TurnEnd LiveInstance::end_of_turn(Intake intake) {
  TurnEnd end;
  end.verdict = verdict(intake);
  end.instance = identity_.instance;
  end.execution = identity_.execution;
  end.incarnation = identity_.incarnation;
  end.now = now_;
  end.inputs = std::move(intake.inputs);
  end.ignored = std::move(intake.ignored);
  end.replies = std::move(intake.replies);
  end.ignored.insert(end.ignored.end(), ignored_.begin(), ignored_.end());
  ignored_.clear();
  std::vector<Event> decisions = std::exchange(decisions_, {});
  std::vector<EventId> dropped = std::exchange(dropped_, {});
  if (failure()) return end;  // what a dead instance decided in this turn is discarded
  const bool ends = !std::holds_alternative<verdicts::Continue>(end.verdict);
  if (ends) {
    end.open_waits = waits_.open();
    end.open_dequeues = queues_.open();
  }
  if (aborted()) {  // the same, but its earlier decisions stand
    const EventId first_discarded = decisions.empty() ? next_id_ : decisions.front().id;
    std::erase_if(end.open_waits, [&](EventId id) { return id >= first_discarded; });
    std::erase_if(end.open_dequeues, [&](EventId id) { return id >= first_discarded; });
    return end;
  }
  end.decisions = std::move(decisions);
  std::sort(dropped.begin(), dropped.end());
  end.dropped = std::move(dropped);
  if (!ends) return end;
  operations_.for_each([&](const Slot& slot) {
    if (slot.detached) end.detached.push_back(slot.schedule_id);
  });
  for (const auto& slot : adopted_) {
    if (!slot->completion.done() && slot->schedule_id != 0) end.detached.push_back(slot->schedule_id);
  }
  std::sort(end.detached.begin(), end.detached.end());
  return end;
}

// Who has the last word about a turn: the engine, a request from outside, then the code.
Verdict LiveInstance::verdict(const Intake& intake) const {
  if (failure()) return verdicts::Failed{*failure()};
  if (intake.terminate) {
    return verdicts::Failed{ApplicationError{ApplicationErrorKind::kTerminated, *intake.terminate, false}};
  }
  if (intake.abort) return verdicts::Failed{*intake.abort};
  if (const auto* error = aborted()) return verdicts::Failed{*error};
  const auto* error = finished_with_error();
  if (error && error->kind == ApplicationErrorKind::kPanicked) return verdicts::Failed{*error};
  if (facts_.cancel_requested()) {
    return verdicts::Failed{ApplicationError{ApplicationErrorKind::kCancelled, *facts_.cancel_requested(), false}};
  }
  if (const auto* next = continued()) {
    return verdicts::ContinuedAsNew{next->input, next->version, queues_.unread(), custom_status_};
  }
  if (error) return verdicts::Failed{*error};
  if (finished()) return verdicts::Completed{std::get<Payload>(finished()->result)};
  return verdicts::Continue{};
}

// What only the whole turn shows. An execution that has come to its end may end, however long it is.
void LiveInstance::check_limits_of_turn() {
  if (failure() || aborted() || finished()) return;
  const std::size_t unread = queues_.unread_count();
  if (continued()) {
    // Too many to carry would mean to lose some.
    const std::size_t bytes = queues_.unread_bytes();
    if (bytes > limits_.max_carry_forward_bytes) {
      return exceed_limit("continue_as_new would carry " + std::to_string(bytes) +
                          " bytes of unread queue messages, more than the limit of " +
                          std::to_string(limits_.max_carry_forward_bytes) +
                          " (max_carry_forward_bytes); read the queue before continuing, or send less");
    }
    if (unread <= limits_.max_carry_forward) return;
    return exceed_limit("continue_as_new would carry " + std::to_string(unread) +
                        " unread queue messages, more than the limit of " + std::to_string(limits_.max_carry_forward) +
                        " (max_carry_forward); read the queue before continuing, or raise the limit");
  }
  const std::size_t events = next_id_ - 1;
  if (events > limits_.max_history_events) {
    return exceed_limit("the history has " + std::to_string(events) + " events, more than the limit of " +
                        std::to_string(limits_.max_history_events) +
                        " (max_history_events); use continue_as_new to begin a new one, or raise the limit");
  }
  if (unread > limits_.max_unread_messages) {
    exceed_limit("the queues contain " + std::to_string(unread) + " unread messages, more than the limit of " +
                 std::to_string(limits_.max_unread_messages) +
                 " (max_unread_messages); dequeue faster, send less, or raise the limit");
  }
}

// ---- applying an event ---------------------------------------------------------------------------------------------

void LiveInstance::apply(const Event& event) {
  current_event_ = event.id;
  sequence_ = 0;
  if (const auto* e = std::get_if<events::ActivityCompleted>(&event.body)) {
    settle(e->source, e->result, nullptr);
  } else if (const auto* failed = std::get_if<events::ActivityFailed>(&event.body)) {
    if (const auto slot = operations_.find(failed->source)) slot->attempts = failed->attempts.value_or(1);
    settle_failed(event, failed->source, failed->progress, failed->error);
  } else if (const auto* fired = std::get_if<events::TimerFired>(&event.body)) {
    settle(fired->source, std::nullopt, nullptr);
  } else if (const auto* child = std::get_if<events::SubOrchestrationCompleted>(&event.body)) {
    settle(child->source, child->result, nullptr);
  } else if (const auto* child_failed = std::get_if<events::SubOrchestrationFailed>(&event.body)) {
    settle_failed(event, child_failed->source, std::nullopt, child_failed->error);
  } else if (const auto* raised = std::get_if<events::ExternalEvent>(&event.body)) {
    raise(event.id, *raised);
  } else if (const auto* message = std::get_if<events::QueueEventDelivered>(&event.body)) {
    deliver(queues_.add_message(message->queue, {event.id, message->data}));
  } else if (const auto* start = std::get_if<events::OrchestrationStarted>(&event.body)) {
    begin(*start);
  }
  // OrchestrationCancelRequested is for the end of the turn: facts_ has it.
  run_ready();
}

void LiveInstance::begin(const events::OrchestrationStarted& start) {
  custom_status_ = start.initial_custom_status;
  count_given(start.input);
  const UserCode code(*this);
  try {
    root_ = (*handler_)(OrchestrationContext(*this), start.input);
    if (!root_) {
      return finish_with_error(ApplicationErrorKind::kMisuse,
                               "the function of orchestration '" + start.name +
                                   "' returned a perdure::Orchestration that it has moved from; return the other one");
    }
    root_.start(*this);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    finish_with_error(ApplicationErrorKind::kOrchestrationFailed,
                      "the input of orchestration '" + start.name + "' cannot be used: " + detail::text_of(error));
  } catch (...) {
    finish_with_error(ApplicationErrorKind::kPanicked, "orchestration panicked");
  }
}

// Whether no code waits for the operation any more: its future was dropped or detached, or the code has ended.
bool LiveInstance::given_up(EventId schedule_id) const {
  if (planted(PlantedFault::kGivenUpErrorEnds)) return false;
  const Slot* slot = operations_.find(schedule_id);
  if (inert() || !slot || slot->detached) return true;
  return std::any_of(adopted_.begin(), adopted_.end(),
                     [&](const SlotRef& loop) { return !loop->completion.done() && loop->schedule_id == schedule_id; });
}

// The code sees only application errors. Any other error ends the execution, unless the code dropped or detached the
// operation before: then nothing depends on it, and its outcome is only recorded.
void LiveInstance::settle_failed(const Event& event, EventId schedule_id, const Payload& payload,
                                 const ErrorDetails& error) {
  if (std::holds_alternative<ApplicationError>(error) || given_up(schedule_id))
    return settle(schedule_id, payload, &error);
  if (!replaying_) {
    ending().aborted = error;
    return;
  }
  diverge("the code still uses an operation that it had dropped when this was recorded",
          static_cast<std::size_t>(&event - recorded_.data()), summarize(event.body),
          "the future of event " + std::to_string(schedule_id) + " is neither dropped nor detached");
}

// An operation whose future was dropped has no slot any more; its outcome is history only.
void LiveInstance::settle(EventId schedule_id, const Payload& payload, const ErrorDetails* error) {
  const SlotRef slot = operations_.take(schedule_id);
  if (!slot) return;
  slot->payload = payload;
  count_given(payload);
  if (error) {
    given_bytes_ += std::visit([](const auto& any) { return any.message.size(); }, *error);
    slot->failed = true;
    slot->error = std::make_unique<ErrorDetails>(*error);
  }
  if (planted(PlantedFault::kFirstScheduledWins)) return slot->completion.complete({schedule_id, ++sequence_});
  slot->completion.complete(next_rank());
}

void LiveInstance::raise(EventId id, const events::ExternalEvent& event) {
  const SlotRef slot = inert() ? SlotRef() : waits_.take(event.name);
  if (!slot) {
    if (!replaying_) ignored_.push_back({"ExternalEvent '" + event.name + "'", IgnoreReason::kNobodyWaits, id});
    return;
  }
  operations_.take(slot->schedule_id);
  slot->payload = event.data;
  count_given(event.data);
  slot->completion.complete(next_rank());
}

void LiveInstance::run_ready() {
  while (true) {
    if (turn_failure_) std::rethrow_exception(std::exchange(turn_failure_, nullptr));
    if (inert()) return;
    detail::ReadyNode* node = ready_.pop();
    if (!node) return;
    {
      const UserCode code(*this);
      node->handle.resume();
    }
    if (root_.done()) finish();
  }
}

// After continue_as_new only a panic still counts.
void LiveInstance::finish() {
  if (failure()) return;
  const bool superseded = continued() != nullptr;
  const UserCode code(*this);
  try {
    Payload output = root_.output();
    if (superseded || !payload_fits("the output of the orchestration", output)) return;
    ending().finished = Finished{std::move(output)};
  } catch (const std::bad_alloc&) {
    throw;  // says nothing about the code: the turn is abandoned, and run again from the history
  } catch (const std::exception& error) {
    if (superseded) return;
    finish_with_error(ApplicationErrorKind::kOrchestrationFailed, detail::text_of(error));
  } catch (...) {
    finish_with_error(ApplicationErrorKind::kPanicked, "orchestration panicked");
  }
}

// A recorded end was cut at the limit of its time, so the text that is compared with it is as long as any limit allows.
void LiveInstance::finish_with_error(ApplicationErrorKind kind, std::string_view message) {
  const std::size_t limit = replaying_ ? kMaxErrorTextBytes : limits_.max_error_text_bytes();
  ending().finished = Finished{ApplicationError{kind, storable_error_text(message, limit), false}};
}

// ---- its end -------------------------------------------------------------------------------------------------------

const std::optional<ErrorDetails>& LiveInstance::failure() const noexcept {
  static const std::optional<ErrorDetails> kNone;
  return ending_ ? ending_->failure : kNone;
}

const ErrorDetails* LiveInstance::aborted() const noexcept {
  return ending_ && ending_->aborted ? &*ending_->aborted : nullptr;
}

const LiveInstance::Finished* LiveInstance::finished() const noexcept {
  return ending_ && ending_->finished ? &*ending_->finished : nullptr;
}

const LiveInstance::Continued* LiveInstance::continued() const noexcept {
  return ending_ && ending_->continued ? &*ending_->continued : nullptr;
}

const ApplicationError* LiveInstance::finished_with_error() const noexcept {
  return finished() ? std::get_if<ApplicationError>(&finished()->result) : nullptr;
}

LiveInstance::Ending& LiveInstance::ending() {
  if (!ending_) ending_ = std::make_unique<Ending>();
  return *ending_;
}

// ---- giving up -----------------------------------------------------------------------------------------------------

void LiveInstance::die(ErrorDetails error) {
  if (!failure()) ending().failure = std::move(error);
}

std::size_t LiveInstance::memory_bytes() const noexcept {
  const std::size_t slots = (operations_.size() + adopted_.size()) * (sizeof(Slot) + sizeof(SlotRef) + sizeof(EventId));
  const auto frames = static_cast<std::size_t>(std::max<std::ptrdiff_t>(frame_bytes_, 0));
  std::size_t values = custom_status_ ? custom_status_->size() : 0;
  for (const auto& [key, entry] : key_values_.entries()) values += sizeof(entry) + key.size() + entry.value.size();
  return sizeof(*this) + slots + frames + values + facts_.memory_bytes() + queues_.memory_bytes() + given_bytes_;
}

}  // namespace perdure
