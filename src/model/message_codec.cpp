// Encoding and decoding of messages.
#include "model/message_codec.h"

#include <utility>
#include <variant>

#include "model/field_codec.h"
#include "model/message_fields.h"
#include "model/names.h"
#include "model/reserved_names.h"

namespace perdure {

namespace {

static_assert(std::variant_size_v<MessageBody> == static_cast<std::size_t>(MessageKind::kExecuteActivity),
              "MessageKind and MessageBody list the same kinds");

bool is_known_message(std::uint16_t kind) noexcept {
  return kind >= 1 && kind <= detail::kMessageKinds.size();
}

std::string position(std::uint16_t kind) {
  return is_known_message(kind) ? "message (" + std::string(detail::kMessageKinds[kind - 1U]) + "): " : "message: ";
}

[[noreturn]] void fail_unknown_message(std::uint16_t kind, const SemanticVersion& writer) {
  throw DecodeError("unknown message kind " + std::to_string(kind) + ", written by engine " + writer.to_string() +
                    " (this engine is " + engine_version().to_string() + "); use a newer engine to read this message");
}

}  // namespace

std::uint16_t message_kind_code(const MessageBody& body) noexcept {
  return static_cast<std::uint16_t>(body.index() + 1);
}

std::string encode_message_body(const MessageBody& body) {
  detail::FieldWriter writer(engine_version());
  std::visit([&writer](const auto& message) { fields(writer, message); }, body);
  return writer.take();
}

MessageBody decode_message_body(std::uint16_t kind, std::string_view body) {
  try {
    MessageBody message;
    detail::FieldReader reader(body);
    const SemanticVersion writer = reader.header();
    if (!is_known_message(kind)) fail_unknown_message(kind, writer);
    detail::emplace_alternative(message, kind - 1U);
    std::visit([&reader](auto& held) { fields(reader, held); }, message);
    reader.finish();
    return message;
  } catch (const DecodeError& error) {
    throw DecodeError(position(kind) + error.what());
  }
}

std::optional<SemanticVersion> requested_version(std::string_view start_body_head) {
  try {
    messages::StartOrchestration start;
    detail::FieldReader reader(start_body_head);
    static_cast<void>(reader.header());
    reader.field("name", start.name);
    reader.field("version", start.version);
    return start.version;
  } catch (const DecodeError&) {
    return std::nullopt;
  }
}

MessageRecord encode_message(const Message& message) {
  MessageRecord record;
  record.kind = static_cast<MessageKind>(message_kind_code(message.body));
  record.instance = message.instance;
  record.execution = message.execution;
  record.visible_at = message.visible_at;
  if (const auto* start = std::get_if<messages::StartOrchestration>(&message.body)) {
    record.name = start->name;
    record.parent = start->parent;
  } else if (const auto* next = std::get_if<messages::ContinueAsNew>(&message.body)) {
    record.name = next->name;
  } else if (const auto* cancel = std::get_if<messages::CancelInstance>(&message.body)) {
    record.parent = cancel->parent;
    record.must_exist = cancel->parent.has_value();
  } else if (std::holds_alternative<messages::SubOrchestrationCompleted>(message.body) ||
             std::holds_alternative<messages::SubOrchestrationFailed>(message.body)) {
    record.must_exist = true;  // the next instance of that id must not receive it
  } else if (const auto* activity = std::get_if<messages::ExecuteActivity>(&message.body)) {
    record.activity_id = activity->schedule_id;
    record.name = activity->name;
    record.session = activity->session_id;
    record.tag = is_engine_activity(activity->name) ? std::string(kEngineTag) : activity->tag;
    record.timeouts = activity->timeouts;
  }
  record.body = encode_message_body(message.body);
  return record;
}

Message decode_message(const MessageRecord& record) {
  Message message{.instance = record.instance,
                  .execution = record.execution,
                  .visible_at = record.visible_at,
                  .body = decode_message_body(static_cast<std::uint16_t>(record.kind), record.body)};
  if (auto* start = std::get_if<messages::StartOrchestration>(&message.body)) {
    start->parent = record.parent;
  } else if (auto* cancel = std::get_if<messages::CancelInstance>(&message.body)) {
    cancel->parent = record.parent;
  }
  return message;
}

}  // namespace perdure
