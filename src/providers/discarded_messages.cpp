#include "providers/discarded_messages.h"

#include <perdure/engine_metrics.h>

namespace perdure {

void DiscardedMessages::report(const Logger& logger, const Metrics& metrics) const {
  logger.warn("messages for an instance that does not exist were discarded",
              {{"instance_id", instance}, {"messages", std::to_string(count)}});
  metrics.add(metric::kOrphanMessagesDropped, {}, count);
}

}  // namespace perdure
