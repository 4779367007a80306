// start
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "cli/outcome.h"
#include "cli/payload_argument.h"
#include "cli/time_argument.h"

namespace perdure::cli {

namespace {

struct StartArguments {
  std::string instance;
  std::string orchestration;
  PayloadArgument input;
  std::string version;
  std::string if_exists = "ignore";
  bool create = false;
  bool wait = false;
  std::string timeout = "30s";
};

StartPolicy start_policy_of(const std::string& if_exists) {
  if (if_exists == "fail") return StartPolicy::kFail;
  return if_exists == "replace" ? StartPolicy::kReplaceIfTerminal : StartPolicy::kIgnore;
}

const char* start_outcome_name(StartOutcome outcome) {
  switch (outcome) {
    case StartOutcome::kIgnored:
      return "ignored";
    case StartOutcome::kReplaced:
      return "replaced";
    case StartOutcome::kEnqueued:
      break;
  }
  return "started";
}

void print_start(const Context& context, const StartArguments& start, StartOutcome outcome) {
  if (outcome == StartOutcome::kIgnored) {
    context.out << name_text(start.instance) << " already exists; nothing was started\n";
  } else {
    context.out << start_outcome_name(outcome) << ' ' << name_text(start.instance) << " ("
                << name_text(start.orchestration) << ")\n";
  }
}

int run_start(const Context& context, const StartArguments& start) {
  const Milliseconds timeout = parse_duration("--timeout", start.timeout);
  StartInstanceOptions options;
  options.policy(start_policy_of(start.if_exists));
  if (!start.version.empty()) options.version(start.version);
  const Payload input = payload_of(start.input, context);
  OpenOptions open;
  open.create = start.create;
  const Client client(context.open(open));
  const StartOutcome outcome = client.start_orchestration(start.instance, start.orchestration, Raw(input), options);
  if (!context.json) print_start(context, start, outcome);
  if (!start.wait) {
    if (context.json) {
      const nlohmann::json document{
          {"instance", start.instance}, {"name", start.orchestration}, {"outcome", start_outcome_name(outcome)}};
      print_json(context, document);
    }
    return kSuccess;
  }
  const OrchestrationStatus status = wait_until_ended(client, start.instance, timeout);
  if (context.json) {
    nlohmann::json document = status_json(start.instance, status);
    document["outcome"] = start_outcome_name(outcome);
    print_json(context, document);
  } else {
    print_outcome(context, start.instance, status);
  }
  return exit_code_of(status);
}

}  // namespace

void add_start_commands(CLI::App& program, Context& context) {
  const auto start = std::make_shared<StartArguments>();
  CLI::App& command = add_store_command(program, context, "start", "Start an orchestration",
                                        [&context, start] { return run_start(context, *start); });
  command.add_option("instance", start->instance, "Id of the new instance")->required();
  command.add_option("orchestration", start->orchestration, "Name under which the code is registered")->required();
  add_payload_options(command, start->input, "--input", "Input of the orchestration");
  command.add_option("--version", start->version,
                     "Version of the code, as 1.2.3 (default: chosen by the version policy of the node)");
  command
      .add_option("--if-exists", start->if_exists,
                  "Action if the instance exists: ignore, fail, or replace an instance that has ended")
      ->check(CLI::IsMember({"ignore", "fail", "replace"}))
      ->capture_default_str();
  command.add_flag("--create", start->create, "Create the SQLite file if it does not exist");
  command.add_flag("--wait", start->wait, "Wait until the instance has ended and exit like 'perdure wait'");
  command.add_option("--timeout", start->timeout, "Timeout of --wait")->capture_default_str();
}

}  // namespace perdure::cli
