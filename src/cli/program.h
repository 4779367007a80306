// The program `perdure` as a function, so that tests can call it.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace perdure::cli {

// `arguments` without the program's own name. Answers the exit code; never throws.
int run_program(const std::vector<std::string>& arguments, Context& context);

}  // namespace perdure::cli
