// The sample values. tests/data/bodies.txt has their encoding: appending is fine, changing one changes that file.
#include "support/sample_model.h"

#include <string>
#include <utility>

namespace perdure::test_support {

namespace {

const Timestamp kNoon{Milliseconds(1700000000000)};
const Timestamp kBeforeEpoch{Milliseconds(-1)};
const std::string kBinary("\0\n:\xff", 4);
const std::string kJson = R"({"id":"o-1"})";
const ParentLink kParent{"parent-1", 2, 7, 18446744073709551615U};
const SemanticVersion kVersion{1, 10, 0};

std::vector<ErrorDetails> sample_errors() {
  return {
      InfrastructureError{"fetch_work_item", "disk full", true},
      ConfigurationError{ConfigurationErrorKind::kNondeterminism, "Order", "expected a timer"},
      ConfigurationError{ConfigurationErrorKind::kCorruptHistory, "order-1", ""},
      ConfigurationError{ConfigurationErrorKind::kIncompatibleVersion, "order-1", "0.9.0"},
      ApplicationError{ApplicationErrorKind::kActivityFailed, "card declined", true},
      ApplicationError{ApplicationErrorKind::kOrchestrationFailed, "", false},
      ApplicationError{ApplicationErrorKind::kPanicked, "int thrown", false},
      ApplicationError{ApplicationErrorKind::kCancelled, "too late", false},
      ApplicationError{ApplicationErrorKind::kTerminated, "by hand", false},
      ApplicationError{ApplicationErrorKind::kTimedOut, "no heartbeat", true},
      ApplicationError{ApplicationErrorKind::kLimitExceeded, "101 keys", false},
      ApplicationError{ApplicationErrorKind::kMisuse, "awaited twice", false},
      PoisonError{PoisonSubject::kOrchestration, "order-1", 2, "", 0, 11, 10, "start"},
      PoisonError{PoisonSubject::kActivity, "order-1", 2, "ChargeCard", 3, 11, 10, ""},
      PoisonError{PoisonSubject::kUndecodableHistory, "order-1", 1, "", 0, 11, 10, "event 7: bad"},
  };
}

std::vector<EventBody> orchestration_bodies() {
  return {
      events::OrchestrationStarted{
          "Order", kVersion, kJson, kParent, {{"q", "a"}, {"q", std::nullopt}, {"", ""}}, "waiting"},
      events::OrchestrationStarted{"Order", std::nullopt, std::nullopt, std::nullopt, {}, std::nullopt},
      events::OrchestrationStarted{"", kVersion, "", std::nullopt, {{"q", kBinary}}, ""},
      events::OrchestrationCompleted{kJson},
      events::OrchestrationCompleted{std::nullopt},
      events::OrchestrationContinuedAsNew{kBinary, kVersion},
      events::OrchestrationContinuedAsNew{std::nullopt, std::nullopt},
      events::OrchestrationCancelRequested{"too late"},
      events::SubOrchestrationScheduled{"Child", "order-1::sub::5", kJson, kVersion},
      events::SubOrchestrationCompleted{5, ""},
      events::SubOrchestrationFailed{5, ApplicationError{}},
      events::SubOrchestrationCancelRequested{5, CancelReason::kOrchestrationTerminal},
      events::OrchestrationChained{"Audit", "audit-1", std::nullopt, std::nullopt},
  };
}

std::vector<EventBody> operation_bodies() {
  return {
      events::ActivityScheduled{"ChargeCard", kJson, std::nullopt, std::nullopt, {}},
      events::ActivityScheduled{
          "ChargeCard", "", "session-1", "gpu", {Milliseconds(5000), Milliseconds(0), Milliseconds(300)}},
      events::ActivityCompleted{2, kBinary},
      events::ActivityCompleted{18446744073709551615U, std::nullopt},
      events::ActivityFailed{2, InfrastructureError{}},
      events::ActivityCancelRequested{2, CancelReason::kDroppedFuture},
      events::TimerCreated{kNoon},
      events::TimerFired{3, kBeforeEpoch},
      events::ExternalSubscribed{"approved"},
      events::ExternalEvent{"approved", "true"},
      events::ExternalSubscriptionCancelled{4, CancelReason::kOrchestrationTerminalCompleted},
      events::QueueSubscribed{"orders"},
      events::QueueEventDelivered{"orders", std::nullopt},
      events::QueueSubscriptionCancelled{6, CancelReason::kOrchestrationTerminalFailed},
      events::ActivityCancelRequested{2, CancelReason::kOrchestrationTerminalContinuedAsNew},
      events::CustomStatusUpdated{"packing"},
      events::CustomStatusUpdated{std::nullopt},
      events::KeyValueSet{"colour", "grün"},
      events::KeyValueCleared{"colour"},
      events::KeyValuesCleared{},
      events::ValueRecorded{RecordedValueKind::kGuid, "6f1c"},
      events::ValueRecorded{RecordedValueKind::kUtcNow, "1700000000000"},
      events::ValueRecorded{RecordedValueKind::kRandom, "42"},
  };
}

// With fields that the first histories do not have.
std::vector<EventBody> later_bodies() {
  return {
      events::ActivityScheduled{"ChargeCard", kJson, "session-1", std::nullopt, {}, kBinary},
      events::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kTimedOut, "no heartbeat", true}, kJson},
      events::ActivityScheduled{
          "ChargeCard", kJson, std::nullopt, std::nullopt, {}, std::nullopt, EarlierAttempts{2, 3}},
      events::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kActivityFailed, "no", true}, std::nullopt, 3},
  };
}

}  // namespace

std::vector<Event> sample_events() {
  std::vector<EventBody> bodies = orchestration_bodies();
  for (EventBody& body : operation_bodies()) bodies.push_back(std::move(body));
  for (ErrorDetails& error : sample_errors()) bodies.emplace_back(events::OrchestrationFailed{std::move(error)});
  for (EventBody& body : later_bodies()) bodies.push_back(std::move(body));
  std::vector<Event> events;
  events.reserve(bodies.size());
  for (EventBody& body : bodies) {
    events.push_back(Event{events.size() + 1, 1, kNoon, SemanticVersion{0, 1, 0}, std::move(body)});
  }
  return events;
}

std::vector<MessageBody> sample_messages() {
  return {
      messages::StartOrchestration{"Order", kVersion, kJson, kParent},
      messages::StartOrchestration{"Order", std::nullopt, std::nullopt, std::nullopt},
      messages::ContinueAsNew{"Order", kVersion, "", kParent, {{"q", "a"}, {"p", std::nullopt}}, "waiting"},
      messages::ContinueAsNew{"Order", std::nullopt, std::nullopt, std::nullopt, {}, std::nullopt},
      messages::ActivityCompleted{2, kJson},
      messages::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kActivityFailed, "card declined", true}},
      messages::TimerFired{3, kNoon},
      messages::ExternalRaised{"approved", kBinary},
      messages::QueueMessage{"orders", ""},
      messages::SubOrchestrationCompleted{5, std::nullopt},
      messages::SubOrchestrationFailed{5, PoisonError{}},
      messages::CancelInstance{"too late"},
      messages::CancelInstance{"parent completed", kParent},
      messages::TerminateInstance{""},
      messages::ExecuteActivity{
          2, "ChargeCard", kJson, "session-1", "gpu", {Milliseconds(5000), {}, {}}, "Order", kVersion},
      messages::ExecuteActivity{2, "ChargeCard", std::nullopt, std::nullopt, std::nullopt, {}, "Order", std::nullopt},
      messages::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kTimedOut, "no heartbeat", true}, kJson},
      messages::ExecuteActivity{2, "ChargeCard", kJson, std::nullopt, std::nullopt, {}, "Order", std::nullopt, kBinary},
      messages::ActivityFailed{2, ApplicationError{ApplicationErrorKind::kActivityFailed, "no", true}, std::nullopt, 3},
      messages::ExecuteActivity{6,
                                "ChargeCard",
                                kJson,
                                std::nullopt,
                                std::nullopt,
                                {},
                                "Order",
                                std::nullopt,
                                std::nullopt,
                                EarlierAttempts{2, 3},
                                18446744073709551615U},
  };
}

}  // namespace perdure::test_support
