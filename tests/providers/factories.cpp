#include "providers/factories.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "providers/history_damage.h"

namespace perdure::testing {

namespace {

constexpr Timestamp kBeginning{Milliseconds{1'700'000'000'000}};
constexpr Milliseconds kOrphanRetention{3'600'000};

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

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "perdure-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder: " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

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
