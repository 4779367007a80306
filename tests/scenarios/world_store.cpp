#include "scenarios/world_store.h"

#include <utility>

#include <perdure/memory_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/forwarding_provider.h>
#include "providers/history_damage.h"
#include "support/postgres_schema.h"

namespace perdure::test {

namespace {

constexpr Timestamp kStart{Milliseconds(1'700'000'000'000)};

class WithClock final : public testing::ForwardingProvider {
 public:
  WithClock(std::shared_ptr<Provider> inner, std::shared_ptr<Clock> clock)
      : ForwardingProvider(std::move(inner)), clock_(std::move(clock)) {}
  [[nodiscard]] Timestamp now() override { return clock_->now(); }
  [[nodiscard]] Milliseconds steady() override { return clock_->steady(); }

 private:
  std::shared_ptr<Clock> clock_;
};

}  // namespace

std::string name_of(StoreKind kind) {
  switch (kind) {
    case StoreKind::kMemory:
      return "Memory";
    case StoreKind::kSqlite:
      return "Sqlite";
    case StoreKind::kPostgres:
      return "Postgres";
  }
  return "Unknown";
}

WorldStore::WorldStore(StoreKind kind, NowFrom now_from, const Logger& logger, const Metrics& metrics)
    : clock_(std::make_shared<ManualClock>(kStart)) {
  if (kind == StoreKind::kMemory) {
    real_ = make_memory_provider({.clock = clock_, .logger = logger, .metrics = metrics});
  } else if (kind == StoreKind::kSqlite) {
    SqliteOptions options;
    options.clock = clock_;
    options.logger = logger;
    options.metrics = metrics;
    real_ = SqliteProvider::open(":memory:", options);
  } else {
    PostgresOptions options;
    options.logger = logger;
    options.metrics = metrics;
    schema_ = std::make_unique<PostgresSchema>(kStart);
    real_ = schema_->connect(options);
  }
  const bool asks_clock = kind == StoreKind::kPostgres && now_from == NowFrom::kClock;
  provider_ = asks_clock ? std::make_shared<WithClock>(real_, clock_) : real_;
}

WorldStore::~WorldStore() = default;

// The store first: a node takes its own time first and the store's second, and what it concludes from a difference that
// is too small is to look again too early.
void WorldStore::advance(Milliseconds by) {
  if (schema_) schema_->advance(by);
  clock_->advance(by);
}

void WorldStore::damage_history(const std::string& instance) {
  dynamic_cast<HistoryDamage&>(*real_).damage_history(instance);
}

}  // namespace perdure::test
