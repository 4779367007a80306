// The workflows of clusters, as the workers run them and as they must end. Each run of an activity is in the ledger.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <perdure/registry.h>
#include "testing/cluster/ledger.h"

namespace perdure::testing::cluster {

// They need nothing after their start, except "Queue".
inline constexpr std::array<const char*, 7> kWorkflows{"Sequence", "FanOut", "Timers", "Parent",
                                                       "Rounds",   "Queue",  "Retries"};
// The queue of "Queue", which ends when it has got a number from there.
inline constexpr const char* kOrders = "orders";

// This one ends when it has got a number by the event, which must be raised once its status says that it waits.
inline constexpr const char* kEventWorkflow = "Event";
inline constexpr const char* kGo = "go";
inline constexpr const char* kWaiting = "waiting";

// What the workflow of that name comes to with that input; "Queue" and "Event" if they get the same number later.
// Throws std::invalid_argument.
[[nodiscard]] int expected_result(const std::string& workflow, int input);

// What a worker does wrong in every tenth run of a step, so that tests can see the checks fail.
inline constexpr const char* kDropLine = "drop-line";        // the ledger does not hear of it
inline constexpr const char* kRepeat = "repeat";             // it is done twice
inline constexpr const char* kWrongResult = "wrong-result";  // it answers something else
inline constexpr const char* kHang = "hang";                 // it never ends

// `node` is who runs it; `planted` is one of the above, or empty. Throws std::invalid_argument.
[[nodiscard]] Registry cluster_registry(const std::shared_ptr<const Ledger>& ledger, const std::string& node,
                                        const std::string& planted = {});

}  // namespace perdure::testing::cluster
