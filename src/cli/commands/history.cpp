// history
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include <perdure/history_text.h>
#include "cli/commands.h"
#include "cli/event_views.h"
#include "cli/history_follower.h"
#include "cli/history_timeline.h"
#include "cli/instance_views.h"
#include "cli/number_argument.h"

namespace perdure::cli {

namespace {

constexpr std::size_t kShownOfPayload = 80;

struct HistoryArguments {
  std::string instance;
  ExecutionId execution = 0;  // 0: the current one
  std::string format;         // empty: a table, or JSON with --json
  bool follow = false;
  bool full = false;
  std::string timeout;

  [[nodiscard]] std::size_t longest() const { return full ? std::string::npos : kShownOfPayload; }
};

void print_event_table(const Context& context, const std::vector<Event>& history, std::size_t longest) {
  Table table({"EVENT", "TIME", "TURN", "KIND", "DETAILS"});
  for (const Event& event : history) {
    table.add({std::to_string(event.id), time_text(event.time), std::to_string(event.turn),
               painted(context, event_colour(event), kind_name(event.body)), event_text(event.body, longest)});
  }
  table.print(context);
}

// The one that was asked for, which must be there.
ExecutionId execution_of(const Client& client, const HistoryArguments& arguments) {
  const OrchestrationStatus status = client.get_orchestration_status(arguments.instance);
  if (status.state == OrchestrationState::kNotFound) throw_no_instance(arguments.instance);
  if (arguments.execution == 0) return status.execution_id;
  const auto executions = client.list_executions(arguments.instance);
  if (std::ranges::find(executions, arguments.execution) == executions.end()) {
    throw ClientError(ClientErrorKind::kNotFound, "instance '" + name_text(arguments.instance) + "' has no execution " +
                                                      std::to_string(arguments.execution) +
                                                      "; 'perdure show' lists those that there are");
  }
  return arguments.execution;
}

void print_history(const Context& context, Provider& store, const HistoryArguments& arguments, ExecutionId execution,
                   const std::vector<Event>& history) {
  if (arguments.format == "json") {
    nlohmann::json events = nlohmann::json::array();
    for (const Event& event : history) events.push_back(event_json(event));
    print_json(context, {{"instance", arguments.instance}, {"execution_id", execution}, {"events", std::move(events)}});
  } else if (arguments.format == "text") {
    context.out << write_history_text(history);
  } else if (history.empty()) {
    context.err << "instance '" << name_text(arguments.instance) << "' has not begun: no node has taken its start\n";
  } else if (arguments.format == "timeline") {
    print_timeline(context, timeline_of(history), store.now());
  } else {
    print_event_table(context, history, arguments.longest());
  }
}

int show_history(const Context& context, HistoryArguments arguments) {
  if (context.json && !arguments.format.empty() && arguments.format != "json") {
    throw std::invalid_argument("--format " + arguments.format +
                                " and --json are two formats of one output; give one of them");
  }
  if (arguments.format.empty()) arguments.format = context.json ? "json" : "table";
  if (arguments.follow && arguments.format != "table" && arguments.format != "json") {
    throw std::invalid_argument("--follow: only --format table and json can be printed event by event");
  }
  const auto store = context.open_to_read();
  const Client client(store);
  const ExecutionId execution = execution_of(client, arguments);
  if (arguments.follow) {
    follow_history(context, store,
                   {.instance = arguments.instance,
                    .execution = execution,
                    .json = arguments.format == "json",
                    .longest = arguments.longest(),
                    .timeout = arguments.timeout});
  } else {
    print_history(context, *store, arguments, execution, client.read_execution_history(arguments.instance, execution));
  }
  return kSuccess;
}

}  // namespace

void add_history_command(CLI::App& program, Context& context) {
  const auto arguments = std::make_shared<HistoryArguments>();
  CLI::App& command = add_store_command(program, context, "history", "Print the events of an execution",
                                        [&context, arguments] { return show_history(context, *arguments); });
  command.add_option("instance", arguments->instance, "The instance's id")->required();
  command.add_option("--execution", arguments->execution, "Which execution; else the current one")->check(at_least(1));
  command
      .add_option("--format", arguments->format,
                  "table; timeline: a bar for each operation; text: the format of stored histories; json")
      ->check(CLI::IsMember({"table", "timeline", "text", "json"}))
      ->default_str("table");
  CLI::Option* follow =
      command.add_flag("--follow", arguments->follow,
                       "Go on with events as they come, through later executions, until the instance has ended");
  command.add_option("--timeout", arguments->timeout, "Follow no longer than this, as 30s or 5m; exit status 4")
      ->needs(follow);
  command.add_flag("--full", arguments->full, "Do not cut long values");
}

}  // namespace perdure::cli
