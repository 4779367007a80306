// How the random world answers.
#include "support/random_outside.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "support/random_program.h"

namespace perdure::test {

RandomOutside::RandomOutside(std::uint64_t seed)
    : dice_(seed), has_parent_(dice_.chance(30)), peaceful_(dice_.chance(70)) {}

std::string RandomOutside::unique(const char* prefix) {
  std::string text = "\"";
  text += prefix;
  text += std::to_string(++count_);
  return text += '"';
}

// ---- batches ------------------------------------------------------------------------------------------------------

std::vector<Message> RandomOutside::first_batch() {
  return batch_around(start(), kFirstExecutionId);
}

std::vector<Message> RandomOutside::batch_around(const Message& start, ExecutionId execution) {
  std::vector<Message> messages;
  if (dice_.chance(50)) messages = batch(execution);
  const auto place = dice_.below(messages.size() + 1);
  messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(place), start);
  return messages;
}

std::vector<Message> RandomOutside::batch(ExecutionId execution) {
  std::vector<Message> messages;
  const std::size_t size = dice_.chance(40) ? 1 : dice_.between(1, 8);
  while (messages.size() < size) messages.push_back(any_message(execution));
  return messages;
}

std::vector<Message> RandomOutside::answer_everything(ExecutionId execution) {
  std::vector<Message> messages;
  for (const Open& open : open_) {
    if (open.execution == execution) messages.push_back(succeed(open));
  }
  open_.clear();
  for (std::size_t name = 0; name < kNames; ++name) {
    messages.push_back(event(name));
    messages.push_back(queue_message(name));
  }
  return messages;
}

Message RandomOutside::any_message(ExecutionId execution) {
  const std::size_t face = dice_.below(100);
  if (face < 62 && !open_.empty()) {
    const std::size_t index = dice_.below(open_.size());
    const Open open = open_[index];
    if (!dice_.chance(15)) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));  // else it comes again
    return answer(open);
  }
  if (face < 79) return event(dice_.below(kNames));
  if (face < 96) return queue_message(dice_.below(kNames));
  return disturbance(execution);
}

Message RandomOutside::disturbance(ExecutionId execution) {
  const std::size_t face = dice_.below(peaceful_ ? 5 : 9);
  switch (face) {
    case 0:
      return {kInstance, execution + 7, std::nullopt, messages::ActivityCompleted{2, unique("foreign")}};
    case 1:
      return {kInstance, std::nullopt, std::nullopt, messages::TimerFired{3, Timestamp{}}};
    case 2:
      return start();
    case 3:
      return {
          kInstance, execution, std::nullopt,
          messages::ExecuteActivity{2, "Stray", std::nullopt, std::nullopt, std::nullopt, {}, "Random", std::nullopt}};
    case 4:
      return {kInstance, execution + 1, std::nullopt, messages::SubOrchestrationCompleted{2, unique("foreign")}};
    case 5:
    case 6:
      return {kInstance, std::nullopt, std::nullopt, messages::CancelInstance{"cancelled " + std::to_string(++count_)}};
    case 7:
      return {kInstance, std::nullopt, std::nullopt, messages::TerminateInstance{"terminated"}};
    default:
      return {kInstance, execution, std::nullopt, messages::ActivityCompleted{100'000, unique("unscheduled")}};
  }
}

// ---- messages -----------------------------------------------------------------------------------------------------

Message RandomOutside::start() {
  std::optional<ParentLink> parent;
  if (has_parent_) parent = ParentLink{"the parent", 4, 17};
  return {kInstance, std::nullopt, std::nullopt,
          messages::StartOrchestration{"Random", std::nullopt, unique("input"), parent}};
}

Message RandomOutside::event(std::size_t name) {
  return {kInstance, std::nullopt, std::nullopt, messages::ExternalRaised{event_name(name), unique("e")}};
}

Message RandomOutside::queue_message(std::size_t name) {
  return {kInstance, std::nullopt, std::nullopt, messages::QueueMessage{queue_name(name), unique("q")}};
}

Message RandomOutside::answer(const Open& open) {
  return open.what == What::kTimer || dice_.chance(70) ? succeed(open) : fail(open);
}

Message RandomOutside::succeed(const Open& open) {
  Message message{kInstance, open.execution, std::nullopt, {}};
  switch (open.what) {
    case What::kActivity:
      message.body = messages::ActivityCompleted{open.id, unique("r")};
      break;
    case What::kTimer:
      message.body = messages::TimerFired{open.id, Timestamp{}};
      break;
    case What::kChild:
      message.body = messages::SubOrchestrationCompleted{open.id, unique("c")};
      break;
  }
  return message;
}

// Failures that the code sees, values that it cannot read, and rarely an error that is not for the code at all.
Message RandomOutside::fail(const Open& open) {
  Message message{kInstance, open.execution, std::nullopt, {}};
  if (open.what == What::kActivity && dice_.chance(15)) {
    message.body = messages::ActivityCompleted{open.id, dice_.chance(50) ? Payload("{") : std::nullopt};
    return message;
  }
  ErrorDetails error = ApplicationError{
      open.what == What::kChild ? ApplicationErrorKind::kOrchestrationFailed : ApplicationErrorKind::kActivityFailed,
      unique("failure"), dice_.chance(70)};
  if (dropped_.contains({open.execution, open.id})) {
    if (dice_.chance(70)) error = error_for_nobody();
  } else if (!peaceful_ && dice_.chance(5)) {
    error = InfrastructureError{"test", unique("infrastructure"), false};
  }
  if (open.what == What::kChild) {
    message.body = messages::SubOrchestrationFailed{open.id, std::move(error)};
  } else {
    message.body = messages::ActivityFailed{open.id, std::move(error)};
  }
  return message;
}

// It is only recorded: whatever it is, the code does not depend on it any more.
ErrorDetails RandomOutside::error_for_nobody() {
  switch (dice_.below(3)) {
    case 0:
      return PoisonError{PoisonSubject::kActivity, kInstance, 1, kOfGivenUp, 2, 11, 10, "Activity"};
    case 1:
      return ConfigurationError{ConfigurationErrorKind::kNondeterminism, "Child", kOfGivenUp};
    default:
      return InfrastructureError{"test", kOfGivenUp, false};
  }
}

// ---- memory -------------------------------------------------------------------------------------------------------

void RandomOutside::took(const TurnOutcome& outcome, ExecutionId execution) {
  for (const Message& message : outcome.activities) {
    open_.push_back({What::kActivity, execution, std::get<messages::ExecuteActivity>(message.body).schedule_id});
  }
  for (const Message& message : outcome.messages) {
    if (const auto* timer = std::get_if<messages::TimerFired>(&message.body)) {
      open_.push_back({What::kTimer, execution, timer->schedule_id});
    } else if (const auto* start = std::get_if<messages::StartOrchestration>(&message.body); start && start->parent) {
      open_.push_back({What::kChild, execution, start->parent->schedule_id});
    }
  }
  for (const Event& event : outcome.events) {
    std::visit(
        [&](const auto& body) {
          if constexpr (requires { body.source, body.reason; }) {
            if (body.reason == CancelReason::kDroppedFuture) dropped_.emplace(execution, body.source);
          }
        },
        event.body);
  }
  forget_some(execution, outcome.cancelled_activities);
}

// A cancelled activity may still answer: the worker that runs it learns of it too late.
void RandomOutside::forget_some(ExecutionId execution, const std::vector<EventId>& cancelled) {
  for (const EventId id : cancelled) {
    if (dice_.chance(50)) continue;
    std::erase_if(open_, [&](const Open& open) {
      return open.what == What::kActivity && open.execution == execution && open.id == id;
    });
  }
}

}  // namespace perdure::test
