// A cancel that races with the abandon of an instance that a node has no code for.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/testing/filter_ignoring_provider.h>
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

// A client cancels instance "i" after the node has fetched it, and before the node abandons it.
class CancelsBeforeAbandon final : public testing::ForwardingProvider {
 public:
  CancelsBeforeAbandon(std::shared_ptr<Provider> inner, const Client& client)
      : ForwardingProvider(std::move(inner)), client_(client) {}
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    if (!std::exchange(cancelled_, true)) client_.cancel_instance("i", "changed my mind");
    return ForwardingProvider::abandon_orchestration_items(abandons);
  }

 private:
  const Client& client_;
  bool cancelled_ = false;
};

using UnregisteredRace = InEveryCluster;
PERDURE_IN_EVERY_CLUSTER(UnregisteredRace);

TEST_P(UnregisteredRace, ACancelThatArrivesDuringTheLockIsHonouredAtOnce) {
  cluster.start_node(Registry(), {}, std::make_shared<CancelsBeforeAbandon>(cluster.store(), cluster.client()));
  cluster.client().start_orchestration("i", "Nobody");
  cluster.settle();
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kCancelled);
}

}  // namespace
}  // namespace perdure::test
