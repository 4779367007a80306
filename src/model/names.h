// The texts of kinds and enumerators, each written once: they are stored in bodies and shown to people.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include <perdure/error_details.h>
#include <perdure/event.h>
#include <perdure/message.h>

namespace perdure::detail {

// kTexts is in the order of the enumerators. A stored text is never changed or removed.
template <class Enum>
struct EnumTexts;

template <>
struct EnumTexts<CancelReason> {
  static constexpr auto kTexts =
      std::to_array<std::string_view>({"dropped_future", "orchestration_terminal", "orchestration_terminal_completed",
                                       "orchestration_terminal_failed", "orchestration_terminal_continued_as_new"});
};
template <>
struct EnumTexts<RecordedValueKind> {
  static constexpr auto kTexts = std::to_array<std::string_view>({"guid", "utc_now", "random"});
};
template <>
struct EnumTexts<ConfigurationErrorKind> {
  static constexpr auto kTexts =
      std::to_array<std::string_view>({"nondeterminism", "corrupt_history", "incompatible_version"});
};
template <>
struct EnumTexts<ApplicationErrorKind> {
  static constexpr auto kTexts =
      std::to_array<std::string_view>({"activity_failed", "orchestration_failed", "panicked", "cancelled", "terminated",
                                       "timed_out", "limit_exceeded", "misuse"});
};
template <>
struct EnumTexts<PoisonSubject> {
  static constexpr auto kTexts = std::to_array<std::string_view>({"orchestration", "activity", "undecodable_history"});
};

template <class Enum>
constexpr bool is_enumerator(Enum value) noexcept {
  return static_cast<std::size_t>(value) < EnumTexts<Enum>::kTexts.size();
}

// A value that is no enumerator is shown as "unknown".
template <class Enum>
constexpr std::string_view enum_text(Enum value) noexcept {
  return is_enumerator(value) ? EnumTexts<Enum>::kTexts[static_cast<std::size_t>(value)] : "unknown";
}

template <class Enum>
constexpr std::optional<Enum> enum_from_text(std::string_view text) noexcept {
  const auto& texts = EnumTexts<Enum>::kTexts;
  for (std::size_t index = 0; index < texts.size(); ++index) {
    if (texts[index] == text) return static_cast<Enum>(index);
  }
  return std::nullopt;
}

// In the order of the alternatives of ErrorDetails.
inline constexpr std::array<std::string_view, std::variant_size_v<ErrorDetails>> kErrorCategories = {
    "infrastructure", "configuration", "application", "poison"};

struct EventKind {
  std::string_view name;
  EventClass event_class;
};

// In the order of the alternatives of EventBody.
inline constexpr std::array<EventKind, std::variant_size_v<EventBody>> kEventKinds = {{
    {"OrchestrationStarted", EventClass::kInput},
    {"OrchestrationCompleted", EventClass::kTerminal},
    {"OrchestrationFailed", EventClass::kTerminal},
    {"OrchestrationContinuedAsNew", EventClass::kTerminal},
    {"OrchestrationCancelRequested", EventClass::kInput},
    {"ActivityScheduled", EventClass::kDecision},
    {"ActivityCompleted", EventClass::kInput},
    {"ActivityFailed", EventClass::kInput},
    {"ActivityCancelRequested", EventClass::kBreadcrumb},
    {"TimerCreated", EventClass::kDecision},
    {"TimerFired", EventClass::kInput},
    {"ExternalSubscribed", EventClass::kDecision},
    {"ExternalEvent", EventClass::kInput},
    {"ExternalSubscriptionCancelled", EventClass::kBreadcrumb},
    {"QueueSubscribed", EventClass::kDecision},
    {"QueueEventDelivered", EventClass::kInput},
    {"QueueSubscriptionCancelled", EventClass::kBreadcrumb},
    {"SubOrchestrationScheduled", EventClass::kDecision},
    {"SubOrchestrationCompleted", EventClass::kInput},
    {"SubOrchestrationFailed", EventClass::kInput},
    {"SubOrchestrationCancelRequested", EventClass::kBreadcrumb},
    {"OrchestrationChained", EventClass::kDecision},
    {"CustomStatusUpdated", EventClass::kDecision},
    {"KeyValueSet", EventClass::kDecision},
    {"KeyValueCleared", EventClass::kDecision},
    {"KeyValuesCleared", EventClass::kDecision},
    {"ValueRecorded", EventClass::kDecision},
}};

// In the order of the alternatives of MessageBody.
inline constexpr std::array<std::string_view, std::variant_size_v<MessageBody>> kMessageKinds = {
    "StartOrchestration", "ContinueAsNew",  "ActivityCompleted",         "ActivityFailed",         "TimerFired",
    "ExternalRaised",     "QueueMessage",   "SubOrchestrationCompleted", "SubOrchestrationFailed", "CancelInstance",
    "TerminateInstance",  "ExecuteActivity"};

}  // namespace perdure::detail
