// A worker: a process with a runtime that works on a store until its standard input is closed or SIGTERM comes.
#pragma once

#include <functional>
#include <memory>

#include <perdure/log.h>
#include <perdure/provider.h>
#include "testing/cluster/worker_options.h"

namespace perdure::testing::cluster {

// Writes "ready" to standard output when it works, and its log to standard error. Dies with the process that started
// it. Throws what opening the store throws, and std::invalid_argument for options that make no sense.
void run_worker(const WorkerOptions& options, const std::function<std::shared_ptr<Provider>(const Logger&)>& open);

}  // namespace perdure::testing::cluster
