// Runs the program `perdure` as a process, in a line of the shell: for what streams, signals and rights do to it.
#pragma once

#include <string>

namespace perdure::test {

struct ProcessRun {
  int exit_code = 0;  // 128 + its number for a signal, as the shell says it
  std::string out;
  std::string err;
};

// `script` is for bash; "$PERDURE" in it is the program. It may take a minute.
[[nodiscard]] ProcessRun run_script(const std::string& script);

// The path of the program that was built, or of the one that PERDURE_TEST_PROGRAM names.
[[nodiscard]] std::string program_path();

[[nodiscard]] std::string file_text(const std::string& path);

}  // namespace perdure::test
