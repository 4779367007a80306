// Encoding and decoding of message bodies.
#include "model/message_codec.h"

#include <variant>

#include "model/field_codec.h"
#include "model/message_fields.h"
#include "model/names.h"

namespace perdure {

namespace {

bool is_known(std::uint16_t kind) noexcept {
  return kind >= 1 && kind <= detail::kMessageKinds.size();
}

std::string position(std::uint16_t kind) {
  return is_known(kind) ? "message (" + std::string(detail::kMessageKinds[kind - 1U]) + "): " : "message: ";
}

[[noreturn]] void fail_unknown_kind(std::uint16_t kind, const SemanticVersion& writer) {
  throw DecodeError("unknown message kind " + std::to_string(kind) + ", written by engine " + writer.to_string() +
                    "; this engine is " + engine_version().to_string() + ": use a newer engine to read this message");
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
    if (!is_known(kind)) fail_unknown_kind(kind, writer);
    detail::emplace_alternative(message, kind - 1U);
    std::visit([&reader](auto& held) { fields(reader, held); }, message);
    reader.finish();
    return message;
  } catch (const DecodeError& error) {
    throw DecodeError(position(kind) + error.what());
  }
}

}  // namespace perdure
