// The bodies of messages as bytes. The rest of a message is columns of a provider and is not encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <perdure/message.h>
#include "model/decode_error.h"

namespace perdure {

struct MessageRecordBody {
  std::uint16_t kind = 0;  // position in MessageBody, the first is 1
  std::string body;        // field_codec.h has its format
  bool operator==(const MessageRecordBody&) const = default;
};

[[nodiscard]] std::uint16_t message_kind_code(const MessageBody& body) noexcept;

// The header line carries the version of this engine.
[[nodiscard]] std::string encode_message_body(const MessageBody& body);

// Throws DecodeError: "message (StartOrchestration): field 'name' is missing".
[[nodiscard]] MessageBody decode_message_body(std::uint16_t kind, std::string_view body);

}  // namespace perdure
