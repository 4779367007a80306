// The workflows of the soak: activities with tags, sessions, retries and heartbeats, timers, children, events, queues,
// continue-as-new and cancellation, each with a result that is known beforehand.
#pragma once

#include <perdure/perdure.h>

namespace perdure::soak {

[[nodiscard]] Registry registry();

// What "Order", "Rounds" and "Flaky" come to for an input.
[[nodiscard]] int result_of_order(int n);
[[nodiscard]] int result_of_rounds(int rounds);
[[nodiscard]] int result_of_flaky(int n);

inline constexpr int kMessagesOfARound = 3;
inline constexpr const char* kWaiting = "waits for its approval";  // custom status of an order that does

}  // namespace perdure::soak
