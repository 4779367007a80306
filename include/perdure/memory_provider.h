// A store in memory: complete, fast, gone with the process. The reference that other providers are compared with.
#pragma once

#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>
#include <perdure/provider_admin.h>

namespace perdure {

struct MemoryProviderOptions {
  std::shared_ptr<Clock> clock;               // null: the machine's
  Milliseconds orphan_retention{86'400'000};  // messages for an instance that never starts are dropped after this time
  Logger logger;
  Metrics metrics;
};

// Returns an empty in-memory provider. It is deterministic: identical calls at identical times return identical
// results, except for lock tokens.
[[nodiscard]] std::shared_ptr<Provider> make_memory_provider(MemoryProviderOptions options = {});

}  // namespace perdure
