#include "cli/script_run.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

#include "support/temporary_folder.h"

namespace perdure::test {

std::string program_path() {
  const char* const other = std::getenv("PERDURE_TEST_PROGRAM");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return other != nullptr ? other : PERDURE_PROGRAM;
}

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ProcessRun run_script(const std::string& script) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("script")) << "PERDURE='" << program_path() << "'\nunset PERDURE_STORE\n" << script << '\n';
  const std::string command = "timeout 60 bash '" + folder.file("script") + "' >'" + folder.file("out") + "' 2>'" +
                              folder.file("err") + "' </dev/null";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe): a test
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = file_text(folder.file("out")),
          .err = file_text(folder.file("err"))};
}

}  // namespace perdure::test
