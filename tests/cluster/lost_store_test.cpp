// Nodes that lose the server they work on: it restarts, it dies, another one takes its place, or the way to it is cut.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/worker_cluster.h"
#include "support/cutting_proxy.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

constexpr std::size_t kNodes = 3;

// Three nodes on a server of their own.
class LostStore : public ::testing::Test {
 protected:
  void start_nodes(const WorkerOptions& options = {}) {
    for (std::size_t i = 0; i < kNodes; ++i) cluster().start_node(options);
  }
  // All nodes work when it happens, and afterwards there is more to do.
  template <class Disturbance>
  void disturb(Disturbance disturbance) {
    cluster().start_workflows_and_await_entries(150, 200);
    cluster().note(LedgerKind::kDisturbanceBegan, kEveryNode, kLostStore);
    disturbance();
    ASSERT_TRUE(eventually([&] { return cluster().store().admin()->system_metrics().has_value(); }));
    cluster().note(LedgerKind::kDisturbanceEnded, kEveryNode, kLostStore);
    cluster().start_workflows(50);
  }
  void finish() {
    cluster().await_workflows();
    for (Worker* node : cluster().nodes()) cluster().stop_node(*node);
    cluster().check_books();
  }
  WorkerCluster& cluster() {
    if (!cluster_) cluster_ = std::make_unique<WorkerCluster>(StoreAddress{server.url(), "perdure"});
    return *cluster_;
  }
  void use_cluster_at(const std::string& url) {
    cluster_ = std::make_unique<WorkerCluster>(StoreAddress{url, "perdure"});
  }

  PostgresServer server;

 private:
  std::unique_ptr<WorkerCluster> cluster_;  // goes before the server
};

TEST_F(LostStore, TheServerRestarts) {
  start_nodes();
  disturb([&] { server.restart(); });
  finish();
}

TEST_F(LostStore, TheServerDiesAndRecovers) {
  start_nodes();
  disturb([&] {
    server.kill();
    server.start();
  });
  finish();
}

// ---- the way to it -------------------------------------------------------------------------------------------------

class CutConnections : public LostStore {
 protected:
  // The nodes reach the server through the proxy only, the test without it.
  void start_nodes_behind_proxy() {
    WorkerOptions options;
    options.store = {"postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres", "perdure"};
    start_nodes(options);
  }
  // Work makes the bytes that are cut; how much it takes depends on what the nodes have to ask for.
  void await_cuts(std::size_t count) {
    cluster().start_workflows(300);
    for (int round = 0; round < 5; ++round) {
      if (eventually([&] { return proxy.cuts() >= count; }, std::chrono::seconds(20))) return;
      cluster().start_workflows(50);
    }
    FAIL() << proxy.cuts() << " cuts";
  }
  // While it is rough, every repetition may have its reason.
  template <class Rule>
  void while_it_holds(Rule rule, std::size_t cuts) {
    cluster().start_workflows(50);
    cluster().note(LedgerKind::kDisturbanceBegan, kEveryNode, kLostStore);
    rule();
    await_cuts(cuts);
    proxy.pass_everything();
    cluster().note(LedgerKind::kDisturbanceEnded, kEveryNode, kLostStore);
    std::cout << proxy.cuts() << " cuts of " << proxy.connections() << " connections, " << proxy.lost_answers()
              << " answers lost\n";
  }

  CuttingProxy proxy{static_cast<std::uint16_t>(server.port())};
};

TEST_F(CutConnections, AllAtOnce) {
  start_nodes_behind_proxy();
  for (int i = 0; i < 2; ++i) disturb([&] { proxy.cut_all(); });
  finish();
}

TEST_F(CutConnections, InTheMidstOfWhatIsSent) {
  start_nodes_behind_proxy();
  while_it_holds([&] { proxy.cut_after_bytes(1, 20'000, 200'000); }, 30);
  finish();
}

// What was asked for is done, commits too, and nobody is told.
TEST_F(CutConnections, BeforeTheAnswer) {
  start_nodes_behind_proxy();
  while_it_holds([&] { proxy.lose_answers(1, 2); }, 30);
  finish();
  EXPECT_GE(proxy.lost_answers(), 30U);
}

// ---- another server ------------------------------------------------------------------------------------------------

TEST_F(LostStore, TheStandbyTakesOver) {
  std::unique_ptr<PostgresServer> standby;
  try {
    standby = server.make_standby("standby");
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << "two servers cannot run here: " << error.what();
  }
  server.set("synchronous_standby_names", "standby");
  ASSERT_TRUE(eventually(
      [&] { return server.execute("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"; }));
  use_cluster_at("host=127.0.0.1,127.0.0.1 port=" + std::to_string(server.port()) + "," +
                 std::to_string(standby->port()) + " user=postgres dbname=postgres target_session_attrs=read-write");
  start_nodes();
  disturb([&] {
    server.kill();
    standby->promote();
  });
  finish();
}

// ---- nodes that hold the server up ---------------------------------------------------------------------------------

// A process that stands still may hold connections in any state; the others go on all the same.
TEST_F(LostStore, NodesThatStandStillHoldNobodyUp) {
  start_nodes();
  for (int round = 0; round < 2; ++round) {
    cluster().start_workflows_and_await_entries(100, 150);
    Worker& node = *cluster().nodes()[static_cast<std::size_t>(round)];
    cluster().pause_node(node);
    cluster().await_workflows();  // while it stands still
    cluster().resume_node(node);
  }
  finish();
}

}  // namespace
}  // namespace perdure::test
