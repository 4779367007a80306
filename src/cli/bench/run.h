// A run of `perdure bench`.
#pragma once

#include "cli/bench/figures.h"
#include "cli/bench/options.h"
#include "cli/context.h"
#include "cli/interrupt.h"

namespace perdure::cli::bench {

// Warms up, measures the bare database beside the store, then runs the workload for so long and lets it come to its
// end. `options` are completed(). Progress and warnings go to the context. Throws ProviderFailure, ClientError,
// std::invalid_argument, and std::runtime_error for a workflow that does not end well; and leaves nothing behind in any
// case.
[[nodiscard]] Figures run(const Options& options, const Context& context, const Interrupt& interrupt);

}  // namespace perdure::cli::bench
