// A node of the cluster tests: see worker.h, and worker_options.h for its arguments.
#include <cstdio>
#include <exception>

#include "cluster/store_address.h"
#include "testing/cluster/worker.h"

int main(int argc, char** argv) {
  try {
    using perdure::testing::cluster::WorkerOptions;
    const WorkerOptions options = WorkerOptions::parse({argv + 1, argv + argc});
    perdure::testing::cluster::run_worker(
        options, [&](const perdure::Logger& logger) { return perdure::test::open_store(options.store, logger); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the worker ends: %s\n", error.what());
    return 1;
  }
}
