// Messages as records: what the engine hands to a provider, and what it gets back. Only the body is encoded; the rest
// is the envelope.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <perdure/message.h>
#include <perdure/records.h>
#include "model/decode_error.h"

namespace perdure {

[[nodiscard]] std::uint16_t message_kind_code(const MessageBody& body) noexcept;

// The header line carries the version of this engine.
[[nodiscard]] std::string encode_message_body(const MessageBody& body);

// Throws DecodeError: "message (StartOrchestration): field 'name' is missing".
[[nodiscard]] MessageBody decode_message_body(std::uint16_t kind, std::string_view body);

// The version that a start asks for. The beginning of its body is enough; absent if that cannot be decoded.
[[nodiscard]] std::optional<SemanticVersion> requested_version(std::string_view start_body_head);

// The envelope repeats what a store must see of the body: names, and an activity's id, session, tag and timeouts. An
// activity of the engine's own has the tag that every node serves.
[[nodiscard]] MessageRecord encode_message(const Message& message);

// Throws DecodeError like decode_message_body.
[[nodiscard]] Message decode_message(const MessageRecord& record);

}  // namespace perdure
