#include <perdure/status.h>

namespace perdure {

std::string_view to_string(ExecutionStatus status) noexcept {
  switch (status) {
    case ExecutionStatus::kRunning:
      return "Running";
    case ExecutionStatus::kCompleted:
      return "Completed";
    case ExecutionStatus::kFailed:
      return "Failed";
    case ExecutionStatus::kCancelled:
      return "Cancelled";
    case ExecutionStatus::kTerminated:
      return "Terminated";
    case ExecutionStatus::kContinuedAsNew:
      return "ContinuedAsNew";
  }
  return "unknown";
}

}  // namespace perdure
