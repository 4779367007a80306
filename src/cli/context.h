// What every command of the program gets.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include <perdure/provider.h>
#include "cli/exit_code.h"
#include "cli/store_argument.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace perdure::cli {

struct Context {
  std::ostream& out;
  std::ostream& err;      // progress and errors
  bool colour = false;    // out is a terminal that shows colours
  bool terminal = false;  // out is a terminal: lines may be rewritten
  bool json = false;      // --json
  std::string store{};    // --store, or PERDURE_STORE
  std::string schema = "perdure";
  int exit_code = kSuccess;
  std::istream* in = nullptr;  // the standard input; null: there is none
  bool asks = false;           // somebody sits there who can answer a question
  bool err_terminal = false;   // err is a terminal: lines may be rewritten
  std::string mark_key{};      // of the marks that TerminalFilter turns into terminal sequences; run_program sets it

  // Where progress goes: nowhere with --json, because only JSON goes to the standard error then.
  [[nodiscard]] std::ostream& progress() const;
  // Writes a line to the standard error that does not end the command, without credentials; with --json it is one JSON
  // object.
  void warn(const std::string& text) const;

  // Of --store. Throws as parse_store and open_store do.
  [[nodiscard]] StoreArgument store_argument() const;
  [[nodiscard]] std::shared_ptr<Provider> open(const OpenOptions& options = {}) const;
  // For commands that only look.
  [[nodiscard]] std::shared_ptr<Provider> open_to_read() const;
};

// A command with --json. `run` answers the exit code; what it throws becomes an error message and an exit code
// (src/cli/program.cpp).
CLI::App& add_command(CLI::App& program, Context& context, const std::string& name, const std::string& description,
                      std::function<int()> run);

// One with --store and --schema as well.
CLI::App& add_store_command(CLI::App& program, Context& context, const std::string& name,
                            const std::string& description, std::function<int()> run);

}  // namespace perdure::cli
