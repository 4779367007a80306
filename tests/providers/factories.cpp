#include "providers/factories.h"

#include <utility>

#include "providers/history_damage.h"

namespace perdure::testing {

namespace {

class ClockFactory : public ProviderFactory {
 public:
  void advance(Milliseconds by) override { clock_->advance(by); }
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

class MemoryFactory final : public ClockFactory {
 public:
  std::shared_ptr<Provider> create() override {
    MemoryProviderOptions options;
    options.clock = clock();
    options.orphan_retention = kOrphanRetention;
    return make_memory_provider(std::move(options));
  }
};

class SqliteMemoryFactory final : public ClockFactory {
 public:
  std::shared_ptr<Provider> create() override { return SqliteProvider::open(":memory:", sqlite_options()); }
};

class SqliteFileFactory final : public ClockFactory {
 public:
  std::shared_ptr<Provider> create() override {
    SqliteOptions options = sqlite_options();
    options.synchronous = SqliteSynchronous::kNormal;  // the same statements, without the disk's time
    return SqliteProvider::open(folder_.file("store" + std::to_string(++stores_) + ".db"), std::move(options));
  }

 private:
  TemporaryFolder folder_;
  int stores_ = 0;
};

}  // namespace

std::unique_ptr<ProviderFactory> make_memory_factory() {
  return std::make_unique<MemoryFactory>();
}

std::unique_ptr<ProviderFactory> make_sqlite_file_factory() {
  return std::make_unique<SqliteFileFactory>();
}

std::unique_ptr<ProviderFactory> make_sqlite_memory_factory() {
  return std::make_unique<SqliteMemoryFactory>();
}

}  // namespace perdure::testing
