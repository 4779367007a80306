// Zombies: nodes that stand still for longer than their locks hold and then go on as if nothing had been. Each of them
// stops itself right before it hands something to the store, so that this is the first thing it does when it goes on;
// another node has finished its work by then.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include "cluster/cluster_store.h"
#include "cluster/ledger_check.h"
#include "cluster/worker_cluster.h"
#include "support/eventually.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Milliseconds kShortLock{1'000};
constexpr Milliseconds kLongLease{100'000};

class Zombie : public OnAStore {
 protected:
  static WorkerOptions node(const std::string& name, bool fast_path) {
    WorkerOptions options;
    options.node = name;
    options.lock_timeout = kShortLock;
    options.fast_path = fast_path;
    return options;
  }
  // The life of a zombie, which stands still before it hands that to the store, and of the node that takes its work
  // over. `refused` is what the zombie is refused when it goes on.
  void live_through(const std::string& stop_before, bool fast_path, int steps,
                    const std::vector<std::string>& refused) {
    cluster.client().start_orchestration("i", "WhoDidIt", steps);
    WorkerOptions options = node("zombie", fast_path);
    options.stop_before = stop_before;
    Worker& zombie = cluster.start_node(options);
    zombie.process().await_stop();
    cluster.pause_node(zombie);  // which it is; so says the ledger from now on
    cluster.start_node(node("heir", fast_path));
    const OrchestrationStatus status = cluster.client().wait_for_orchestration("i", kLongLease);
    ASSERT_TRUE(status.completed()) << status.error_text();
    taken = status.result<std::vector<std::string>>();
    first_turn_by = status.custom_status.value_or("nobody");
    const std::vector<Event> history = cluster.client().read_execution_history("i");

    cluster.resume_node(zombie);
    ASSERT_TRUE(eventually([&] { return refusals() == refused; })) << ::testing::PrintToString(refusals()) << "\n"
                                                                   << zombie.log();
    EXPECT_EQ(cluster.client().read_execution_history("i"), history) << "the zombie has committed something";
    // It has only lost its locks: it is a node like any other.
    cluster.start_workflows(20);
    cluster.await_workflows();
    for (Worker* node : cluster.nodes()) cluster.stop_node(*node);
    EXPECT_EQ(cluster.client().read_execution_history("i"), history);
    cluster.check_books();
  }
  // What the zombie was refused.
  [[nodiscard]] std::vector<std::string> refusals() const {
    std::vector<std::string> calls;
    for (const LedgerEntry& entry : cluster.ledger().read()) {
      if (entry.kind == LedgerKind::kRefused && entry.node == "zombie") calls.push_back(entry.what);
    }
    return calls;
  }
  // Who ran each step to its end, in order.
  [[nodiscard]] std::vector<std::vector<std::string>> runs() const {
    std::map<Step, std::vector<std::string>> nodes;
    for (const LedgerEntry& entry : cluster.ledger().read()) {
      if (entry.kind == LedgerKind::kRunEnded && entry.step.instance == "i") nodes[entry.step].push_back(entry.node);
    }
    std::vector<std::vector<std::string>> steps;
    for (auto& [step, who] : nodes) steps.push_back(std::move(who));
    return steps;
  }

  WorkerCluster cluster{address()};
  std::vector<std::string> taken;  // for each step, the node whose run counts
  std::string first_turn_by;
};
PERDURE_ON_SERVERS(Zombie);

TEST_P(Zombie, TheCommitOfItsTurnIsRefused) {
  live_through("turn", true, 1, {"commit-turn"});
  EXPECT_EQ(first_turn_by, "heir");
  EXPECT_THAT(taken, ElementsAre("heir"));
  EXPECT_THAT(runs(), ElementsAre(ElementsAre("heir"))) << "what a refused commit would have scheduled is not run";
}

TEST_P(Zombie, TheOutcomeOfItsActivityIsRefused) {
  live_through("work", false, 1, {"acknowledge-activity"});
  EXPECT_EQ(first_turn_by, "zombie");
  EXPECT_THAT(taken, ElementsAre("heir"));
  EXPECT_THAT(runs(), ElementsAre(ElementsAre("zombie", "heir")));
}

// On the fast path a commit brings the outcome of the activity with it, if the node had a free place for that; with
// many steps it has for one of them. Refused with the turn, the outcome goes through the queue, and is refused there
// too.
TEST_P(Zombie, ATurnThatCompletesItsActivityIsRefusedAsAWhole) {
  constexpr std::size_t kSteps = 30;
  live_through("fused", true, kSteps, {"commit-turn", "acknowledge-activity"});
  EXPECT_EQ(first_turn_by, "zombie");
  ASSERT_THAT(taken, SizeIs(kSteps));
  const auto steps = runs();
  ASSERT_THAT(steps, SizeIs(kSteps));
  // What it had committed stays. The step that it stood still with was done again, and that run counts; the rest too is
  // the heir's.
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    if (steps[i].size() == 1) {
      EXPECT_EQ(steps[i].front(), taken[i]) << i;
      EXPECT_EQ(taken[i], repeated == 0 ? "zombie" : "heir") << i;
    } else {
      ++repeated;
      EXPECT_THAT(steps[i], ElementsAre("zombie", "heir")) << i;
      EXPECT_EQ(taken[i], "heir") << i;
    }
  }
  EXPECT_EQ(repeated, 1U);
}

}  // namespace
}  // namespace perdure::test
