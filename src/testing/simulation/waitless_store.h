// WaitlessStore: a store on which nobody can wait. A simulated run has one thread, so a wait for what others do would
// be a wait for ever: it is refused with a sentence instead.
#pragma once

#include <string>

#include <perdure/testing/forwarding_provider.h>

namespace perdure::testing::simulation {

class WaitlessStore final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  // Throws std::logic_error unless it is there already, or the deadline is.
  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override;
};

}  // namespace perdure::testing::simulation
