#include "cli/instance_views.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <nlohmann/json.hpp>

#include <perdure/client_error.h>
#include "model/utf8.h"

namespace perdure::cli {

namespace {

Colour state_colour(OrchestrationState state) {
  switch (state) {
    case OrchestrationState::kCompleted:
      return Colour::kGood;
    case OrchestrationState::kFailed:
    case OrchestrationState::kTerminated:
    case OrchestrationState::kNotFound:
      return Colour::kBad;
    case OrchestrationState::kCancelled:
    case OrchestrationState::kPending:
      return Colour::kWarning;
    case OrchestrationState::kRunning:
      break;
  }
  return Colour::kStrong;
}

Colour status_colour(ExecutionStatus status) {
  switch (status) {
    case ExecutionStatus::kCompleted:
      return Colour::kGood;
    case ExecutionStatus::kFailed:
    case ExecutionStatus::kTerminated:
      return Colour::kBad;
    case ExecutionStatus::kCancelled:
      return Colour::kWarning;
    case ExecutionStatus::kRunning:
    case ExecutionStatus::kContinuedAsNew:
      break;
  }
  return Colour::kStrong;
}

struct ErrorKind {
  std::string operator()(const InfrastructureError& error) const { return error.operation; }
  std::string operator()(const ConfigurationError& error) const { return std::string(to_string(error.kind)); }
  std::string operator()(const ApplicationError& error) const { return std::string(to_string(error.kind)); }
  std::string operator()(const PoisonError& error) const { return std::string(to_string(error.subject)); }
};

}  // namespace

void print_json(const Context& context, const nlohmann::json& document) {
  context.out << json_text(document) << '\n';
}

void print_json_line(const Context& context, const nlohmann::json& document) {
  context.out << json_text(document, -1) << '\n';
}

std::string name_text(std::string_view name) {
  return detail::printable(name, std::numeric_limits<std::size_t>::max());
}

std::string version_text(const std::optional<SemanticVersion>& version) {
  return version ? version->to_string() : "-";
}

std::string status_text(const Context& context, ExecutionStatus status) {
  return painted(context, status_colour(status), to_string(status));
}

std::string state_text(const Context& context, OrchestrationState state) {
  return painted(context, state_colour(state), to_string(state));
}

nlohmann::json time_json(const std::optional<Timestamp>& time) {
  if (!time) return nullptr;
  return time_text(*time);
}

nlohmann::json version_json(const std::optional<SemanticVersion>& version) {
  if (!version) return nullptr;
  return version->to_string();
}

nlohmann::json text_json(const std::optional<std::string>& text) {
  if (!text) return nullptr;
  return *text;
}

nlohmann::json error_json(const ErrorDetails& error) {
  return {{"category", category(error)},
          {"kind", std::visit(ErrorKind{}, error)},
          {"message", describe(error)},
          {"retryable", is_retryable(error)}};
}

nlohmann::json status_json(const std::string& instance, const OrchestrationStatus& status) {
  return {{"instance", instance},
          {"status", to_string(status.state)},
          {"name", status.name},
          {"version", version_json(status.version)},
          {"execution_id", status.execution_id},
          {"output", payload_json(status.output)},
          {"error", status.error ? error_json(*status.error) : nlohmann::json()},
          {"custom_status", text_json(status.custom_status)},
          {"custom_status_version", status.custom_status_version}};
}

nlohmann::json instance_json(const InstanceInfo& info) {
  return {{"instance", info.id},
          {"name", info.name},
          {"version", version_json(info.version)},
          {"status", to_string(info.status)},
          {"execution_id", info.execution_id},
          {"parent", text_json(info.parent)},
          {"pinned_version", version_json(info.pinned_version)},
          {"created_at", time_json(info.created_at)},
          {"updated_at", time_json(info.updated_at)},
          {"completed_at", time_json(info.completed_at)}};
}

nlohmann::json activity_json(const QueuedActivity& activity) {
  return {{"instance", activity.instance},
          {"execution_id", activity.execution},
          {"activity_id", activity.activity_id},
          {"name", activity.name},
          {"session", text_json(activity.session)},
          {"tag", text_json(activity.tag)},
          {"scheduled_at", time_json(activity.scheduled_at)},
          {"ready_at", time_json(activity.ready_at)},
          {"locked", activity.locked},
          {"attempts", activity.attempts},
          {"heartbeat", payload_json(activity.heartbeat_details)}};
}

std::string readiness_text(const QueuedActivity& activity, Timestamp now) {
  if (activity.locked) return "locked until " + time_text(activity.ready_at);
  return activity.ready_at > now ? "delayed until " + time_text(activity.ready_at) : "ready";
}

void print_facts(const Context& context, const Facts& facts) {
  std::size_t width = 0;
  for (const auto& [label, value] : facts) width = std::max(width, label.size());
  for (const auto& [label, value] : facts) {
    context.out << "  " << painted(context, Colour::kQuiet, label) << std::string(width - label.size() + 2, ' ')
                << value << '\n';
  }
}

void throw_no_instance(const std::string& instance) {
  throw ClientError(ClientErrorKind::kNotFound, "there is no instance '" + name_text(instance) + "' in this store");
}

}  // namespace perdure::cli
