// Turn after turn of a random instance.
#include "support/random_life.h"

#include <algorithm>
#include <utility>

#include "model/event_codec.h"
#include "model/history_text.h"

namespace perdure::test {

namespace {

constexpr std::size_t kRandomTurns = 18;
constexpr std::size_t kMostTurns = 120;
constexpr SemanticVersion kVersion{1, 0, 0};

// Why an execution that the engine ended must not have been ended, if the world gave no reason for it.
Broken unexpected_end(const TurnOutcome& outcome) {
  if (!outcome.error) return std::nullopt;
  if (const auto* error = std::get_if<ApplicationError>(&*outcome.error)) {
    // ChannelRules knows whether more was unread than may be carried.
    const bool carries_too_much = error->kind == ApplicationErrorKind::kLimitExceeded &&
                                  error->message.find("max_carry_forward") != std::string::npos;
    const bool expected =
        error->kind != ApplicationErrorKind::kMisuse && error->kind != ApplicationErrorKind::kLimitExceeded;
    return expected || carries_too_much ? Broken() : "the execution was ended: " + error->message;
  }
  if (describe(*outcome.error).find(kOfGivenUp) != std::string::npos) {
    return "an operation that the code had dropped ended the execution: " + describe(*outcome.error);
  }
  const auto* error = std::get_if<ConfigurationError>(&*outcome.error);
  if (!error || error->message.find("id=100000") != std::string::npos) return std::nullopt;
  return "the execution was ended: " + error->message;
}

// Messages have about twelve bytes each, so that some programs must not continue as new with what they have not read.
Limits random_limits(Dice dice) {
  Limits limits;
  if (dice.chance(30)) limits.max_carry_forward_bytes = dice.below(100);
  if (dice.chance(10)) limits.max_carry_forward = dice.below(4);
  return limits;
}

}  // namespace

Witness::Witness(const std::shared_ptr<const Block>& program, ExecutionId execution, const KeyValueSnapshot& key_values,
                 const Limits& limits)
    : instance({kInstance, execution, kVersion}, program_handler(program, seen), key_values, limits) {}

KeyValueSnapshot key_values_after(const LivedExecution& execution) {
  KeyValueSnapshot values = execution.key_values;
  for (const Event& event : execution.history) {
    if (const auto* set = std::get_if<events::KeyValueSet>(&event.body)) values[set->key] = {set->value, event.time};
    if (const auto* cleared = std::get_if<events::KeyValueCleared>(&event.body)) values.erase(cleared->key);
    if (std::holds_alternative<events::KeyValuesCleared>(event.body)) values.clear();
  }
  return values;
}

RandomLife::RandomLife(std::uint64_t seed, Memory memory)
    : memory_(memory),
      limits_(random_limits(Dice(seed ^ 0xCA44))),
      outside_(seed * 2 + 1),
      fate_(seed),
      program_(std::make_shared<const Block>(random_program(seed * 2))) {}

std::unique_ptr<Witness> RandomLife::witness(const LivedExecution& execution) const {
  return std::make_unique<Witness>(program_, execution.id, execution.key_values, limits_);
}

std::string RandomLife::text() const {
  std::string text;
  for (const LivedExecution& execution : executions_) text += write_history_text(execution.history);
  return text;
}

Broken RandomLife::live() {
  std::vector<Message> batch = outside_.first_batch();
  KeyValueSnapshot key_values;
  for (ExecutionId id = kFirstExecutionId;; ++id) {
    executions_.push_back({id, std::move(key_values), {}, {}});
    LivedExecution& execution = executions_.back();
    if (auto broken = live_execution(std::move(batch), execution)) return broken;
    const TurnOutcome& last = execution.turns.back().outcome;
    if (last.status != ExecutionStatus::kContinuedAsNew) return std::nullopt;
    const auto next = std::find_if(last.messages.begin(), last.messages.end(), [](const Message& message) {
      return std::holds_alternative<messages::ContinueAsNew>(message.body);
    });
    batch = outside_.batch_around(*next, id + 1);
    key_values = key_values_after(execution);
  }
}

Broken RandomLife::live_execution(std::vector<Message> batch, LivedExecution& execution) {
  turn_rules_ = {};
  channel_rules_ = ChannelRules(limits_);
  kept_ = witness(execution);
  for (std::size_t turn = 1; turn <= kMostTurns; ++turn) {
    if (auto broken = take_turn(std::move(batch), execution)) {
      return "execution " + std::to_string(execution.id) + ", turn " + std::to_string(turn) + ": " + *broken;
    }
    if (execution.turns.back().outcome.status != ExecutionStatus::kRunning) return check_after_the_end(execution);
    batch = turn < kRandomTurns ? outside_.batch(execution.id) : outside_.answer_everything(execution.id);
  }
  return "execution " + std::to_string(execution.id) + " does not end although everything is answered";
}

Broken RandomLife::take_turn(std::vector<Message> batch, LivedExecution& execution) {
  now_ += Milliseconds(static_cast<std::int64_t>(outside_.dice().below(3'000)));
  LivedTurn turn;
  turn.request = {now_, {outside_.dice().next(), outside_.dice().next()}, std::move(batch), nullptr};
  turn.events_before = execution.history.size();
  std::unique_ptr<Witness> rebuilt;
  if (memory_ == Memory::kDoubted) {
    rebuilt = witness(execution);
    rebuilt->instance.replay(execution.history);
    if (rebuilt->instance.failure()) return "it cannot be rebuilt: " + describe(*rebuilt->instance.failure());
    if (rebuilt->seen != kept_->seen) return "a rebuilt instance saw something else";
    if (fate_.chance(15)) kept_ = std::exchange(rebuilt, nullptr);  // the kept one is lost
  }
  turn.outcome = kept_->instance.run_turn(turn.request);
  if (rebuilt) {
    const auto differs = difference(turn.outcome, rebuilt->instance.run_turn(turn.request));
    if (differs) return "kept and rebuilt instance differ: " + *differs;
    if (rebuilt->seen != kept_->seen) return "kept and rebuilt instance saw different things";
  }
  for (const Event& event : turn.outcome.events) execution.history.push_back(decode_event(encode_event(event)));
  outside_.took(turn.outcome, execution.id);
  execution.turns.push_back(turn);
  if (auto broken = unexpected_end(turn.outcome)) return broken;
  if (auto broken = turn_rules_.check(turn.request, turn.outcome, outside_.has_parent())) return broken;
  if (auto broken = channel_rules_.check(turn.outcome, kept_->seen)) return broken;
  return std::nullopt;
}

Broken RandomLife::check_after_the_end(LivedExecution& execution) {
  if (auto broken = check_selections(execution.history, kept_->seen)) return broken;
  TurnRequest request;
  request.now = now_;
  request.messages = {{kInstance, execution.id, std::nullopt, messages::ActivityCompleted{2, std::nullopt}},
                      {kInstance, std::nullopt, std::nullopt, messages::QueueMessage{"queue0", std::nullopt}},
                      {kInstance, std::nullopt, std::nullopt, messages::CancelInstance{"too late"}}};
  const TurnOutcome outcome = kept_->instance.run_turn(request);
  const bool nothing = outcome.events.empty() && outcome.messages.empty() && outcome.activities.empty() &&
                       outcome.cancelled_activities.empty() && outcome.ignored.size() == request.messages.size();
  if (!nothing) return "a turn after the end has an effect";
  return std::nullopt;
}

}  // namespace perdure::test
