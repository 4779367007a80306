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

Milliseconds set_clock_of(Provider& store, ManualClock& clock, Milliseconds by) {
  // SQLite measures a jump from the time that it has saved. A transaction that changes something saves it.
  NodeInfo node;
  node.id = "the administrator of the clock";
  store.register_node(node).value();
  store.remove_node(node.id).value();
  const Timestamp before = store.now();
  // A smaller jump may be taken for a clock that is disciplined, and then the store extends no locks.
  if (by > before - clock.now()) by += Milliseconds(1'002);
  clock.step(by);
  return store.now() - before;
}

}  // namespace perdure::testing::simulation
