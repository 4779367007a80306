// Messages as records: what the engine hands to a provider, and what it gets back. Only the body is encoded; the rest
// is the envelope.
#pragma once

#include <cstdint>
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

// The envelope repeats what a store must see of the body: names, and an activity's id, session, tag and timeouts.
[[nodiscard]] MessageRecord encode_message(const Message& message);

// Throws DecodeError like decode_message_body.
[[nodiscard]] Message decode_message(const MessageRecord& record);

}  // namespace perdure
