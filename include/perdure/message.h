// Messages: what wakes an orchestration, and what tells a worker to run an activity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <perdure/error_details.h>
#include <perdure/event.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

namespace messages {

struct StartOrchestration {
  std::string name;
  std::optional<SemanticVersion> version;  // absent: the registry's policy decides when it is processed
  Payload input;
  std::optional<ParentLink> parent;
  bool operator==(const StartOrchestration&) const = default;
};
struct ContinueAsNew {
  std::string name;
  std::optional<SemanticVersion> version;
  Payload input;
  std::optional<ParentLink> parent;
  std::vector<CarriedMessage> carry_forward;
  std::optional<std::string> initial_custom_status;
  bool operator==(const ContinueAsNew&) const = default;
};
struct ActivityCompleted {
  EventId schedule_id = 0;
  Payload result;
  bool operator==(const ActivityCompleted&) const = default;
};
struct ActivityFailed {
  EventId schedule_id = 0;
  ErrorDetails error;
  bool operator==(const ActivityFailed&) const = default;
};
struct TimerFired {
  EventId schedule_id = 0;
  Timestamp fire_at;
  bool operator==(const TimerFired&) const = default;
};
struct ExternalRaised {
  std::string name;
  Payload data;
  bool operator==(const ExternalRaised&) const = default;
};
struct QueueMessage {
  std::string queue;
  Payload data;
  bool operator==(const QueueMessage&) const = default;
};
struct SubOrchestrationCompleted {
  EventId schedule_id = 0;
  Payload result;
  bool operator==(const SubOrchestrationCompleted&) const = default;
};
struct SubOrchestrationFailed {
  EventId schedule_id = 0;  // 0: lost together with the child's history; `child` says which one it was
  ErrorDetails error;
  std::optional<std::string> child = {};  // its instance id; present only then
  bool operator==(const SubOrchestrationFailed&) const = default;
};
// Ends the orchestration as Cancelled; its code runs once more for what else is in the batch.
struct CancelInstance {
  std::string reason;
  bool operator==(const CancelInstance&) const = default;
};
// Ends the orchestration without running its code.
struct TerminateInstance {
  std::string reason;
  bool operator==(const TerminateInstance&) const = default;
};
// The only message of the worker queue. It names the orchestration so that a worker need not read its history.
struct ExecuteActivity {
  EventId schedule_id = 0;
  std::string name;
  Payload input;
  std::optional<std::string> session_id;
  std::optional<std::string> tag;
  ActivityTimeouts timeouts;
  std::string orchestration_name;
  std::optional<SemanticVersion> orchestration_version;
  bool operator==(const ExecuteActivity&) const = default;
};

}  // namespace messages

// The position in this list is the stored code of a kind (the first is 1): append, never reorder or remove.
using MessageBody =
    std::variant<messages::StartOrchestration, messages::ContinueAsNew, messages::ActivityCompleted,
                 messages::ActivityFailed, messages::TimerFired, messages::ExternalRaised, messages::QueueMessage,
                 messages::SubOrchestrationCompleted, messages::SubOrchestrationFailed, messages::CancelInstance,
                 messages::TerminateInstance, messages::ExecuteActivity>;

struct Message {
  std::string instance;                  // whom it is for
  std::optional<ExecutionId> execution;  // completions and timers: the execution that scheduled the operation
  std::optional<Timestamp> visible_at;   // absent: at once
  MessageBody body;
  bool operator==(const Message&) const = default;
};

[[nodiscard]] std::string_view kind_name(const MessageBody& body) noexcept;

}  // namespace perdure
