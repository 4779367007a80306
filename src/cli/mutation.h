// `perdure mutation`, in builds with planted faults only.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

namespace perdure::cli {

struct MutationArguments {
  std::string seeds = "1..3000";
  std::size_t jobs = 0;   // 0: one for each core
  std::string only;       // the name of a fault; empty: all
  std::string fast_path;  // empty: the seed decides
  bool json = false;
};

// Plants one fault after the other and runs seeds until one fails. Answers the exit code: 0, or 1 if a fault was not
// found or a seed fails with nothing planted. Throws std::invalid_argument for arguments that make no sense.
int run(const MutationArguments& arguments, std::ostream& out, std::ostream& progress);

// So that `perdure simulate` can show a planted fault. Throws std::invalid_argument if there is none of that name.
void plant_fault(const std::string& name);

}  // namespace perdure::cli
