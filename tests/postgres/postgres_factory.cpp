#include "postgres/postgres_factory.h"

#include <mutex>
#include <string>
#include <vector>

#include "providers/factories.h"
#include "providers/history_damage.h"
#include "support/postgres_schema.h"

namespace perdure::testing {

namespace {

class PostgresFactory final : public ProviderFactory {
 public:
  std::shared_ptr<Provider> create() override {
    PostgresOptions options;
    options.connections = 4;
    options.orphan_retention = kOrphanRetention;
    const std::scoped_lock lock(mutex_);
    schemas_.push_back(std::make_unique<test::PostgresSchema>(kBeginning + moved_));
    return schemas_.back()->connect(options);
  }
  void advance(Milliseconds by) override {
    const std::scoped_lock lock(mutex_);
    moved_ += by;
    for (const auto& schema : schemas_) schema->advance(by);
  }
  void step(Milliseconds by) override {
    const std::scoped_lock lock(mutex_);
    moved_ += by;
    for (const auto& schema : schemas_) schema->step(by);
  }
  void corrupt_history(Provider& store, const std::string& instance) override {
    dynamic_cast<HistoryDamage&>(store).damage_history(instance);
  }
  [[nodiscard]] Milliseconds orphan_retention() const override { return kOrphanRetention; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<test::PostgresSchema>> schemas_;
  Milliseconds moved_{0};
};

}  // namespace

std::unique_ptr<ProviderFactory> make_postgres_factory() {
  return std::make_unique<PostgresFactory>();
}

}  // namespace perdure::testing
