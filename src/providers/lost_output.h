// The output of an execution whose row is lost: the history has it as well.
#pragma once

#include <span>

#include <perdure/records.h>
#include <perdure/types.h>

namespace perdure {

// Returns the output, or the encoded error, with which these events end; nothing if they do not end, or are damaged.
[[nodiscard]] Payload output_in_history(std::span<const EventRecord> events);

}  // namespace perdure
