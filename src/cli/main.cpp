// The program `perdure`.
#include <cstdlib>
#include <iostream>

#include <unistd.h>

#include "cli/program.h"

int main(int argc, char** argv) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* const no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): no thread runs yet
  perdure::cli::Context context{.out = std::cout,
                                .err = std::cerr,
                                .colour = terminal && (no_colour == nullptr || *no_colour == '\0'),
                                .terminal = terminal,
                                .in = &std::cin,
                                .asks = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1};
  return perdure::cli::run_program({argv + 1, argv + argc}, context);
}
