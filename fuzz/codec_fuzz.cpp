// Feeds arbitrary bytes to the decoders. What they accept must be exactly what the encoder writes for it.
//
// The first byte says what the rest is: 'e' an event body, 'm' a message body (both after one byte for the kind, A is
// 1), anything else a history file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "model/event_codec.h"
#include "model/history_text.h"
#include "model/message_codec.h"

namespace {

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

// The header line names the engine that encoded, which for a message is always this one.
std::string_view after_header(std::string_view body) {
  return body.substr(body.find('\n'));
}

void try_event(std::uint16_t kind, std::string_view body) {
  const perdure::EventRecord record{7, kind, 1, {}, std::string(body)};
  const perdure::Event event = perdure::decode_event(record);
  const perdure::EventRecord encoded = perdure::encode_event(event);
  require(encoded == record, "an accepted event body is not canonical");
  require(perdure::decode_event(encoded) == event, "an event changes when it is encoded");
  require(perdure::summarize(event.body).find('\n') == std::string::npos, "a summary has several lines");
}

void try_message(std::uint16_t kind, std::string_view body) {
  const perdure::MessageBody message = perdure::decode_message_body(kind, body);
  require(perdure::message_kind_code(message) == kind, "a message has become another kind");
  const std::string encoded = perdure::encode_message_body(message);
  require(after_header(encoded) == after_header(body), "an accepted message body is not canonical");
  require(perdure::decode_message_body(kind, encoded) == message, "a message changes when it is encoded");
}

void try_history(std::string_view text) {
  const auto events = perdure::read_history_text(text);
  require(perdure::read_history_text(perdure::write_history_text(events)) == events, "a history changes in a file");
}

void try_input(std::string_view input) {
  const bool has_kind = input.size() >= 2;
  const auto kind = static_cast<std::uint16_t>(has_kind ? static_cast<unsigned char>(input[1]) - '@' : 0);
  if (has_kind && input[0] == 'e') return try_event(kind, input.substr(2));
  if (has_kind && input[0] == 'm') return try_message(kind, input.substr(2));
  try_history(input.substr(input.empty() ? 0 : 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    try_input({reinterpret_cast<const char*>(data), size});
    return 0;
  } catch (const perdure::DecodeError&) {
    return 0;  // the expected answer to most inputs; anything else that is thrown ends the program
  }
}
