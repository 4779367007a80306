#include "bench/program.h"

#include <sstream>

#include "cli/program.h"

namespace perdure::test {

Outcome run_bench(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"bench"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::ostringstream out;
  std::ostringstream err;
  cli::Context context{.out = out, .err = err};
  Outcome outcome;
  outcome.exit_code = cli::run_program(all, context);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

}  // namespace perdure::test
