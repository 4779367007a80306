#include "testing/simulation/waitless_store.h"

#include <stdexcept>

namespace perdure::testing::simulation {

ProviderResult<bool> WaitlessStore::wait_for_change(const std::string& instance, const InstanceChange& change,
                                                    Timestamp deadline) {
  const Timestamp now = this->now();
  auto found = inner().wait_for_change(instance, change, now);
  if (!found || *found || deadline <= now) return found;
  throw std::logic_error("a wait for instance '" + instance +
                         "' in a simulated run: nothing happens while this code runs, so it would never end. Read the "
                         "status instead; a client's function can return false and is called again later");
}

}  // namespace perdure::testing::simulation
