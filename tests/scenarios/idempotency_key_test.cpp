// The idempotency key of an activity: the same for every attempt at one effect, on every node, and another one for
// every other effect.
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using Ctx = OrchestrationContext;

class IdempotencyKey : public InEveryCluster {
 protected:
  IdempotencyKey() {
    registry.add_activity("Charge", [this](ActivityContext& ctx) {
      keys.push_back(ctx.idempotency_key());
      attempts.push_back(ctx.attempt());
      if (failures_left > 0) {
        --failures_left;
        throw std::runtime_error("the bank is closed");
      }
      return 1;
    });
    registry.add_orchestration("Pay", [](Ctx ctx) -> Orchestration<int> {
      const auto options = ActivityOptions().retry(RetryPolicy(5).backoff(Backoff::fixed(1s)));
      co_return co_await ctx.schedule_activity<int>("Charge", options);
    });
    registry.add_orchestration("PayTwice", [](Ctx ctx, int round) -> Orchestration<int> {
      const int first = co_await ctx.schedule_activity<int>("Charge");
      const int second = co_await ctx.schedule_activity<int>("Charge");
      if (round == 1) co_await ctx.continue_as_new(2);
      co_return first + second;
    });
  }
  // Runs a node until an activity has run, and lets it die before the outcome is stored.
  void run_and_die() {
    auto& node = cluster.start_node(registry);
    const std::size_t before = keys.size();
    cluster.step_until([&] { return keys.size() > before; });
    cluster.kill_node(node);
    cluster.advance(31s);
  }

  Registry registry;
  std::vector<std::string> keys;
  std::vector<std::uint32_t> attempts;
  int failures_left = 0;
};
PERDURE_IN_EVERY_CLUSTER(IdempotencyKey);

TEST_P(IdempotencyKey, IsTheSameOverCrashesAndAttemptsOfAPolicy) {
  cluster.client().start_orchestration("i", "Pay");
  run_and_die();
  failures_left = 1;
  run_and_die();  // this attempt failed, but its outcome was not stored
  failures_left = 2;
  cluster.start_node(registry);
  EXPECT_EQ(cluster.wait("i").result<int>(), 1);
  EXPECT_THAT(attempts, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(keys, Each(keys.front()));
  EXPECT_EQ(keys.front().size(), 32U);
}

TEST_P(IdempotencyKey, DiffersForEveryOtherEffect) {
  cluster.start_node(registry);
  for (const char* instance : {"i", "j"}) {
    cluster.client().start_orchestration(instance, "PayTwice", 1);
    cluster.wait(instance);
  }
  // The same instance id, and so the same execution and activity ids, in another incarnation.
  cluster.client().delete_instance("i");
  cluster.client().start_orchestration("i", "PayTwice", 1);
  cluster.wait("i");
  EXPECT_EQ(keys.size(), 12U);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 12U);
}

}  // namespace
}  // namespace perdure::test
