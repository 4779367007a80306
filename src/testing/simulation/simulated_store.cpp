#include "testing/simulation/simulated_store.h"

#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>

namespace perdure::testing::simulation {

std::shared_ptr<Provider> make_simulated_store(StoreKind kind, const std::shared_ptr<Clock>& clock) {
  if (kind == StoreKind::kMemory) {
    MemoryProviderOptions options;
    options.clock = clock;
    return make_memory_provider(options);
  }
  SqliteOptions options;
  options.clock = clock;
  options.synchronous = SqliteSynchronous::kNormal;
  return SqliteProvider::open(":memory:", options);
}

}  // namespace perdure::testing::simulation
