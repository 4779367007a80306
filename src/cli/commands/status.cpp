// status
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"

namespace perdure::cli {

namespace {

int show_status(const Context& context, const std::string& instance) {
  const Client client(context.open_to_read());
  const OrchestrationStatus status = client.get_orchestration_status(instance);
  if (status.state == OrchestrationState::kNotFound) throw_no_instance(instance);
  if (context.json) {
    print_json(context, status_json(instance, status));
    return kSuccess;
  }
  Facts facts{{"orchestration", name_text(status.name) + (status.version ? ' ' + status.version->to_string() : "")},
              {"execution", std::to_string(status.execution_id)}};
  if (status.custom_status) {
    facts.emplace_back("custom status", name_text(*status.custom_status) + " (version " +
                                            std::to_string(status.custom_status_version) + ")");
  }
  if (status.output) facts.emplace_back("output", payload_text(status.output));
  if (status.error) facts.emplace_back("error", name_text(status.error_text()));
  context.out << painted(context, Colour::kStrong, name_text(instance)) << "  " << state_text(context, status.state)
              << '\n';
  print_facts(context, facts);
  return kSuccess;
}

}  // namespace

void add_status_command(CLI::App& program, Context& context) {
  const auto instance = std::make_shared<std::string>();
  CLI::App& command =
      add_store_command(program, context, "status", "Print the status of an instance without reading its history",
                        [&context, instance] { return show_status(context, *instance); });
  command.add_option("instance", *instance, "Id of the instance")->required();
}

}  // namespace perdure::cli
