// What is known of an execution whose row is lost: the history has it as well.
#pragma once

#include <optional>
#include <span>

#include <perdure/provider_admin.h>
#include <perdure/records.h>
#include <perdure/types.h>

namespace perdure {

// Returns the output, the encoded error, or the input of the next execution, with which these events end; nothing if
// they do not end, or are damaged.
[[nodiscard]] Payload output_in_history(std::span<const EventRecord> events);

// `events` are all of the execution, and at least one. `status` is that of the instance if this is its current
// execution. An earlier one has continued as new.
[[nodiscard]] ExecutionInfo info_in_history(ExecutionId execution, std::optional<ExecutionStatus> status,
                                            std::span<const EventRecord> events);

}  // namespace perdure
