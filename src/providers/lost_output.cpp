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
    if (const auto* failed = std::get_if<events::OrchestrationFailed>(&last.body)) return encode_error(failed->error);
  } catch (const DecodeError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace perdure
