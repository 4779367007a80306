// Random events and messages, kind by kind.
#include "support/random_model.h"

#include <array>
#include <string_view>
#include <variant>

namespace perdure::test_support {

namespace {

// Puts a random value into every member of an event or message.
struct FillMembers {
  RandomModel& random;

  void all(auto&... members) const { (random.fill(members), ...); }

  void operator()(events::OrchestrationStarted& e) const {
    all(e.name, e.version, e.input, e.parent, e.carry_forward, e.initial_custom_status);
  }
  void operator()(events::OrchestrationCompleted& e) const { all(e.output); }
  void operator()(events::OrchestrationFailed& e) const { all(e.error); }
  void operator()(events::OrchestrationContinuedAsNew& e) const { all(e.input, e.version); }
  void operator()(events::OrchestrationCancelRequested& e) const { all(e.reason); }
  void operator()(events::ActivityScheduled& e) const {
    all(e.name, e.input, e.session_id, e.tag, e.timeouts, e.progress, e.earlier);
  }
  void operator()(events::ActivityCompleted& e) const { all(e.source, e.result); }
  void operator()(events::ActivityFailed& e) const { all(e.source, e.error, e.progress, e.attempts); }
  void operator()(events::ActivityCancelRequested& e) const { all(e.source, e.reason); }
  void operator()(events::TimerCreated& e) const { all(e.fire_at); }
  void operator()(events::TimerFired& e) const { all(e.source, e.fire_at); }
  void operator()(events::ExternalSubscribed& e) const { all(e.name); }
  void operator()(events::ExternalEvent& e) const { all(e.name, e.data); }
  void operator()(events::ExternalSubscriptionCancelled& e) const { all(e.source, e.reason); }
  void operator()(events::QueueSubscribed& e) const { all(e.queue); }
  void operator()(events::QueueEventDelivered& e) const { all(e.queue, e.data); }
  void operator()(events::QueueSubscriptionCancelled& e) const { all(e.source, e.reason); }
  void operator()(events::SubOrchestrationScheduled& e) const { all(e.name, e.instance, e.input, e.version); }
  void operator()(events::SubOrchestrationCompleted& e) const { all(e.source, e.result); }
  void operator()(events::SubOrchestrationFailed& e) const { all(e.source, e.error); }
  void operator()(events::SubOrchestrationCancelRequested& e) const { all(e.source, e.reason); }
  void operator()(events::OrchestrationChained& e) const { all(e.name, e.instance, e.input, e.version); }
  void operator()(events::CustomStatusUpdated& e) const { all(e.status); }
  void operator()(events::KeyValueSet& e) const { all(e.key, e.value); }
  void operator()(events::KeyValueCleared& e) const { all(e.key); }
  void operator()(events::KeyValuesCleared&) const {}
  void operator()(events::ValueRecorded& e) const { all(e.kind, e.value); }

  void operator()(messages::StartOrchestration& m) const { all(m.name, m.version, m.input, m.parent); }
  void operator()(messages::ContinueAsNew& m) const {
    all(m.name, m.version, m.input, m.parent, m.carry_forward, m.initial_custom_status);
  }
  void operator()(messages::ActivityCompleted& m) const { all(m.schedule_id, m.result); }
  void operator()(messages::ActivityFailed& m) const { all(m.schedule_id, m.error, m.progress, m.attempts); }
  void operator()(messages::TimerFired& m) const { all(m.schedule_id, m.fire_at); }
  void operator()(messages::ExternalRaised& m) const { all(m.name, m.data); }
  void operator()(messages::QueueMessage& m) const { all(m.queue, m.data); }
  void operator()(messages::SubOrchestrationCompleted& m) const { all(m.schedule_id, m.result, m.parent_incarnation); }
  void operator()(messages::SubOrchestrationFailed& m) const { all(m.schedule_id, m.error, m.parent_incarnation); }
  void operator()(messages::CancelInstance& m) const { all(m.reason, m.parent); }
  void operator()(messages::TerminateInstance& m) const { all(m.reason); }
  void operator()(messages::ExecuteActivity& m) const {
    all(m.schedule_id, m.name, m.input, m.session_id, m.tag, m.timeouts, m.orchestration_name, m.orchestration_version,
        m.progress, m.earlier, m.incarnation);
  }
};

template <class Variant, std::size_t Index = 0>
Variant alternative(std::size_t index) {
  if constexpr (Index + 1 < std::variant_size_v<Variant>) {
    if (index != Index) return alternative<Variant, Index + 1>(index);
  }
  return Variant(std::in_place_index<Index>);
}

}  // namespace

std::string RandomModel::text() {
  static constexpr std::array<std::string_view, 8> kPieces = {"a",           "Order-1",   "\n", ":",
                                                              "input:3:x\n", "{\"k\":1}", "ü€", "\\\""};
  std::string text;
  switch (below(4)) {
    case 0:
      break;
    case 1:
      for (std::uint64_t pieces = below(6); pieces > 0; --pieces) text += kPieces[below(kPieces.size())];
      break;
    case 2:
      for (std::uint64_t bytes = below(40); bytes > 0; --bytes) text += static_cast<char>(below(256));
      break;
    default:
      text.assign(below(2000), static_cast<char>('a' + below(26)));
  }
  return text;
}

std::uint64_t RandomModel::number() {
  switch (below(4)) {
    case 0:
      return below(10);
    case 1:
      return engine_() >> below(64);
    case 2:
      return ~std::uint64_t{0} - below(2);  // also -1 and -2
    default:
      return (std::uint64_t{1} << below(64)) - below(2);  // both sides of every power of two
  }
}

void RandomModel::fill(SemanticVersion& value) {
  fill(value.major);
  fill(value.minor);
  fill(value.patch);
}

void RandomModel::fill(ParentLink& value) {
  fill(value.instance);
  fill(value.execution_id);
  fill(value.schedule_id);
  fill(value.incarnation);
}

void RandomModel::fill(CarriedMessage& value) {
  fill(value.queue);
  fill(value.data);
}

void RandomModel::fill(ActivityTimeouts& value) {
  fill(value.start_to_close);
  fill(value.schedule_to_start);
  fill(value.heartbeat);
}

void RandomModel::fill(EarlierAttempts& value) {
  fill(value.first);
  fill(value.count);
}

void RandomModel::fill(ErrorDetails& value) {
  switch (below(4)) {
    case 0:
      value = InfrastructureError{text(), text(), coin()};
      break;
    case 1:
      value = ConfigurationError{static_cast<ConfigurationErrorKind>(below(3)), text(), text()};
      break;
    case 2:
      value = ApplicationError{static_cast<ApplicationErrorKind>(below(8)), text(), coin()};
      break;
    default: {
      PoisonError poison;
      poison.subject = static_cast<PoisonSubject>(below(3));
      fill(poison.instance);
      fill(poison.execution_id);
      fill(poison.activity_name);
      fill(poison.activity_id);
      fill(poison.attempts);
      fill(poison.max_attempts);
      fill(poison.message);
      value = std::move(poison);
    }
  }
}

EventBody RandomModel::event_body(std::size_t index) {
  auto body = alternative<EventBody>(index);
  std::visit(FillMembers{*this}, body);
  return body;
}

MessageBody RandomModel::message_body(std::size_t index) {
  auto body = alternative<MessageBody>(index);
  std::visit(FillMembers{*this}, body);
  return body;
}

EventBody RandomModel::event_body() {
  return event_body(below(std::variant_size_v<EventBody>));
}

MessageBody RandomModel::message_body() {
  return message_body(below(std::variant_size_v<MessageBody>));
}

Event RandomModel::event() {
  Event event;
  fill(event.id);
  fill(event.turn);
  fill(event.time);
  fill(event.engine_version);
  event.body = event_body();
  return event;
}

}  // namespace perdure::test_support
