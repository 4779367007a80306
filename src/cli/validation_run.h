// The run of `perdure validate`.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/interrupt.h"
#include "cli/validation_stores.h"

namespace perdure::cli {

// Every test whose "group.name" begins with `prefix`, each on stores of its own. `store` is for the report. Answers the
// exit code. Throws CommandError if there is no such test, std::runtime_error after an interrupt.
[[nodiscard]] int run_validation(const Context& context, ValidationStores& stores, const std::string& store,
                                 const std::string& prefix, const Interrupt& interrupt);

}  // namespace perdure::cli
