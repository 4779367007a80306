#include "cli/program.h"

#include <algorithm>
#include <array>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client_error.h>
#include <perdure/provider_error.h>
#include <perdure/version.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "cli/redaction.h"
#include "cli/terminal_filter.h"
#include "cli/text.h"

namespace perdure::cli {

int exit_code_of(ProviderErrorKind kind) noexcept {
  switch (kind) {
    case ProviderErrorKind::kNotFound:
      return kNotFound;
    case ProviderErrorKind::kAlreadyExists:
    case ProviderErrorKind::kStillRunning:
    case ProviderErrorKind::kSubOrchestration:
    case ProviderErrorKind::kChildrenLeftBehind:
      return kConflict;
    case ProviderErrorKind::kInvalidArgument:
      return kUsage;
    default:
      return kStoreFailed;
  }
}

int exit_code_of(ClientErrorKind kind) noexcept {
  switch (kind) {
    case ClientErrorKind::kInvalidInput:
      return kUsage;
    case ClientErrorKind::kNotFound:
      return kNotFound;
    case ClientErrorKind::kTimeout:
      return kTimedOut;
    case ClientErrorKind::kAlreadyExists:
    case ClientErrorKind::kStillRunning:
    case ClientErrorKind::kSubOrchestration:
      return kConflict;
    default:
      return kStoreFailed;
  }
}

namespace {

constexpr const char* kFooter =
    "Exit status: 0 success; 1 negative result or other error; 2 usage error; 3 not found; 4 timeout; "
    "5 store unavailable; 6 conflict with the instance's state.\n"
    "Run 'perdure COMMAND --help' for details; see docs/cli.md for the full reference.";

// The only way of an error out of the program, except refusals of single instances (commands/delete.cpp). Errors quote
// arguments, and an argument may be a URL at a wrong position.
int fail(Context& context, int exit_code, const std::string& text) {
  const std::string message = redacted(text);
  if (context.json) {
    context.err << json_text({{"error", message}, {"exit_code", exit_code}}, -1) << '\n';
  } else {
    context.err << "perdure: " << name_text(message) << '\n';
  }
  return exit_code;
}

// In the order of the help.
void add_commands(CLI::App& program, Context& context) {
  add_start_commands(program, context);
  add_status_command(program, context);
  add_wait_commands(program, context);
  add_message_commands(program, context);
  add_list_command(program, context);
  add_show_command(program, context);
  add_history_command(program, context);
  add_tree_command(program, context);
  add_store_view_commands(program, context);
  add_delete_commands(program, context);
  add_transfer_commands(program, context);
  add_validation_commands(program, context);
  add_bench_command(program, context);
  add_simulation_commands(program, context);
  add_torture_commands(program, context);
  add_completion_command(program, context);
  add_about_commands(program, context);
}

// Known before the arguments are parsed, because their errors keep the promise of --json too.
bool wants_json(const std::vector<std::string>& arguments) {
  const auto is_wish = [](const std::string& argument) {
    constexpr std::array<std::string_view, 5> kOff{"false", "off", "no", "disable", "0"};
    constexpr std::string_view kValue = "--json=";
    if (!argument.starts_with(kValue)) return argument == "--json";
    return std::ranges::find(kOff, std::string_view(argument).substr(kValue.size())) == kOff.end();
  };
  return std::any_of(arguments.begin(), std::find(arguments.begin(), arguments.end(), "--"), is_wish);
}

int parse_and_run(const std::vector<std::string>& arguments, Context& context) {
  context.json = wants_json(arguments);
  CLI::App program("Perdure: durable execution for C++", "perdure");
  program.require_subcommand(1);
  program.set_help_all_flag("--help-all", "Print the help of every command");
  program.set_version_flag("--version", "perdure " + engine_version().to_string(), "Print the version");
  program.footer(kFooter);
  add_commands(program, context);
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == arguments.front(); };
  if (!arguments.empty() && !arguments.front().starts_with('-') &&
      std::none_of(commands.begin(), commands.end(), is_named)) {
    return fail(context, kUsage, "there is no command '" + arguments.front() + "'; 'perdure --help' lists them");
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    program.parse(reversed);
  } catch (const CLI::Success& wanted) {  // help
    context.exit_code = program.exit(wanted, context.out, context.err);
  } catch (const CLI::ParseError& error) {
    (void)fail(context, kUsage, error.what());
    if (!context.json) context.err << "Run with --help for more information.\n";
    return kUsage;
  }
  // A list that was cut off must not look like a whole one.
  if (!context.out.flush() && context.exit_code == kSuccess) {
    return fail(context, kNegative, "standard output cannot be written; the output is incomplete");
  }
  return context.exit_code;
}

int run_reporting_errors(const std::vector<std::string>& arguments, Context& context) {
  try {
    return parse_and_run(arguments, context);
  } catch (const CommandError& error) {
    return fail(context, error.exit_code(), error.what());
  } catch (const ClientError& error) {
    return fail(context, exit_code_of(error.kind()), error.what());
  } catch (const ProviderFailure& failure) {
    return fail(context, exit_code_of(failure.error().kind()), failure.what());
  } catch (const std::invalid_argument& error) {
    return fail(context, kUsage, error.what());
  } catch (const std::exception& error) {
    return fail(context, kNegative, error.what());
  }
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, Context& context) {
  const std::string key = fresh_mark_key();
  TerminalFilter out_filter(context.out, key);
  TerminalFilter err_filter(context.err, key);
  std::ostream out(&out_filter);
  std::ostream err(&err_filter);
  err.tie(&out);
  err.setf(std::ios_base::unitbuf);
  Context filtered{.out = out,
                   .err = err,
                   .colour = context.colour,
                   .terminal = context.terminal,
                   .in = context.in,
                   .asks = context.asks,
                   .err_terminal = context.err_terminal,
                   .mark_key = key};
  const int exit_code = run_reporting_errors(arguments, filtered);
  out_filter.finish();
  err_filter.finish();
  return exit_code;
}

}  // namespace perdure::cli
