// `perdure torture`
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace perdure::cli {

struct TortureArguments {
  std::size_t kills = 0;
  std::size_t workers = 3;
  std::size_t in_flight = 30;
  std::optional<std::uint64_t> seed;  // absent: another one each time
  std::size_t seconds_limit = 0;      // 0: none
  std::size_t stall_seconds = 60;
  std::string sync = "full";
  bool keep = false;
  bool schema_given = false;
  std::string planted;  // for tests: see testing/cluster/workflows.h
};

// Answers the exit code: 0 if nothing was lost and nothing repeated without a reason, else 1. Throws
// std::invalid_argument for arguments that make no sense and for a store that is not empty, and what opening it throws.
int run_torture(Context& context, const TortureArguments& arguments);

// A worker of it. `settings` as testing/cluster/worker_options.h has them.
void run_torture_worker(const Context& context, const std::string& sync, const std::vector<std::string>& settings);

}  // namespace perdure::cli
