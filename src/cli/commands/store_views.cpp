// kv, queues, nodes, stuck, metrics
#include <memory>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include <perdure/metrics.h>
#include "cli/commands.h"
#include "cli/instance_views.h"
#include "client/store_result.h"
#include "model/utf8.h"

namespace perdure::cli {

namespace {

// ---- kv ----

constexpr std::size_t kShownOfKey = 100;  // in an error

struct KvArguments {
  std::string instance;
  std::string key;
  bool full = false;
};

int show_one_value(const Context& context, Provider& store, const KvArguments& arguments) {
  const Payload value = value_of(store.read_key_value(arguments.instance, arguments.key));
  if (!value) {
    throw ClientError(ClientErrorKind::kNotFound, "instance '" + name_text(arguments.instance) +
                                                      "' has no value for key '" +
                                                      detail::printable(arguments.key, kShownOfKey) + "'");
  }
  if (context.json) {
    print_json(context, {{"instance", arguments.instance}, {"key", arguments.key}, {"value", payload_json(value)}});
  } else {
    context.out << payload_text(value, std::string::npos) << '\n';  // alone and whole, for scripts
  }
  return kSuccess;
}

int show_values(const Context& context, const KvArguments& arguments) {
  const auto store = context.open_to_read();
  const Client client(store);
  if (client.get_orchestration_status(arguments.instance).state == OrchestrationState::kNotFound) {
    throw_no_instance(arguments.instance);
  }
  if (!arguments.key.empty()) return show_one_value(context, *store, arguments);
  const auto values = value_of(store->read_key_values(arguments.instance));
  if (context.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const KeyValue& entry : values) {
      listed.push_back(
          {{"key", entry.key}, {"value", payload_json(entry.value)}, {"updated_at", time_json(entry.updated_at)}});
    }
    print_json(context, {{"instance", arguments.instance}, {"values", std::move(listed)}});
    return kSuccess;
  }
  if (values.empty()) {
    context.err << "instance '" << name_text(arguments.instance) << "' has no values\n";
    return kSuccess;
  }
  Table table({"KEY", "UPDATED", "VALUE"});
  for (const KeyValue& entry : values) {
    table.add({name_text(entry.key), time_text(entry.updated_at),
               payload_text(entry.value, arguments.full ? std::string::npos : 120)});
  }
  table.print(context);
  return kSuccess;
}

void add_kv(CLI::App& program, Context& context) {
  const auto arguments = std::make_shared<KvArguments>();
  CLI::App& command = add_store_command(program, context, "kv", "Show the values of an instance or of one key",
                                        [&context, arguments] { return show_values(context, *arguments); });
  command.add_option("instance", arguments->instance, "Id of the instance")->required();
  command.add_option("key", arguments->key,
                     "Print only the value of this key, in full (exit status 3 if there is none)");
  command.add_flag("--full", arguments->full, "Print long values in full");
}

// ---- queues ----

struct QueueArguments {
  bool activities = false;
  ActivityQuery query;
  std::string instance;
};

nlohmann::json depths_json(const QueueDepths& depths) {
  return {{"messages", depths.messages},
          {"delayed_messages", depths.delayed_messages},
          {"activities", depths.activities},
          {"locked_activities", depths.locked_activities},
          {"delayed_activities", depths.delayed_activities}};
}

void print_depths(const Context& context, const QueueDepths& depths) {
  Table table({"QUEUE", "READY", "LOCKED", "DELAYED"});
  // Messages are locked with their instance, and counted as ready.
  table.add({"orchestrator", std::to_string(depths.messages), "-", std::to_string(depths.delayed_messages)});
  table.add({"worker", std::to_string(depths.activities), std::to_string(depths.locked_activities),
             std::to_string(depths.delayed_activities)});
  table.print(context);
}

void print_activities(const Context& context, const ActivityPage& page, Timestamp now) {
  if (page.activities.empty()) {
    context.err << "no activity is queued\n";
    return;
  }
  Table table(
      {"INSTANCE", "EXECUTION", "ACTIVITY", "NAME", "TAG", "SESSION", "SCHEDULED", "ATTEMPTS", "STATE", "HEARTBEAT"});
  for (const QueuedActivity& activity : page.activities) {
    table.add({name_text(activity.instance), std::to_string(activity.execution), std::to_string(activity.activity_id),
               name_text(activity.name), name_text(activity.tag.value_or("-")),
               name_text(activity.session.value_or("-")), time_text(activity.scheduled_at),
               std::to_string(activity.attempts), readiness_text(activity, now),
               payload_text(activity.heartbeat_details, 60)});
  }
  table.print(context);
  if (!page.next.empty())
    context.err << "more activities are queued; use --cursor '" << page.next << "' for the next page\n";
}

int show_queues(const Context& context, const QueueArguments& arguments) {
  const auto store = context.open_to_read();
  const Client client(store);
  const QueueDepths depths = client.get_queue_depths();
  ActivityQuery query = arguments.query;
  if (!arguments.instance.empty()) query.instance = arguments.instance;
  ActivityPage page;
  if (arguments.activities) page = client.list_activities(query);
  if (!context.json) {
    print_depths(context, depths);
    if (arguments.activities) {
      context.out << '\n';
      print_activities(context, page, store->now());
    }
    return kSuccess;
  }
  nlohmann::json document = depths_json(depths);
  if (arguments.activities) {
    nlohmann::json listed = nlohmann::json::array();
    for (const QueuedActivity& activity : page.activities) listed.push_back(activity_json(activity));
    document["queued_activities"] = std::move(listed);
    document["next"] = page.next.empty() ? nlohmann::json() : nlohmann::json(page.next);
  }
  print_json(context, document);
  return kSuccess;
}

void add_queues(CLI::App& program, Context& context) {
  const auto arguments = std::make_shared<QueueArguments>();
  CLI::App& command = add_store_command(program, context, "queues", "Show the depths of the queues",
                                        [&context, arguments] { return show_queues(context, *arguments); });
  CLI::Option* activities = command.add_flag("--activities", arguments->activities,
                                             "List the queued activities with attempts, locks and heartbeats");
  command.add_option("--instance", arguments->instance, "List only activities of this instance")->needs(activities);
  command.add_option("--limit", arguments->query.limit, "Number of activities per page")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--cursor", arguments->query.cursor, "Continue after the page that returned CURSOR")
      ->needs(activities);
}

// ---- nodes ----

std::string comma_joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + name_text(word);
  return text.empty() ? "-" : text;
}

std::vector<std::string> orchestrations_of(const NodeInfo& node) {
  std::vector<std::string> names;
  names.reserve(node.orchestrations.size());
  for (const OrchestrationVersion& entry : node.orchestrations) {
    names.push_back(entry.name + ' ' + entry.version.to_string());
  }
  return names;
}

std::string tags_text(const TagFilter& tags) {
  if (tags.takes_any()) return "any";
  if (tags.takes_nothing()) return "no activities";
  std::vector<std::string> words = tags.listed();
  if (tags.takes_untagged()) words.insert(words.begin(), "untagged");
  return comma_joined(words);
}

nlohmann::json node_json(const NodeInfo& node) {
  nlohmann::json orchestrations = nlohmann::json::array();
  for (const OrchestrationVersion& entry : node.orchestrations) {
    orchestrations.push_back({{"name", entry.name}, {"version", entry.version.to_string()}});
  }
  nlohmann::json ranges = nlohmann::json::array();
  for (const VersionRange& range : node.filter.engine_versions) {
    ranges.push_back({{"min", range.min.to_string()}, {"max", range.max.to_string()}});
  }
  return {{"node", node.id},
          {"engine_version", node.engine_version.to_string()},
          {"registered_at", time_json(node.registered_at)},
          {"orchestrations", std::move(orchestrations)},
          {"activities", node.activities},
          {"replays_engine_versions", std::move(ranges)},
          {"tags",
           {{"any", node.tags.takes_any()}, {"untagged", node.tags.takes_untagged()}, {"listed", node.tags.listed()}}}};
}

int show_nodes(const Context& context) {
  const std::vector<NodeInfo> nodes = Client(context.open_to_read()).list_nodes();
  if (context.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const NodeInfo& node : nodes) listed.push_back(node_json(node));
    print_json(context, {{"nodes", std::move(listed)}});
    return kSuccess;
  }
  if (nodes.empty()) context.err << "no node is registered\n";
  for (const NodeInfo& node : nodes) {
    context.out << painted(context, Colour::kStrong, name_text(node.id)) << '\n';
    print_facts(context, {{"engine version", node.engine_version.to_string()},
                          {"registered", time_text(node.registered_at)},
                          {"orchestrations", comma_joined(orchestrations_of(node))},
                          {"activities", comma_joined(node.activities)},
                          {"tags", tags_text(node.tags)}});
  }
  return kSuccess;
}

// ---- stuck ----

int show_stuck(const Context& context, std::size_t limit) {
  const std::vector<StuckInstance> stuck = Client(context.open_to_read()).find_stuck_instances(limit);
  const int exit_code = stuck.empty() ? kSuccess : kNegative;
  if (context.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const StuckInstance& entry : stuck) {
      listed.push_back({{"instance", entry.instance}, {"reason", entry.reason}});
    }
    print_json(context, {{"stuck", std::move(listed)}});
    return exit_code;
  }
  if (stuck.empty()) {
    context.err << "nothing is stuck\n";
    return exit_code;
  }
  Table table({"INSTANCE", "REASON"});
  for (const StuckInstance& entry : stuck) {
    table.add({painted(context, Colour::kWarning, name_text(entry.instance)), name_text(entry.reason)});
  }
  table.print(context);
  return exit_code;
}

void add_stuck(CLI::App& program, Context& context) {
  const auto limit = std::make_shared<std::size_t>(kDefaultBulkLimit);
  CLI::App& command = add_store_command(
      program, context, "stuck", "List instances that no registered node can run (exit status 1 if there are any)",
      [&context, limit] { return show_stuck(context, *limit); });
  command.add_option("--limit", *limit, "Print at most N instances of each kind")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

// ---- metrics ----

std::string store_metrics_text(const SystemMetrics& metrics, const QueueDepths& depths) {
  constexpr MetricId kInstances{"perdure_store_instances", MetricType::kGauge,
                                "Instances in the store, by the status of their current execution."};
  constexpr MetricId kExecutions{"perdure_store_executions", MetricType::kGauge, "Executions in the store."};
  constexpr MetricId kEvents{"perdure_store_events", MetricType::kGauge, "History events in the store."};
  constexpr MetricId kQueue{"perdure_store_queue_depth", MetricType::kGauge,
                            "Messages and activities in the queues: ready, locked or delayed."};
  InMemoryMetrics text;
  const auto set = [&text](const MetricId& id, MetricLabels labels, std::uint64_t value) {
    text.set(id, labels, static_cast<double>(value));
  };
  set(kInstances, {{"status", "running"}}, metrics.running);
  set(kInstances, {{"status", "completed"}}, metrics.completed);
  // Each instance in one series, so that they can be added up.
  set(kInstances, {{"status", "failed"}}, metrics.failed - metrics.cancelled - metrics.terminated);
  set(kInstances, {{"status", "cancelled"}}, metrics.cancelled);
  set(kInstances, {{"status", "terminated"}}, metrics.terminated);
  set(kExecutions, {}, metrics.executions);
  set(kEvents, {}, metrics.events);
  set(kQueue, {{"queue", "orchestrator"}, {"state", "ready"}}, depths.messages);
  set(kQueue, {{"queue", "orchestrator"}, {"state", "delayed"}}, depths.delayed_messages);
  set(kQueue, {{"queue", "worker"}, {"state", "ready"}}, depths.activities);
  set(kQueue, {{"queue", "worker"}, {"state", "locked"}}, depths.locked_activities);
  set(kQueue, {{"queue", "worker"}, {"state", "delayed"}}, depths.delayed_activities);
  return text.prometheus_text();
}

int show_metrics(const Context& context, bool prometheus) {
  if (prometheus && context.json) {
    throw std::invalid_argument("--prometheus cannot be combined with --json; pass one of them");
  }
  const Client client(context.open_to_read());
  const SystemMetrics metrics = client.get_system_metrics();
  const QueueDepths depths = client.get_queue_depths();
  if (prometheus) {
    context.out << store_metrics_text(metrics, depths);
    return kSuccess;
  }
  const std::uint64_t failed = metrics.failed - metrics.cancelled - metrics.terminated;
  if (context.json) {
    print_json(context, {{"instances", metrics.instances},
                         {"executions", metrics.executions},
                         {"events", metrics.events},
                         {"running", metrics.running},
                         {"completed", metrics.completed},
                         {"failed", failed},
                         {"cancelled", metrics.cancelled},
                         {"terminated", metrics.terminated},
                         {"queues", depths_json(depths)}});
    return kSuccess;
  }
  print_facts(context, {{"instances", std::to_string(metrics.instances)},
                        {"running", std::to_string(metrics.running)},
                        {"completed", std::to_string(metrics.completed)},
                        {"failed", std::to_string(failed)},
                        {"cancelled", std::to_string(metrics.cancelled)},
                        {"terminated", std::to_string(metrics.terminated)},
                        {"executions", std::to_string(metrics.executions)},
                        {"events", std::to_string(metrics.events)}});
  context.out << '\n';
  print_depths(context, depths);
  return kSuccess;
}

void add_metrics(CLI::App& program, Context& context) {
  const auto prometheus = std::make_shared<bool>(false);
  CLI::App& command = add_store_command(program, context, "metrics", "Show instance counts and queue depths",
                                        [&context, prometheus] { return show_metrics(context, *prometheus); });
  command.add_flag("--prometheus", *prometheus, "Print in the Prometheus text format");
}

}  // namespace

void add_store_view_commands(CLI::App& program, Context& context) {
  add_kv(program, context);
  add_queues(program, context);
  add_store_command(program, context, "nodes", "List the registered nodes with their code",
                    [&context] { return show_nodes(context); });
  add_stuck(program, context);
  add_metrics(program, context);
}

}  // namespace perdure::cli
