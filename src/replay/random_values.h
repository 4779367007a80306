// The values that code may not make up itself, from bits that come from outside.
#pragma once

#include <cstdint>
#include <string>

#include <perdure/event.h>
#include "replay/turn.h"

namespace perdure {

// The `draw`-th value of a turn, as it is recorded: a version 4 UUID, milliseconds since 1970, or 64 bits in decimal.
[[nodiscard]] std::string recorded_value(RecordedValueKind kind, Timestamp now, const Entropy& entropy,
                                         std::uint64_t draw);

}  // namespace perdure
