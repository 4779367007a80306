// show
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "client/store_result.h"

namespace perdure::cli {

namespace {

// Of the lists; more is told by number.
constexpr std::size_t kShownOfEach = 20;

struct InstanceDetails {
  OrchestrationStatus status;
  std::optional<InstanceInfo> info;  // absent: its start is queued
  std::vector<ExecutionInfo> executions;
  std::vector<QueuedActivity> activities;
  bool more_activities = false;
  std::vector<std::string> children;
  InstanceStats stats;
  Timestamp now{};
};

InstanceDetails read_details(Provider& store, const Client& client, const std::string& instance) {
  InstanceDetails details;
  details.status = client.get_orchestration_status(instance);
  if (details.status.state == OrchestrationState::kNotFound) throw_no_instance(instance);
  details.now = store.now();
  if (details.status.state == OrchestrationState::kPending) return details;
  details.info = client.get_instance_info(instance);
  const auto executions = client.list_executions(instance);
  details.executions.reserve(executions.size());
  for (const ExecutionId execution : executions) {
    details.executions.push_back(client.get_execution_info(instance, execution));
  }
  ActivityPage page = client.list_activities({.instance = instance, .limit = 1'000, .cursor = {}});
  details.activities = std::move(page.activities);
  details.more_activities = !page.next.empty();
  details.children = value_of(store.admin()->list_children(instance));
  details.stats = client.get_orchestration_stats(instance).value_or(InstanceStats());
  return details;
}

nlohmann::json details_json(const std::string& instance, const InstanceDetails& details) {
  nlohmann::json document = status_json(instance, details.status);
  if (details.info) document.update(instance_json(*details.info));
  // Of the instance, as clients see it, and not of its latest execution.
  document["status"] = to_string(details.status.state);
  nlohmann::json executions = nlohmann::json::array();
  for (const ExecutionInfo& execution : details.executions) {
    executions.push_back({{"execution_id", execution.execution_id},
                          {"status", to_string(execution.status)},
                          {"pinned_version", version_json(execution.pinned_version)},
                          {"started_at", time_json(execution.started_at)},
                          {"completed_at", time_json(execution.completed_at)},
                          {"events", execution.events}});
  }
  nlohmann::json activities = nlohmann::json::array();
  for (const QueuedActivity& activity : details.activities) activities.push_back(activity_json(activity));
  document["executions"] = std::move(executions);
  document["open_activities"] = std::move(activities);
  document["more_open_activities"] = details.more_activities;
  document["children"] = details.children;
  document["stats"] = {{"history_events", details.stats.history_events},
                       {"history_bytes", details.stats.history_bytes},
                       {"carried_forward", details.stats.carried_forward},
                       {"key_values", details.stats.key_values},
                       {"key_value_bytes", details.stats.key_value_bytes}};
  return document;
}

Facts facts_of(const InstanceDetails& details, std::size_t longest_value) {
  const OrchestrationStatus& status = details.status;
  Facts facts{{"orchestration", name_text(status.name) + (status.version ? ' ' + status.version->to_string() : "")}};
  if (details.info) {
    const InstanceInfo& info = *details.info;
    facts.emplace_back("execution", std::to_string(info.execution_id));
    if (info.pinned_version) facts.emplace_back("engine version", info.pinned_version->to_string());
    if (info.parent) facts.emplace_back("parent", name_text(*info.parent));
    facts.emplace_back("created", time_text(info.created_at));
    facts.emplace_back("updated", time_text(info.updated_at));
    if (info.completed_at && status.ended()) {
      facts.emplace_back(
          "ended", time_text(*info.completed_at) + ", after " + duration_text(*info.completed_at - info.created_at));
    }
  }
  if (status.custom_status) {
    facts.emplace_back("custom status", name_text(*status.custom_status) + " (version " +
                                            std::to_string(status.custom_status_version) + ")");
  }
  if (status.output) facts.emplace_back("output", payload_text(status.output, longest_value));
  if (status.error) {
    facts.emplace_back("error", name_text(status.error_text()));
    facts.emplace_back("category", std::string(category(*status.error)));
  }
  const InstanceStats& stats = details.stats;
  facts.emplace_back("history", std::to_string(stats.history_events) + " events, " +
                                    std::to_string(stats.history_bytes) + " bytes in this execution");
  facts.emplace_back("values",
                     std::to_string(stats.key_values) + ", " + std::to_string(stats.key_value_bytes) + " bytes");
  if (stats.carried_forward > 0) facts.emplace_back("carried forward", std::to_string(stats.carried_forward));
  return facts;
}

void print_executions(const Context& context, const std::vector<ExecutionInfo>& executions) {
  Table table({"EXECUTION", "STATUS", "STARTED", "ENDED", "EVENTS"});
  const std::size_t first = executions.size() > kShownOfEach ? executions.size() - kShownOfEach : 0;
  for (std::size_t i = first; i < executions.size(); ++i) {
    const ExecutionInfo& execution = executions[i];
    table.add({std::to_string(execution.execution_id), status_text(context, execution.status),
               time_text(execution.started_at), execution.completed_at ? time_text(*execution.completed_at) : "-",
               std::to_string(execution.events)});
  }
  context.out << '\n';
  table.print(context);
  if (first > 0) context.out << first << " earlier executions; --json lists all\n";
}

void print_open_activities(const Context& context, const InstanceDetails& details) {
  Table table({"ACTIVITY", "NAME", "ATTEMPTS", "STATE", "HEARTBEAT"});
  for (std::size_t i = 0; i < details.activities.size() && i < kShownOfEach; ++i) {
    const QueuedActivity& activity = details.activities[i];
    table.add({std::to_string(activity.activity_id), name_text(activity.name), std::to_string(activity.attempts),
               readiness_text(activity, details.now), payload_text(activity.heartbeat_details, 60)});
  }
  context.out << '\n';
  table.print(context);
  if (details.activities.size() > kShownOfEach) {
    context.out << details.activities.size() - kShownOfEach << (details.more_activities ? " and more" : "")
                << " activities after these; --json lists them\n";
  }
}

int show_instance(const Context& context, const std::string& instance, bool full) {
  const auto store = context.open_to_read();
  const Client client(store);
  const InstanceDetails details = read_details(*store, client, instance);
  if (context.json) {
    print_json(context, details_json(instance, details));
    return kSuccess;
  }
  context.out << painted(context, Colour::kStrong, name_text(instance)) << "  "
              << state_text(context, details.status.state) << '\n';
  print_facts(context, facts_of(details, full ? std::string::npos : 400));
  if (!details.executions.empty()) print_executions(context, details.executions);
  if (!details.activities.empty()) print_open_activities(context, details);
  if (!details.children.empty()) {
    context.out << "\n" << painted(context, Colour::kStrong, "CHILDREN") << '\n';
    for (std::size_t i = 0; i < details.children.size() && i < kShownOfEach; ++i) {
      context.out << name_text(details.children[i]) << '\n';
    }
    if (details.children.size() > kShownOfEach) {
      context.out << details.children.size() - kShownOfEach << " more; 'perdure tree' prints them\n";
    }
  }
  return kSuccess;
}

}  // namespace

void add_show_command(CLI::App& program, Context& context) {
  const auto instance = std::make_shared<std::string>();
  const auto full = std::make_shared<bool>(false);
  CLI::App& command =
      add_store_command(program, context, "show",
                        "Show an instance: executions, open activities, children, sizes, and its result or error",
                        [&context, instance, full] { return show_instance(context, *instance, *full); });
  command.add_option("instance", *instance, "Id of the instance")->required();
  command.add_flag("--full", *full, "Print long outputs in full");
}

}  // namespace perdure::cli
