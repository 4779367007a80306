#include "cli/outcome.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "cli/text.h"

namespace perdure::cli {

namespace {

Colour colour_of_state(OrchestrationState state) {
  switch (state) {
    case OrchestrationState::kCompleted:
      return Colour::kGood;
    case OrchestrationState::kFailed:
    case OrchestrationState::kCancelled:
    case OrchestrationState::kTerminated:
      return Colour::kBad;
    default:
      return Colour::kWarning;
  }
}

}  // namespace

nlohmann::json outcome_json(const std::string& instance, const OrchestrationStatus& status) {
  nlohmann::json document{{"instance", instance},
                          {"status", to_string(status.state)},
                          {"name", status.name},
                          {"version", nullptr},
                          {"execution", status.execution_id},
                          {"output", payload_json(status.output)},
                          {"error", nullptr},
                          {"custom_status", nullptr},
                          {"custom_status_version", status.custom_status_version}};
  if (status.version) document["version"] = status.version->to_string();
  if (status.error) document["error"] = status.error_text();
  if (status.custom_status) document["custom_status"] = *status.custom_status;
  return document;
}

void print_outcome(const Context& context, const std::string& instance, const OrchestrationStatus& status) {
  context.out << instance << ": " << painted(context, colour_of_state(status.state), to_string(status.state));
  if (status.output) context.out << ' ' << payload_text(status.output, std::numeric_limits<std::size_t>::max());
  if (status.error) context.out << ": " << status.error_text();
  if (!status.ended() && status.custom_status) context.out << ", " << *status.custom_status;
  context.out << '\n';
}

int exit_code_of(const OrchestrationStatus& status) noexcept {
  return status.completed() ? kSuccess : kNegative;
}

OrchestrationStatus wait_until_ended(const Client& client, const std::string& instance, Milliseconds timeout) {
  try {
    return client.wait_for_orchestration(instance, timeout);
  } catch (const ClientError& error) {
    if (error.kind() != ClientErrorKind::kTimeout) throw;
    const OrchestrationStatus status = client.get_orchestration_status(instance);
    if (status.state == OrchestrationState::kNotFound) {
      throw CommandError(kTimedOut, "there was no instance '" + instance + "' within " + duration_text(timeout) +
                                        "; check the id, or start it");
    }
    if (status.state == OrchestrationState::kPending) {
      throw CommandError(kTimedOut, "no worker has begun instance '" + instance + "' within " + duration_text(timeout) +
                                        "; does one run that has the code of '" + status.name +
                                        "'? 'perdure stuck' tells");
    }
    throw;
  }
}

}  // namespace perdure::cli
