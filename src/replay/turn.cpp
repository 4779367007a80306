#include "replay/turn.h"

namespace perdure {

std::string_view to_string(IgnoreReason reason) noexcept {
  switch (reason) {
    case IgnoreReason::kOtherExecution:
      return "it belongs to another execution";
    case IgnoreReason::kDuplicate:
      return "the operation already has its outcome";
    case IgnoreReason::kAlreadyStarted:
      return "the execution has started already";
    case IgnoreReason::kAlreadyCancelled:
      return "cancellation was already requested";
    case IgnoreReason::kForeignLink:
      return "it is from or for another parent, or another incarnation of it";
    case IgnoreReason::kExecutionEnded:
      return "the execution has ended";
    case IgnoreReason::kNotStarted:
      return "there is neither a history nor a start";
    case IgnoreReason::kNotForOrchestrations:
      return "its kind does not belong in the orchestrator queue";
    case IgnoreReason::kNobodyWaits:
      return "no subscription is open for an event of that name";
  }
  return "unknown";
}

}  // namespace perdure
