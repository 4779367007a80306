// The loop behind ActivityOptions().retry(policy): attempts and durable waits, seen by the code as one future.
#pragma once

#include <perdure/detail/context_core.h>
#include <perdure/event.h>
#include <perdure/retry.h>

namespace perdure::detail {

// The first attempt is scheduled before it returns. Dropping the slot's future cancels the running attempt.
[[nodiscard]] SlotRef start_retry_loop(ContextCore& core, events::ActivityScheduled activity, RetryPolicy policy);

}  // namespace perdure::detail
