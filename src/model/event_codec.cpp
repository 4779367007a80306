// Encoding and decoding of events.
#include "model/event_codec.h"

#include <variant>

#include "model/event_fields.h"
#include "model/field_codec.h"
#include "model/names.h"

namespace perdure {

namespace {

// The stored code of a kind is its position in EventBody, from 1.
#ifdef PERDURE_NEXT_ENGINE
// For the tests of upgrades: the engine after this one has a kind more, under which it stores the start of every
// execution that it begins. It reads both; an engine of today does not know the new one.
constexpr std::size_t kStoredKinds = std::variant_size_v<EventBody> + 1;

std::size_t stored_kind(const EventBody& body) noexcept {
  return std::holds_alternative<events::OrchestrationStarted>(body) ? kStoredKinds : body.index() + 1;
}
std::size_t alternative_of(std::uint16_t kind) noexcept {
  return kind == kStoredKinds ? EventBody(events::OrchestrationStarted()).index() : kind - 1U;
}
#else
constexpr std::size_t kStoredKinds = std::variant_size_v<EventBody>;

std::size_t stored_kind(const EventBody& body) noexcept {
  return body.index() + 1;
}
std::size_t alternative_of(std::uint16_t kind) noexcept {
  return kind - 1U;
}
#endif

bool is_known_event(std::uint16_t kind) noexcept {
  return kind >= 1 && kind <= kStoredKinds;
}

std::string position(const EventRecord& record) {
  const std::string event = "event " + std::to_string(record.event_id);
  if (!is_known_event(record.kind)) return event + ": ";
  return event + " (" + std::string(detail::kEventKinds[alternative_of(record.kind)].name) + "): ";
}

[[noreturn]] void fail_unknown_event(std::uint16_t kind, const SemanticVersion& writer) {
  throw DecodeError("unknown event kind " + std::to_string(kind) + ", written by engine " + writer.to_string() +
                    " (this engine is " + engine_version().to_string() + "); use a newer engine to read this history");
}

}  // namespace

EventRecord encode_event(const Event& event) {
  detail::FieldWriter writer(event.engine_version);
  std::visit([&writer](const auto& body) { fields(writer, body); }, event.body);
  return {event.id, static_cast<std::uint16_t>(stored_kind(event.body)), event.turn, event.time, writer.take()};
}

Event decode_event(const EventRecord& record) {
  try {
    Event event{.id = record.event_id, .turn = record.turn, .time = record.time, .engine_version = {}, .body = {}};
    detail::FieldReader reader(record.body);
    event.engine_version = reader.header();
    if (!is_known_event(record.kind)) fail_unknown_event(record.kind, event.engine_version);
    detail::emplace_alternative(event.body, alternative_of(record.kind));
    std::visit([&reader](auto& body) { fields(reader, body); }, event.body);
    reader.finish();
    return event;
  } catch (const DecodeError& error) {
    throw DecodeError(position(record) + error.what());
  }
}

std::vector<Event> decode_history(std::span<const EventRecord> records) {
  std::vector<Event> events;
  events.reserve(records.size());
  for (const EventRecord& record : records) events.push_back(decode_event(record));
  return events;
}

}  // namespace perdure
