// An instance is started again before a node learns that the store has its last commit. The activities that this commit
// cancelled have the ids of those that the next incarnation runs, which must go on.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "scenarios/open_calls.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

// Leaver(): schedules "Work" and ends without it after the message "go". Stayer(): completes with the result of "Work".
Registry leaver_and_stayer(const std::optional<OpenCalls>& calls) {
  Registry registry;
  registry.add_orchestration("Leaver", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto work = ctx.schedule_activity<std::string>("Work");
    co_await ctx.dequeue_event<void>("go");
    co_return "left";
  });
  registry.add_orchestration("Stayer", [](OrchestrationContext ctx) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Work");
  });
  if (calls) calls->add_to(registry);
  return registry;
}

class LateWithdrawals : public InEveryCluster {
 protected:
  // Performs every choice of the node that is not the answer to a commit.
  static void step_without_answers(SteppedCluster::Node& node) {
    std::size_t choice = 0;
    while (choice < node.choices()) {
      if (node.describe(choice).find("hear the answer") != std::string::npos) {
        ++choice;
      } else {
        node.step(choice);
        choice = 0;
      }
    }
  }
  static void commit_without_answer(SteppedCluster::Node& node) {
    for (;;) {
      ASSERT_GT(node.choices(), 0U);
      if (node.writes(0)) return node.step_without_answer(0);
      node.step(0);
    }
  }
};
PERDURE_IN_EVERY_CLUSTER(LateWithdrawals);

TEST_P(LateWithdrawals, TheActivityOfTheNextIncarnationGoesOn) {
  const OpenCalls calls;
  RuntimeOptions options;
  options.fetch_only_registered = true;
  auto& first = cluster.start_node(leaver_and_stayer(calls), options);
  cluster.client().start_orchestration("w", "Leaver");
  cluster.settle();
  ASSERT_EQ(calls.size(), 1U);
  cluster.client().enqueue_event("w", "go");
  commit_without_answer(first);
  ASSERT_EQ(cluster.state("w"), OrchestrationState::kCompleted);

  cluster.client().start_orchestration("w", "Stayer", StartInstanceOptions().policy(StartPolicy::kReplaceIfTerminal));
  auto& second = cluster.start_node(leaver_and_stayer(std::nullopt), options);
  step_without_answers(second);
  step_without_answers(first);
  ASSERT_EQ(calls.size(), 2U) << "the first node runs the activity of the next incarnation";
  ASSERT_EQ(calls.at(0).ctx.activity_id(), calls.at(1).ctx.activity_id());

  cluster.settle();  // the first node learns of its commit
  EXPECT_TRUE(calls.at(0).ctx.is_cancelled());
  EXPECT_FALSE(calls.at(1).ctx.is_cancelled());
  calls.at(1).done.complete("done");
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("w").output, "\"done\"");
  EXPECT_EQ(calls.size(), 2U);
}

}  // namespace
}  // namespace perdure::test
