// What a store reports about messages that it discards: those with must_exist of a commit or an ack, those that a
// deletion or an import finds under an id without an instance, and starts that a deletion removes.
#pragma once

#include <cstdint>
#include <string>

#include <perdure/log.h>
#include <perdure/metrics.h>

namespace perdure {

enum class DiscardReason : std::uint8_t {
  kNoInstance,      // no instance has the id
  kAlreadyStarted,  // starts without a parent that waited behind another instance or start of the id
};

// Messages to one id. Logs and counts them; call it after the transaction.
struct DiscardedMessages {
  std::string instance;
  std::uint64_t count = 1;
  DiscardReason reason = DiscardReason::kNoInstance;

  void report(const Logger& logger, const Metrics& metrics) const;
};

}  // namespace perdure
