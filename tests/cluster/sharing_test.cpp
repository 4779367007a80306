// Nodes that share work, and nodes that die in the midst of it.
#include <cstdlib>
#include <iostream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_store.h"
#include "cluster/worker_cluster.h"
#include "support/dice.h"
#include "testing/cluster/ledger_check.h"

namespace perdure::test {
namespace {

using ::testing::SizeIs;

constexpr std::size_t kSharingNodes = 3;

class Cluster : public OnAStore {};
PERDURE_ON_EVERY_STORE(Cluster);

TEST_P(Cluster, ThreeNodesShareTheWork) {
  const std::size_t workflows = std::string(GetParam()) == "Sqlite" ? 300 : 1'000;  // one file is slower
  WorkerCluster cluster(address());
  WorkerOptions options;
  options.lock_timeout = Milliseconds(60'000);  // nobody loses a lock, however busy the machine is
  for (std::size_t i = 0; i < kSharingNodes; ++i) cluster.start_node(options);
  cluster.start_workflows(workflows);
  cluster.await_workflows();
  for (Worker* node : cluster.nodes()) cluster.stop_node(*node);
  cluster.check_books();
  const auto ledger = cluster.ledger().read();
  EXPECT_EQ(count_repetitions(ledger), 0U) << "nothing went wrong, so nothing is done twice";
  EXPECT_THAT(ended_runs_by_node(ledger), SizeIs(kSharingNodes)) << "each node does something";
}

// PERDURE_CLUSTER_KILLS sets the number of kills, PERDURE_CLUSTER_SEED where they strike.
std::size_t number_from(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::stoul(text) : otherwise;
}

TEST_P(Cluster, NothingIsLostWhenNodesAreKilledAtRandomMoments) {
  const std::size_t kills = number_from("PERDURE_CLUSTER_KILLS", 5);
  const std::size_t seed = number_from("PERDURE_CLUSTER_SEED", std::random_device()());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Dice dice(seed);
  WorkerCluster cluster(address());
  // Nobody loses a lock because the machine stands still, since nothing would excuse a repetition then. On SQLite the
  // next node that starts takes over from a dead one; on PostgreSQL the end of the test waits for its locks.
  WorkerOptions options;
  options.lock_timeout = Milliseconds(std::string(GetParam()) == "Sqlite" ? 60'000 : 20'000);
  for (std::size_t i = 0; i < kSharingNodes; ++i) cluster.start_node(options);
  for (std::size_t kill = 0; kill < kills && !HasFatalFailure(); ++kill) {
    cluster.start_workflows_and_await_entries(60, dice.between(1, 300));
    cluster.kill_node(*dice.one_of(cluster.nodes()));
    cluster.start_node(options);
  }
  cluster.await_workflows();
  for (Worker* node : cluster.nodes()) cluster.stop_node(*node);
  cluster.check_books();
  const auto ledger = cluster.ledger().read();
  std::cout << kills << " kills, " << cluster.started() << " workflows, " << ledger.size() << " entries, "
            << count_repetitions(ledger) << " repetitions\n";
}

}  // namespace
}  // namespace perdure::test
