#include "cli/context.h"

#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/instance_views.h"
#include "cli/redaction.h"
#include "cli/text.h"

namespace perdure::cli {

std::ostream& Context::progress() const {
  static std::ostream nowhere(nullptr);
  return json ? nowhere : err;
}

void Context::warn(const std::string& text) const {
  const std::string message = redacted(text);
  if (json) {
    err << json_text({{"warning", message}}, -1) << '\n';
  } else {
    err << "perdure: " << name_text(message) << '\n';
  }
}

StoreArgument Context::store_argument() const {
  StoreArgument argument = parse_store(store);
  argument.schema = schema;
  return argument;
}

std::shared_ptr<Provider> Context::open(const OpenOptions& options) const {
  return open_store(store_argument(), options);
}

std::shared_ptr<Provider> Context::open_to_read() const {
  OpenOptions options;
  options.read_only = true;
  return open(options);
}

CLI::App& add_command(CLI::App& program, Context& context, const std::string& name, const std::string& description,
                      std::function<int()> run) {
  CLI::App& command = *program.add_subcommand(name, description);
  command.add_flag("--json", context.json, "Print the result as JSON");
  command.final_callback([&context, run = std::move(run)] { context.exit_code = run(); });
  return command;
}

CLI::App& add_store_command(CLI::App& program, Context& context, const std::string& name,
                            const std::string& description, std::function<int()> run) {
  // Each command has one of its own: CLI11 reads the environment for the commands that were not given too, and that
  // must not overrule what was written.
  const auto store = std::make_shared<std::string>();
  CLI::App& command = add_command(program, context, name, description, [&context, store, run = std::move(run)] {
    context.store = *store;
    return run();
  });
  command.add_option("--store", *store, "sqlite:PATH or postgres://...")->envname("PERDURE_STORE");
  command.add_option("--schema", context.schema, "PostgreSQL: schema of the store")->capture_default_str();
  return command;
}

}  // namespace perdure::cli
