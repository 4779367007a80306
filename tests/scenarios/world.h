// World: a store with a clock that is moved, and nodes on it, driven by threads or step by step from a seed. The
// scenarios are written once and hold in every world.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include "scenarios/world_store.h"
#include "support/dice.h"
#include "testing/simulation/stepped_node.h"

namespace perdure::test {

struct WorldKind {
  StoreKind store = StoreKind::kMemory;
  bool threads = false;
  bool cache = true;
  bool fast = false;       // with the fast path; needs the cache
  std::uint64_t seed = 1;  // of a world without threads

  [[nodiscard]] std::string name() const;
  friend std::ostream& operator<<(std::ostream& out, const WorldKind& kind) { return out << kind.name(); }
};

// Every combination of store, driver and cache; a few more seeds where the driver has one; and the fast path. Those in
// PostgreSQL take longest, so there all instances are cached; see worlds_rebuilt_from_postgres.
[[nodiscard]] std::vector<WorldKind> all_worlds();
// The same without threads, whose nodes can die.
[[nodiscard]] std::vector<WorldKind> stepped_worlds();
// PostgreSQL without a cache, so that every fetch returns the history.
[[nodiscard]] std::vector<WorldKind> worlds_rebuilt_from_postgres();

class World {
 public:
  explicit World(WorldKind kind);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // ---- nodes ----

  class Node;
  // Short timeouts are not needed: time is moved. The clock, the cache, the log and the metrics are the world's.
  Node& start_node(const Registry& registry, RuntimeOptions options = {});
  // Lets it finish what it has begun. Activities that wait for a completion are stopped and given back.
  void stop_node(Node& node);
  // As if its process had died: what it holds stays locked. Not with threads.
  void kill_node(Node& node);

  // ---- time ----

  // Until nothing can be done at this time.
  void settle();
  // Settles, moves the clock, settles.
  void advance(Milliseconds by);
  // Moves time on until it has ended. Fails the test if it does not within a year.
  OrchestrationStatus wait(const std::string& instance);
  // Moves time on, in steps that grow, until `reached` holds. Fails the test if it does not within a year.
  template <class Predicate>
  bool until(Predicate reached) {
    Milliseconds step{1};
    for (Milliseconds passed{0}; passed < kYear; passed += step, step = std::min(step * 2, kLongestStep)) {
      settle();
      if (reached()) return true;
      store_.advance(step);
    }
    ADD_FAILURE() << "it did not happen within a year in " << kind_.name();
    return false;
  }
  // One thing at a time, without threads: false when there is nothing to do at this time.
  bool step();

  // ---- looking ----

  [[nodiscard]] const Client& client() const { return client_; }
  [[nodiscard]] const std::shared_ptr<Provider>& store() const { return store_.provider(); }
  [[nodiscard]] Timestamp now() const { return store_.clock()->now(); }
  [[nodiscard]] CapturingLogSink& log() const { return *log_; }
  [[nodiscard]] CapturingMetrics& metrics() const { return *metrics_; }
  [[nodiscard]] const WorldKind& kind() const { return kind_; }
  // Kinds of the events of an execution, for assertions.
  [[nodiscard]] std::vector<std::string> event_kinds(const std::string& instance) const;

 private:
  static constexpr Milliseconds kYear = std::chrono::hours(24 * 365);
  static constexpr Milliseconds kLongestStep = std::chrono::hours(6);

  class WatchedStore;

  [[nodiscard]] bool settled() const;

  WorldKind kind_;
  std::shared_ptr<CapturingLogSink> log_;
  std::shared_ptr<CapturingMetrics> metrics_;
  WorldStore store_;
  std::shared_ptr<WatchedStore> watched_;  // the same, as nodes see it
  Client client_;
  Dice dice_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t next_seed_;
};

// A test that holds in every world.
class InEveryWorld : public ::testing::TestWithParam<WorldKind> {
 protected:
  World world{GetParam()};
};

#define PERDURE_IN_EVERY_WORLD(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(Worlds, suite, ::testing::ValuesIn(::perdure::test::all_worlds()), \
                           [](const auto& world) { return world.param.name(); })

// Also with executions that are rebuilt from PostgreSQL for every turn, which takes long: for suites whose instances
// have histories, values and successors.
#define PERDURE_ALSO_REBUILT_FROM_POSTGRES(suite)                                                                      \
  INSTANTIATE_TEST_SUITE_P(RebuiltWorlds, suite, ::testing::ValuesIn(::perdure::test::worlds_rebuilt_from_postgres()), \
                           [](const auto& world) { return world.param.name(); })

}  // namespace perdure::test
