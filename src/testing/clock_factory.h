// ClockFactory: what factories of stores on a ManualClock have in common.
#pragma once

#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/provider_validation.h>
#include "providers/history_damage.h"

namespace perdure::testing {

// Of all stores: those that are compared must not differ in it.
inline constexpr Timestamp kBeginning{Milliseconds{1'700'000'000'000}};
inline constexpr Milliseconds kOrphanRetention{3'600'000};

class ClockFactory : public ProviderFactory {
 public:
  void advance(Milliseconds by) override { clock_->advance(by); }
  void step(Milliseconds by) override { clock_->step(by); }
  void corrupt_history(Provider& store, const std::string& instance) override {
    dynamic_cast<HistoryDamage&>(store).damage_history(instance);
  }
  [[nodiscard]] Milliseconds orphan_retention() const override { return kOrphanRetention; }

 protected:
  [[nodiscard]] SqliteOptions sqlite_options() const {
    SqliteOptions options;
    options.clock = clock_;
    options.orphan_retention = kOrphanRetention;
    return options;
  }
  [[nodiscard]] const std::shared_ptr<ManualClock>& clock() const noexcept { return clock_; }

 private:
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(kBeginning);
};

}  // namespace perdure::testing
