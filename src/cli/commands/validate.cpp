// validate
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/validation_run.h"

namespace perdure::cli {

void add_validation_commands(CLI::App& program, Context& context) {
  const auto prefix = std::make_shared<std::string>();
  CLI::App& command = add_store_command(
      program, context, "validate", "Run the provider validation suite on temporary stores next to the given one",
      [&context, prefix] {
        const StoreArgument store = context.store_argument();
        const Interrupt interrupt;  // before the first store is made, and until the last one is removed
        const auto stores = make_validation_stores(store, context);
        return run_validation(context, *stores, describe(store), *prefix, interrupt);
      });
  command.add_option("--only", *prefix, "Run only tests whose group.name begins with PREFIX");
}

}  // namespace perdure::cli
