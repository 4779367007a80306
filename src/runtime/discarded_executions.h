// Destroying executions that left the cache, and returning their memory to the system.
#pragma once

#include <vector>

#include "runtime/instance_cache.h"

namespace perdure::runtime {

// Runs destructors of the user. After executions with large values the allocator is told to return what is free: glibc
// keeps it otherwise, in blocks as large as the values, so that RuntimeOptions::cached_bytes would not bound the
// process.
void discard(std::vector<KeptExecution>& executions);

}  // namespace perdure::runtime
