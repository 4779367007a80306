#include "providers/lost_output.h"

#include <variant>

#include <perdure/event.h>
#include "model/error_codec.h"
#include "model/event_codec.h"

namespace perdure {

Payload output_in_history(std::span<const EventRecord> events) {
  if (events.empty()) return std::nullopt;
  try {
    const Event last = decode_event(events.back());
    if (const auto* completed = std::get_if<events::OrchestrationCompleted>(&last.body)) return completed->output;
    if (const auto* next = std::get_if<events::OrchestrationContinuedAsNew>(&last.body)) return next->input;
    if (const auto* failed = std::get_if<events::OrchestrationFailed>(&last.body)) return encode_error(failed->error);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

ExecutionInfo info_in_history(ExecutionId execution, std::optional<ExecutionStatus> status,
                              std::span<const EventRecord> events) {
  ExecutionInfo info;
  info.execution_id = execution;
  info.status = status.value_or(ExecutionStatus::kContinuedAsNew);
  info.started_at = events.front().time;
  info.events = events.size();
  try {
    info.pinned_version = decode_event(events.front()).engine_version;
  } catch (const DecodeError&) {
    info.pinned_version.reset();
  }
  if (info.status == ExecutionStatus::kRunning) return info;
  info.output = output_in_history(events);
  info.completed_at = events.back().time;
  return info;
}

}  // namespace perdure
