// Events as records: what the engine hands to a provider, and what it gets back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <perdure/event.h>
#include <perdure/types.h>
#include "model/decode_error.h"

namespace perdure {

// An event as a provider stores it. The provider interprets the event id alone.
struct EventRecord {
  EventId event_id = 0;
  std::uint16_t kind = 0;  // position in EventBody, the first is 1
  TurnNumber turn = 0;
  Timestamp time{};
  std::string body;  // field_codec.h has its format
  bool operator==(const EventRecord&) const = default;
};

[[nodiscard]] EventRecord encode_event(const Event& event);

// Throws DecodeError: "event 7 (ActivityScheduled): field 'name' is missing".
[[nodiscard]] Event decode_event(const EventRecord& record);

// The records one by one: whether they make a history is for the reader of the events to judge.
[[nodiscard]] std::vector<Event> decode_history(std::span<const EventRecord> records);

}  // namespace perdure
