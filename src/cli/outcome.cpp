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
      throw CommandError(kTimedOut, "instance '" + instance + "' was not started within " + duration_text(timeout) +
                                        "; check the id, or start it");
    }
    if (status.state == OrchestrationState::kPending) {
      throw CommandError(kTimedOut, "instance '" + instance + "' was not run by any node within " +
                                        duration_text(timeout) + "; check that a node with the code of '" +
                                        status.name + "' is running, for example with 'perdure stuck'");
    }
    throw;
  }
}

}  // namespace perdure::cli
