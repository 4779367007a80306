// What a memory provider reports after a transaction, outside the mutex: a sink may take its time, or call the
// provider.
#pragma once

#include <utility>
#include <vector>

#include <perdure/log.h>
#include <perdure/metrics.h>
#include "providers/discarded_messages.h"
#include "providers/memory/transactions.h"

namespace perdure::memory {

struct Reports {
  Logger logger;
  Metrics metrics;

  // Calls operation(store, now) in a transaction, wakes all waits, and reports the messages that it discarded.
  template <class Operation>
  auto change(Transactions& transactions, Operation operation) const {
    std::vector<DiscardedMessages> discarded;
    auto outcome = transactions.run_and_notify([&](Store& store, Timestamp now) {
      auto result = operation(store, now);
      discarded = std::exchange(store.discarded, {});
      return result;
    });
    for (const DiscardedMessages& each : discarded) each.report(logger, metrics);
    return outcome;
  }
};

}  // namespace perdure::memory
