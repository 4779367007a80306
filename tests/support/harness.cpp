#include "support/harness.h"

#include <gtest/gtest.h>

#include "model/event_codec.h"

namespace perdure::test {

namespace {

std::vector<Event> through_the_codec(const std::vector<Event>& events) {
  std::vector<EventRecord> records;
  for (const Event& event : events) records.push_back(encode_event(event));
  return decode_history(records);
}

void expect_same(const TurnOutcome& kept, const TurnOutcome& rebuilt) {
  EXPECT_EQ(to_string(kept.status), to_string(rebuilt.status)) << "kept and rebuilt instance differ";
  EXPECT_EQ(lines_of(kept.events), lines_of(rebuilt.events)) << "kept and rebuilt instance differ";
  EXPECT_TRUE(kept.events == rebuilt.events) << "kept and rebuilt instance differ";
  EXPECT_TRUE(kept.messages == rebuilt.messages) << "kept and rebuilt instance differ";
  EXPECT_TRUE(kept.activities == rebuilt.activities) << "kept and rebuilt instance differ";
  EXPECT_EQ(kept.cancelled_activities, rebuilt.cancelled_activities) << "kept and rebuilt instance differ";
  EXPECT_TRUE(kept.ignored == rebuilt.ignored) << "kept and rebuilt instance differ";
  EXPECT_TRUE(kept.output == rebuilt.output && kept.error == rebuilt.error) << "kept and rebuilt instance differ";
}

}  // namespace

std::unique_ptr<LiveInstance> Harness::rebuild() const {
  auto rebuilt = std::make_unique<LiveInstance>(
      ExecutionIdentity{instance, execution, SemanticVersion{1, 0, 0}, incarnation}, handler_, key_values, limits);
  rebuilt->replay(through_the_codec(history));
  return rebuilt;
}

std::optional<ErrorDetails> Harness::replay_failure() const {
  return rebuild()->failure();
}

TurnRequest Harness::request(const std::vector<Message>& messages) const {
  TurnRequest request;
  request.now = now;
  request.entropy = {0x1234'5678'9abc'def0ULL + history.size(), 42};
  request.messages = messages;
  return request;
}

TurnOutcome Harness::start(Payload input, std::vector<MessageBody> behind) {
  std::vector<MessageBody> bodies{messages::StartOrchestration{"Test", std::nullopt, std::move(input), parent}};
  bodies.insert(bodies.end(), behind.begin(), behind.end());
  return turn(std::move(bodies));
}

TurnOutcome Harness::turn(std::vector<MessageBody> bodies) {
  std::vector<Message> messages;
  for (auto& body : bodies) messages.push_back({instance, execution, std::nullopt, std::move(body)});
  return turn_with(std::move(messages));
}

TurnOutcome Harness::turn_with(std::vector<Message> messages) {
  std::optional<TurnOutcome> rebuilt_outcome;
  TurnRequest turn_request = request(messages);
  if (also_rebuild) rebuilt_outcome = rebuild()->run_turn(turn_request);
  if (!kept_) kept_ = rebuild();
  CollectedTraces collected;
  turn_request.traces = &collected;
  TurnOutcome outcome = kept_->run_turn(turn_request);
  traces = std::move(collected.lines);
  if (rebuilt_outcome) expect_same(outcome, *rebuilt_outcome);
  history.insert(history.end(), outcome.events.begin(), outcome.events.end());
  now += Milliseconds(1'000);
  return outcome;
}

std::vector<std::string> Harness::lines() const {
  return lines_of(history);
}

MessageBody completed(EventId id, Payload result) {
  return messages::ActivityCompleted{id, std::move(result)};
}
MessageBody failed(EventId id, std::string message, bool retryable) {
  return messages::ActivityFailed{
      id, ApplicationError{ApplicationErrorKind::kActivityFailed, std::move(message), retryable}};
}
MessageBody failed_with(EventId id, ErrorDetails error) {
  return messages::ActivityFailed{id, std::move(error)};
}
MessageBody fired(EventId id) {
  return messages::TimerFired{id, Timestamp{}};
}
MessageBody raised(std::string name, Payload data) {
  return messages::ExternalRaised{std::move(name), std::move(data)};
}
MessageBody queued(std::string queue, Payload data) {
  return messages::QueueMessage{std::move(queue), std::move(data)};
}
MessageBody child_completed(EventId id, Payload result) {
  return messages::SubOrchestrationCompleted{id, std::move(result)};
}
MessageBody child_failed(EventId id, ErrorDetails error) {
  return messages::SubOrchestrationFailed{id, std::move(error)};
}
MessageBody cancel(std::string reason) {
  return messages::CancelInstance{std::move(reason)};
}
MessageBody terminate(std::string reason) {
  return messages::TerminateInstance{std::move(reason)};
}

std::vector<std::string> lines_of(const std::vector<Event>& events) {
  std::vector<std::string> lines;
  for (const Event& event : events) lines.push_back(std::to_string(event.id) + " " + summarize(event.body));
  return lines;
}

std::vector<std::string> lines_of(const std::vector<Message>& messages) {
  std::vector<std::string> lines;
  for (const Message& message : messages) {
    lines.push_back("to " + message.instance + ": " + std::string(kind_name(message.body)));
  }
  return lines;
}

ApplicationError application_error(ApplicationErrorKind kind, std::string message) {
  return {kind, std::move(message), false};
}

std::string divergence_of(const std::optional<ErrorDetails>& error) {
  if (!error) return "no error at all";
  const auto* configuration = std::get_if<ConfigurationError>(&*error);
  if (!configuration || configuration->kind != ConfigurationErrorKind::kNondeterminism) {
    return "another error: " + describe(*error);
  }
  return configuration->message;
}

}  // namespace perdure::test
