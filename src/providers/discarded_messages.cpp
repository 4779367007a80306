#include "providers/discarded_messages.h"

#include <perdure/engine_metrics.h>

namespace perdure {

void DiscardedMessages::report(const Logger& logger, const Metrics& metrics) const {
  const bool are_starts = reason == DiscardReason::kAlreadyStarted;
  logger.warn(are_starts ? "starts for an id that was taken were discarded with its deletion"
                         : "messages for an instance that does not exist were discarded",
              {{"instance_id", instance}, {"messages", std::to_string(count)}});
  if (are_starts) {
    metrics.add(metric::kMessagesIgnored, {{"reason", "already_started"}}, count);
  } else {
    metrics.add(metric::kOrphanMessagesDropped, {}, count);
  }
}

}  // namespace perdure
