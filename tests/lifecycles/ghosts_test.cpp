// Messages to an id that has no instance. The guide: if nobody waits for a raised event, it "is lost"; a message in a
// queue "is kept until it is read", "whether or not the till has been opened". client.h: a cancel is "without effect on
// ended instances", and one that was deleted has ended.
#include "lifecycles/readers.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using Ghosts = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Ghosts);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Ghosts);

TEST_P(Ghosts, ACancelOfADeletedInstanceDoesNotReachTheNext) {
  world.start_node(add_readers());
  use_and_delete(world, "i");
  send_to_nobody([&] { world.client().cancel_instance("i", "too late"); });
  world.advance(1min);
  world.client().start_orchestration("i", "Reader", 1);
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
}

TEST_P(Ghosts, ATerminateOfNothingDoesNotReachTheNext) {
  world.start_node(add_readers());
  send_to_nobody([&] { world.client().terminate_instance("i", "never was"); });
  world.advance(1min);
  world.client().start_orchestration("i", "Reader", 1);
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Running");
}

TEST_P(Ghosts, AnEventForADeletedInstanceIsNotHeardByTheNext) {
  world.start_node(add_readers());
  use_and_delete(world, "i");
  send_to_nobody([&] { world.client().raise_event("i", "approved", "a ghost"); });
  world.advance(1min);
  world.client().start_orchestration("i", "Hearer");
  EXPECT_EQ(world.wait("i").result<std::string>(), "nobody");
}

TEST_P(Ghosts, AMessageSentBeforeTheStartIsRead) {
  world.client().enqueue_event("early", "go", "a");
  world.start_node(add_readers());
  world.client().enqueue_event("early", "go", "b");
  world.advance(1min);
  world.client().enqueue_event("early", "go", "c");
  world.client().start_orchestration("early", "Reader", 3);
  world.advance(1min);
  EXPECT_EQ(outcome_of(world.client(), "early"), "Completed \"abc\"");
}

TEST_P(Ghosts, AMessageSentBeforeTheStartOfAChildIsRead) {
  const auto add_parent = [](Registry registry) {
    registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<std::string> {
      const auto options = child_id("child");
      co_return co_await ctx.schedule_sub_orchestration<std::string>("Reader", 1, options);
    });
    return registry;
  };
  world.start_node(add_parent(add_readers()));
  world.client().enqueue_event("child", "go", "early");
  world.advance(1min);
  world.client().start_orchestration("parent", "Parent");
  world.advance(1min);
  EXPECT_EQ(outcome_of(world.client(), "parent"), "Completed \"early\"");
}

// A bulk prune that is repeated reaches every instance, however small its limit is.
TEST_P(Ghosts, ARepeatedBulkPruneReachesEveryInstance) {
  const auto add_loop = [](Registry registry) {
    registry.add_orchestration("Loop", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
      if (n == 0) co_return 0;
      co_return ctx.continue_as_new(n - 1);
    });
    return registry;
  };
  world.start_node(add_loop(add_readers()));
  for (int i = 0; i < 5; ++i) {
    world.client().start_orchestration("old" + std::to_string(i), "Reader", 0);
    world.advance(1s);
  }
  world.client().start_orchestration("loop", "Loop", 6);
  world.settle();
  PruneOptions keep;
  keep.keep_last = 3;
  for (int night = 0; night < 4; ++night) world.client().prune_executions_bulk(InstanceFilter(), keep, 5);
  EXPECT_THAT(world.client().list_executions("loop"), ElementsAre(5, 6, 7));
}

}  // namespace
}  // namespace perdure::test
