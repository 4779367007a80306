// The events of an execution's history: closed, immutable, in the order in which the engine lives through them.
//
//   input       came from outside the code: start, completions, timers, external events, cancel requests
//   decision    the code asked for something; also called an action before it has an id
//   breadcrumb  an operation's future was dropped, or the execution ended around it
//   terminal    the execution is over
//
// Events of one turn are stored as: inputs in message order, decisions in order of emission, breadcrumbs of dropped
// futures by ascending schedule id, then, in the last turn, breadcrumbs of open subscriptions, the terminal event, and
// breadcrumbs of activities still in flight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <perdure/error_details.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

// Names the instance and the event that scheduled a child. The child keeps the link for life, its outcome carries the
// link back, and a cancel from its parent carries it too. A message between the two counts only if the links are equal.
// An instance id alone proves nothing, because an instance can be deleted and started again.
struct ParentLink {
  std::string instance;
  ExecutionId execution_id = kFirstExecutionId;
  EventId schedule_id = 0;
  std::uint64_t incarnation = 0;  // of the parent: the id of the commit that created it
  bool operator==(const ParentLink&) const = default;
};

// A queue message that an execution did not read and hands to its successor.
struct CarriedMessage {
  std::string queue;
  Payload data;
  bool operator==(const CarriedMessage&) const = default;
};

// Limits that the worker side enforces on one attempt of an activity. Absent: no limit.
struct ActivityTimeouts {
  std::optional<Milliseconds> start_to_close;
  std::optional<Milliseconds> schedule_to_start;
  std::optional<Milliseconds> heartbeat;
  bool operator==(const ActivityTimeouts&) const = default;
};

// The attempts before an attempt of a RetryPolicy. Each attempt is an activity with a schedule id of its own.
struct EarlierAttempts {
  EventId first = 0;        // schedule id of the policy's first attempt
  std::uint32_t count = 0;  // number of earlier attempts, including fetches after a crash
  bool operator==(const EarlierAttempts&) const = default;
};

enum class CancelReason : std::uint8_t {
  kDroppedFuture,
  kOrchestrationTerminal,
  kOrchestrationTerminalCompleted,
  kOrchestrationTerminalFailed,
  kOrchestrationTerminalContinuedAsNew,
};

enum class RecordedValueKind : std::uint8_t { kGuid, kUtcNow, kRandom };

namespace events {

struct OrchestrationStarted {
  std::string name;
  std::optional<SemanticVersion> version;  // absent only where no handler was ever found
  Payload input;
  std::optional<ParentLink> parent;
  std::vector<CarriedMessage> carry_forward;
  std::optional<std::string> initial_custom_status;
  bool operator==(const OrchestrationStarted&) const = default;
};
struct OrchestrationCompleted {
  Payload output;
  bool operator==(const OrchestrationCompleted&) const = default;
};
struct OrchestrationFailed {
  ErrorDetails error;
  bool operator==(const OrchestrationFailed&) const = default;
};
struct OrchestrationContinuedAsNew {
  Payload input;
  std::optional<SemanticVersion> version;
  bool operator==(const OrchestrationContinuedAsNew&) const = default;
};
struct OrchestrationCancelRequested {
  std::string reason;
  bool operator==(const OrchestrationCancelRequested&) const = default;
};

struct ActivityScheduled {
  std::string name;
  Payload input;
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  ActivityTimeouts timeouts;
  Payload progress = std::nullopt;                        // a retry: what the failed attempt's last heartbeat left
  std::optional<EarlierAttempts> earlier = std::nullopt;  // a retry only
  bool operator==(const ActivityScheduled&) const = default;
};
struct ActivityCompleted {
  EventId source = 0;
  Payload result;
  bool operator==(const ActivityCompleted&) const = default;
};
struct ActivityFailed {
  EventId source = 0;
  ErrorDetails error;
  Payload progress = std::nullopt;                       // what its last heartbeat left
  std::optional<std::uint32_t> attempts = std::nullopt;  // fetches of this activity; absent: one
  bool operator==(const ActivityFailed&) const = default;
};
struct ActivityCancelRequested {
  EventId source = 0;
  CancelReason reason = CancelReason::kDroppedFuture;
  bool operator==(const ActivityCancelRequested&) const = default;
};

struct TimerCreated {
  Timestamp fire_at;
  bool operator==(const TimerCreated&) const = default;
};
struct TimerFired {
  EventId source = 0;
  Timestamp fire_at;
  bool operator==(const TimerFired&) const = default;
};

struct ExternalSubscribed {
  std::string name;
  bool operator==(const ExternalSubscribed&) const = default;
};
struct ExternalEvent {
  std::string name;
  Payload data;
  bool operator==(const ExternalEvent&) const = default;
};
struct ExternalSubscriptionCancelled {
  EventId source = 0;
  CancelReason reason = CancelReason::kDroppedFuture;
  bool operator==(const ExternalSubscriptionCancelled&) const = default;
};

struct QueueSubscribed {
  std::string queue;
  bool operator==(const QueueSubscribed&) const = default;
};
struct QueueEventDelivered {
  std::string queue;
  Payload data;
  bool operator==(const QueueEventDelivered&) const = default;
};
struct QueueSubscriptionCancelled {
  EventId source = 0;
  CancelReason reason = CancelReason::kDroppedFuture;
  bool operator==(const QueueSubscriptionCancelled&) const = default;
};

struct SubOrchestrationScheduled {
  std::string name;
  std::string instance;  // the child's full instance id
  Payload input;
  std::optional<SemanticVersion> version;
  bool operator==(const SubOrchestrationScheduled&) const = default;
};
struct SubOrchestrationCompleted {
  EventId source = 0;
  Payload result;
  bool operator==(const SubOrchestrationCompleted&) const = default;
};
struct SubOrchestrationFailed {
  EventId source = 0;
  ErrorDetails error;
  bool operator==(const SubOrchestrationFailed&) const = default;
};
struct SubOrchestrationCancelRequested {
  EventId source = 0;
  CancelReason reason = CancelReason::kDroppedFuture;
  bool operator==(const SubOrchestrationCancelRequested&) const = default;
};

// A start that nobody waits for.
struct OrchestrationChained {
  std::string name;
  std::string instance;
  Payload input;
  std::optional<SemanticVersion> version;
  bool operator==(const OrchestrationChained&) const = default;
};

struct CustomStatusUpdated {
  std::optional<std::string> status;  // absent: cleared
  bool operator==(const CustomStatusUpdated&) const = default;
};
// The time of the event is the key's last-updated time.
struct KeyValueSet {
  std::string key;
  std::string value;
  bool operator==(const KeyValueSet&) const = default;
};
struct KeyValueCleared {
  std::string key;
  bool operator==(const KeyValueCleared&) const = default;
};
struct KeyValuesCleared {
  bool operator==(const KeyValuesCleared&) const = default;
};
// A value that the code may not compute itself, because it would differ on replay.
struct ValueRecorded {
  RecordedValueKind kind = RecordedValueKind::kGuid;
  std::string value;
  bool operator==(const ValueRecorded&) const = default;
};

}  // namespace events

// The position in this list is the stored code of a kind (the first is 1): append, never reorder or remove.
using EventBody =
    std::variant<events::OrchestrationStarted, events::OrchestrationCompleted, events::OrchestrationFailed,
                 events::OrchestrationContinuedAsNew, events::OrchestrationCancelRequested, events::ActivityScheduled,
                 events::ActivityCompleted, events::ActivityFailed, events::ActivityCancelRequested,
                 events::TimerCreated, events::TimerFired, events::ExternalSubscribed, events::ExternalEvent,
                 events::ExternalSubscriptionCancelled, events::QueueSubscribed, events::QueueEventDelivered,
                 events::QueueSubscriptionCancelled, events::SubOrchestrationScheduled,
                 events::SubOrchestrationCompleted, events::SubOrchestrationFailed,
                 events::SubOrchestrationCancelRequested, events::OrchestrationChained, events::CustomStatusUpdated,
                 events::KeyValueSet, events::KeyValueCleared, events::KeyValuesCleared, events::ValueRecorded>;

enum class EventClass : std::uint8_t { kInput, kDecision, kBreadcrumb, kTerminal };

struct Event {
  EventId id = 0;
  TurnNumber turn = 0;
  Timestamp time{};                // the store's now in the turn that wrote it
  SemanticVersion engine_version;  // of the engine that wrote it
  EventBody body;
  bool operator==(const Event&) const = default;
};

[[nodiscard]] EventClass classify(const EventBody& body) noexcept;
// The name of the struct, e.g. "ActivityScheduled".
[[nodiscard]] std::string_view kind_name(const EventBody& body) noexcept;
// One line for people: kind, and the members that tell events of a kind apart; long payloads are shortened.
[[nodiscard]] std::string summarize(const EventBody& body);

[[nodiscard]] std::string_view to_string(CancelReason reason) noexcept;
[[nodiscard]] std::string_view to_string(RecordedValueKind kind) noexcept;

}  // namespace perdure
