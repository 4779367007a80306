#include "cli/outcome.h"

#include <limits>

#include "cli/instance_views.h"
#include "cli/text.h"

namespace perdure::cli {

void print_outcome(const Context& context, const std::string& instance, const OrchestrationStatus& status) {
  context.out << name_text(instance) << ": " << state_text(context, status.state);
  if (status.output) context.out << ' ' << payload_text(status.output, std::numeric_limits<std::size_t>::max());
  if (status.error) context.out << ": " << name_text(status.error_text());
  if (!status.ended() && status.custom_status) context.out << ", " << name_text(*status.custom_status);
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
