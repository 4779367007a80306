// WorldStore: an empty store of some kind, with a clock that is moved. The nodes on it have a clock of their own, which
// moves with it.
#pragma once

#include <memory>
#include <string>

#include <perdure/clock.h>
#include <perdure/log.h>
#include <perdure/metrics.h>
#include <perdure/provider.h>

namespace perdure::test {

class PostgresSchema;

enum class StoreKind { kMemory, kSqlite, kPostgres };

[[nodiscard]] std::string name_of(StoreKind kind);

// Where a store in PostgreSQL gets its now() from. Nodes without threads ask for it several times at each step, and
// always get the same answer; each time the server would have to be asked.
enum class NowFrom { kServer, kClock };

class WorldStore {
 public:
  WorldStore(StoreKind kind, NowFrom now_from, const Logger& logger, const Metrics& metrics);
  ~WorldStore();
  WorldStore(const WorldStore&) = delete;
  WorldStore& operator=(const WorldStore&) = delete;

  [[nodiscard]] const std::shared_ptr<Provider>& provider() const { return provider_; }
  // Of the nodes.
  [[nodiscard]] const std::shared_ptr<ManualClock>& clock() const { return clock_; }
  void advance(Milliseconds by);
  // Spoils every event of the instance's current execution.
  void damage_history(const std::string& instance);

 private:
  std::shared_ptr<ManualClock> clock_;
  std::unique_ptr<PostgresSchema> schema_;  // if it is in PostgreSQL, whose clock is its own
  std::shared_ptr<Provider> real_;
  std::shared_ptr<Provider> provider_;
};

}  // namespace perdure::test
