#include <perdure/orchestration_status.h>

namespace perdure {

std::string_view to_string(OrchestrationState state) noexcept {
  switch (state) {
    case OrchestrationState::kNotFound:
      return "NotFound";
    case OrchestrationState::kPending:
      return "Pending";
    case OrchestrationState::kRunning:
      return "Running";
    case OrchestrationState::kCompleted:
      return "Completed";
    case OrchestrationState::kFailed:
      return "Failed";
    case OrchestrationState::kCancelled:
      return "Cancelled";
    case OrchestrationState::kTerminated:
      return "Terminated";
  }
  return "unknown";
}

void OrchestrationStatus::check_completed() const {
  if (completed()) return;
  if (error) throw OrchestrationFailure(*error);
  if (state == OrchestrationState::kNotFound) {
    throw ClientError(ClientErrorKind::kNotFound, "the instance does not exist, so it has no result");
  }
  throw ClientError(ClientErrorKind::kStillRunning,
                    "orchestration '" + name + "' has not ended, so it has no result yet");
}

}  // namespace perdure
