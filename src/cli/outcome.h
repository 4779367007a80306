// How an instance that was waited for has ended, or stands.
#pragma once

#include <string>

#include <perdure/client.h>
#include "cli/context.h"

namespace perdure::cli {

// On one line; status_json() is the same for programs.
void print_outcome(const Context& context, const std::string& instance, const OrchestrationStatus& status);

// kSuccess if it completed, kNegative if it failed, was cancelled or terminated.
[[nodiscard]] int exit_code_of(const OrchestrationStatus& status) noexcept;

// Like Client's, but says so if the instance is not there at all. Throws ClientError or CommandError.
[[nodiscard]] OrchestrationStatus wait_until_ended(const Client& client, const std::string& instance,
                                                   Milliseconds timeout);

}  // namespace perdure::cli
