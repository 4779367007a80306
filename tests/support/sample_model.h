// Fixed events and messages: at least one of every kind, with absent, empty and binary payloads among them.
#pragma once

#include <vector>

#include <perdure/event.h>
#include <perdure/message.h>

namespace perdure::test_support {

// Written by engine 0.1.0, so that their encoding does not depend on the engine under test. Ids ascend from 1.
[[nodiscard]] std::vector<Event> sample_events();
[[nodiscard]] std::vector<MessageBody> sample_messages();

}  // namespace perdure::test_support
