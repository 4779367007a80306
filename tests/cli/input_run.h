// Runs the program `perdure` with a standard input.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/program_run.h"

namespace perdure::test {

// `asks`: as if somebody sat at a terminal, who answers with `input`.
inline ProgramRun run_with_input(const std::vector<std::string>& arguments, const std::string& input,
                                 bool asks = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  cli::Context context{.out = out, .err = err};
  context.in = &in;
  context.asks = asks;
  const int exit_code = cli::run_program(arguments, context);
  return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
}

}  // namespace perdure::test
