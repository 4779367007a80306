// OutsideStore: the store of a test environment as its test sees it. A message that a planned call sends is delivered
// before everything else that is due at that moment.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <perdure/testing/forwarding_provider.h>
#include "testing/environment/virtual_clock.h"

namespace perdure::testing {

class OutsideStore final : public ForwardingProvider {
 public:
  OutsideStore(std::shared_ptr<Provider> inner, std::shared_ptr<const VirtualClock> clock)
      : ForwardingProvider(std::move(inner)), clock_(std::move(clock)) {}

  // The moment of the planned call that is being made; absent if none is. Returns that of the call before. Only the
  // driving thread may call this.
  std::optional<Timestamp> set_planned_moment(std::optional<Timestamp> moment) {
    return std::exchange(planned_moment_, moment);
  }

  std::vector<ProviderResult<void>> enqueue_messages(std::span<const MessageRecord> messages) override;

 private:
  std::shared_ptr<const VirtualClock> clock_;
  std::optional<Timestamp> planned_moment_;
};

}  // namespace perdure::testing
