// version
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/version.h>
#include "cli/commands.h"

namespace perdure::cli {

void add_about_commands(CLI::App& program, Context& context) {
  add_command(program, context, "version", "Print the versions of the program and the engine", [&context] {
    if (context.json) {
      context.out << nlohmann::json{{"version", engine_version().to_string()}}.dump(2) << '\n';
    } else {
      context.out << "perdure " << engine_version().to_string() << '\n';
    }
    return kSuccess;
  });
}

}  // namespace perdure::cli
