// Events as records: what the engine hands to a provider, and what it gets back.
#pragma once

#include <span>
#include <vector>

#include <perdure/event.h>
#include <perdure/records.h>
#include "model/decode_error.h"

namespace perdure {

[[nodiscard]] EventRecord encode_event(const Event& event);

// Throws DecodeError: "event 7 (ActivityScheduled): field 'name' is missing".
[[nodiscard]] Event decode_event(const EventRecord& record);

// The records one by one: whether they make a history is for the reader of the events to judge.
[[nodiscard]] std::vector<Event> decode_history(std::span<const EventRecord> records);

}  // namespace perdure
