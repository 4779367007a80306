// Whole runs with lifecycles come to what the generators must not miss: it is counted in what the store holds at the
// end.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include "model/reserved_names.h"
#include "testing/simulation/interpreter.h"
#include "testing/simulation/random_workload.h"
#include "testing/simulation/simulation.h"

namespace perdure::testing::simulation {
namespace {

using ::testing::IsEmpty;

using Reached = std::map<std::string, std::size_t>;

// The lifecycles of a seed. Counts what they came to.
class CountedLives final : public Workload {
 public:
  CountedLives(std::uint64_t seed, Reached& reached) : inner_(seed, lives_only()), reached_(reached) {}

  [[nodiscard]] Registry registry(int generation) override { return inner_.registry(generation); }
  [[nodiscard]] std::vector<std::string> tags() const override { return inner_.tags(); }
  [[nodiscard]] bool tags_all() const override { return inner_.tags_all(); }
  [[nodiscard]] bool allows(const HistoryFinding& finding) const override { return inner_.allows(finding); }
  [[nodiscard]] bool needs_unknown_names() const override { return inner_.needs_unknown_names(); }
  [[nodiscard]] bool may_be_pruned(const std::string& id) const override { return inner_.may_be_pruned(id); }
  void node_ended(const std::string& id) override { inner_.node_ended(id); }
  [[nodiscard]] std::vector<ClientAction> actions(Timestamp start) override { return inner_.actions(start); }
  [[nodiscard]] std::vector<std::string> check(Provider& store, const RunFacts& facts) override {
    count(Client(std::shared_ptr<Provider>(std::shared_ptr<void>(), &store)));
    return inner_.check(store, facts);
  }

 private:
  static RandomWorkloadOptions lives_only() {
    RandomWorkloadOptions options;
    options.only = std::set<std::size_t>();
    options.lifecycles = true;
    return options;
  }

  void count(const Client& client) {
    for (const std::string& id : client.list_all_instances()) {
      for (const ExecutionId execution : client.list_executions(id))
        count(client.read_execution_history(id, execution));
    }
    for (const LifePlan& life : inner_.lives()) {
      if (!life.unserved) continue;
      const auto status = client.get_orchestration_status(instance_id_of(*life.unserved));
      if (status.error && std::holds_alternative<PoisonError>(*status.error)) ++reached_["unserved version"];
    }
  }

  void count(const std::vector<Event>& history) {
    std::map<EventId, std::string> scheduled;
    std::set<EventId> dropped;
    for (const Event& event : history) {
      if (const auto* activity = std::get_if<events::ActivityScheduled>(&event.body)) {
        scheduled[event.id] = activity->name;
      } else if (const auto* child = std::get_if<events::SubOrchestrationScheduled>(&event.body)) {
        scheduled[event.id] = child->name;
      } else if (const auto* cancelled = std::get_if<events::ActivityCancelRequested>(&event.body)) {
        const bool by_code = cancelled->reason == CancelReason::kDroppedFuture;
        if (by_code && scheduled[cancelled->source] == kUnknown) ++reached_["dropped unknown activity"];
      } else if (const auto* ended = std::get_if<events::SubOrchestrationCancelRequested>(&event.body)) {
        if (ended->reason != CancelReason::kDroppedFuture) continue;
        dropped.insert(ended->source);
        if (scheduled[ended->source] == kUnknown) ++reached_["dropped unknown child"];
      } else if (const auto* failed = std::get_if<events::SubOrchestrationFailed>(&event.body)) {
        if (std::holds_alternative<ApplicationError>(failed->error)) continue;
        const std::string given_up = dropped.contains(failed->source) ? "dropped " : "detached ";
        ++reached_["failure of " + given_up + scheduled[failed->source]];
      } else if (const auto* completed = std::get_if<events::ActivityCompleted>(&event.body)) {
        const bool is_read = scheduled[completed->source] == kReadKeyValueActivity;
        if (is_read && inner_.tags_all()) ++reached_["value read where nodes serve tags only"];
      }
    }
  }

  RandomWorkload inner_;
  Reached& reached_;
};

TEST(ReachedClasses, AreAllThatTheGeneratorsMustNotMiss) {
  constexpr std::uint64_t kFirst = 3'001;
  constexpr std::uint64_t kMost = 600;
  const std::vector<std::string> classes = {
      "dropped unknown activity",
      "dropped unknown child",
      "failure of detached Unknown",
      "failure of dropped Diverge",
      "failure of detached Diverge",
      "unserved version",
      "value read where nodes serve tags only",
  };
  Reached reached;
  const auto missing = [&] {
    std::vector<std::string> names;
    for (const std::string& name : classes) {
      if (!reached.contains(name)) names.push_back(name);
    }
    return names;
  };
  for (std::uint64_t seed = kFirst; seed < kFirst + kMost && !missing().empty(); ++seed) {
    CountedLives workload(seed, reached);
    const RunReport report = run_seed(seed, {}, workload);
    EXPECT_THAT(report.problems, IsEmpty()) << "seed " << seed;
  }
  EXPECT_THAT(missing(), IsEmpty());
}

TEST(ReachedClasses, IncludeSeveralOutagesOfTheStoreInARun) {
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= 100 && most < 3; ++seed) {
    RandomWorkloadOptions few;
    few.only = std::set<std::size_t>{0};
    RandomWorkload workload(seed, few);
    most = std::max(most, run_seed(seed, {}, workload).faults.at(static_cast<std::size_t>(Fault::kStoreOutage)));
  }
  EXPECT_GE(most, 3U);
}

}  // namespace
}  // namespace perdure::testing::simulation
