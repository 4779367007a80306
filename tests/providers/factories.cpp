#include "providers/factories.h"

#include <utility>

namespace perdure::testing {

namespace {

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
