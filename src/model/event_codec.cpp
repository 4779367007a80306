// Encoding and decoding of events.
#include "model/event_codec.h"

#include <variant>

#include "model/event_fields.h"
#include "model/field_codec.h"
#include "model/names.h"

namespace perdure {

namespace {

bool is_known(std::uint16_t kind) noexcept {
  return kind >= 1 && kind <= detail::kEventKinds.size();
}

std::string position(const EventRecord& record) {
  const std::string event = "event " + std::to_string(record.event_id);
  return is_known(record.kind) ? event + " (" + std::string(detail::kEventKinds[record.kind - 1U].name) + "): "
                               : event + ": ";
}

[[noreturn]] void fail_unknown_kind(std::uint16_t kind, const SemanticVersion& writer) {
  throw DecodeError("unknown event kind " + std::to_string(kind) + ", written by engine " + writer.to_string() +
                    "; this engine is " + engine_version().to_string() + ": use a newer engine to read this history");
}

}  // namespace

EventRecord encode_event(const Event& event) {
  detail::FieldWriter writer(event.engine_version);
  std::visit([&writer](const auto& body) { fields(writer, body); }, event.body);
  return {event.id, static_cast<std::uint16_t>(event.body.index() + 1), event.turn, event.time, writer.take()};
}

Event decode_event(const EventRecord& record) {
  try {
    Event event{.id = record.event_id, .turn = record.turn, .time = record.time, .engine_version = {}, .body = {}};
    detail::FieldReader reader(record.body);
    event.engine_version = reader.header();
    if (!is_known(record.kind)) fail_unknown_kind(record.kind, event.engine_version);
    detail::emplace_alternative(event.body, record.kind - 1U);
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
