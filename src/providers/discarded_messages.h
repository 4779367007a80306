// What a store reports about messages with must_exist that a commit or an ack discards, and about messages that an
// import discards.
#pragma once

#include <cstdint>
#include <string>

#include <perdure/log.h>
#include <perdure/metrics.h>

namespace perdure {

// Messages to one instance that does not exist. Logs and counts them; call it after the transaction.
struct DiscardedMessages {
  std::string instance;
  std::uint64_t count = 1;

  void report(const Logger& logger, const Metrics& metrics) const;
};

}  // namespace perdure
