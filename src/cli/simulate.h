// `perdure simulate`
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace perdure::cli {

struct SimulateArguments {
  std::string seeds;
  std::optional<std::size_t> nodes;
  std::string faults = "all";
  std::optional<std::size_t> max_faults;
  std::string store;      // empty: the seed decides
  std::string fast_path;  // empty: the seed decides
  std::vector<std::size_t> roots;
  std::string lifecycles = "on";
  std::vector<std::size_t> lives;
  std::size_t jobs = 0;  // 0: one for each core
  bool log = false;
  bool no_shrink = false;
  bool json = false;
};

// Answers the exit code: 0, or 1 if a seed failed. Throws std::invalid_argument for arguments that make no sense.
int run(const SimulateArguments& arguments, std::ostream& out, std::ostream& progress);

}  // namespace perdure::cli
