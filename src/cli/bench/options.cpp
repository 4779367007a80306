#include "cli/bench/options.h"

#include <algorithm>
#include <stdexcept>

#include <perdure/limits.h>
#include "cli/bench/workloads.h"

namespace perdure::cli::bench {

namespace {

constexpr std::size_t kMostInFlight = 2'000;  // each is a thread of the driver
constexpr std::size_t kMostSeconds = 3'600;
constexpr std::size_t kMostSteps = 100'000;
constexpr std::size_t kMostInstances = 1'000'000;
constexpr std::size_t kMostWorkers = 1'000;
constexpr std::size_t kLongestDelay = 60'000;
constexpr std::size_t kMostWorkersByDefault = 64;
constexpr std::size_t kQuotes = 2;                               // a text as JSON
constexpr std::size_t kMostBytesAtOnce = std::size_t{1} << 30U;  // what all that is in flight may weigh

void check_range(const char* name, std::size_t value, std::size_t least, std::size_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(std::string(name) + " " + std::to_string(value) + ": must be from " +
                              std::to_string(least) + " to " + std::to_string(most));
}

void check(const Options& options) {
  check_range("--in-flight", options.in_flight, 1, kMostInFlight);
  check_range("--steps", options.steps, 1, kMostSteps);
  check_range("--width", *options.width, 1, kMostSteps);
  check_range("--bytes", options.bytes, 0, Limits().max_payload_bytes - kQuotes);
  check_range("--instances", options.instances, 1, kMostInstances);
  check_range("--delay-ms", *options.delay_ms, 0, kLongestDelay);
  check_range("--workers", options.workers, 1, kMostWorkers);
  check_range("--turns", options.turns, 1, kMostWorkers);
  if (!(options.seconds > 0 && options.seconds <= kMostSeconds)) {
    throw std::invalid_argument("--seconds must be more than 0 and at most " + std::to_string(kMostSeconds));
  }
  if (options.workload == "payload" && options.bytes * options.in_flight > kMostBytesAtOnce) {
    throw std::invalid_argument("--bytes times --in-flight is more than 1 GiB; lower one of them");
  }
}

}  // namespace

Options completed(Options options) {
  const Workload& workload = workload_named(options.workload);
  if (options.in_flight == 0) options.in_flight = workload.in_flight;
  if (!options.width) options.width = workload.width;
  if (!options.delay_ms) options.delay_ms = workload.delay_ms;
  if (options.workers == 0) {
    // The published stress runs have two of each; without a delay that would measure the two.
    const bool as_published = options.workload == "stress" && *options.delay_ms > 0;
    const std::size_t activities = options.in_flight * std::max<std::size_t>(1, workload.activities_at_once(options));
    options.workers = as_published ? 2 : std::min(activities, kMostWorkersByDefault);
  }
  check(options);
  return options;
}

}  // namespace perdure::cli::bench
