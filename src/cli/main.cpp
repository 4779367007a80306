// The program `perdure`.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/redaction.h"

namespace {

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) != -1;
}

// A stream that is closed must not become the number of a file or a connection, into which the program then prints.
// The replacement fails as a closed stream does: it cannot be read or written.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!is_open(stream)) (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_input = is_open(STDIN_FILENO);
  occupy_closed_streams();
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* const no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): no thread runs yet
  perdure::cli::Context context{.out = std::cout,
                                .err = std::cerr,
                                .colour = terminal && (no_colour == nullptr || *no_colour == '\0'),
                                .terminal = terminal,
                                .in = has_input ? &std::cin : nullptr,
                                .asks = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1,
                                .err_terminal = ::isatty(STDERR_FILENO) == 1};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  perdure::cli::hide_credentials({argv + 1, argv + argc});
  return perdure::cli::run_program(arguments, context);
}
