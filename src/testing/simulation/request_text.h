// What a dispatcher wants, in words, for the log of a simulated run.
#pragma once

#include <string>

#include "runtime/orchestration_requests.h"
#include "runtime/worker_requests.h"

namespace perdure::testing::simulation {

[[nodiscard]] std::string describe(const runtime::orchestration::RequestBody& body);
[[nodiscard]] std::string describe(const runtime::worker::RequestBody& body);

// Whether the store is asked for something that it could fail to do.
[[nodiscard]] bool calls_store(const runtime::orchestration::RequestBody& body) noexcept;
[[nodiscard]] bool calls_store(const runtime::worker::RequestBody& body) noexcept;

}  // namespace perdure::testing::simulation
