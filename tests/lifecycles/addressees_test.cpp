// A message goes to the instance that has the id now, from its start on, and to no other one.
#include "lifecycles/readers.h"

namespace perdure::test {
namespace {

using Addressees = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Addressees);

// Messages sent to the old instance are deleted with it.
TEST_P(Addressees, AMessageForTheOldOneIsNotReadByTheNew) {
  auto& node = world.start_node(add_readers());
  world.client().start_orchestration("i", "Reader", 9);
  world.settle();
  world.client().enqueue_event("i", "go", "read");
  world.settle();
  world.stop_node(node);
  world.client().enqueue_event("i", "go", "unread");
  world.client().delete_instance("i", true);
  world.client().start_orchestration("i", "Reader", 1);
  world.client().enqueue_event("i", "go", "new");
  world.start_node(add_readers());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed \"new\"");
}

TEST_P(Addressees, AMessageForTheReplacedOneIsNotReadByTheNew) {
  auto& node = world.start_node(add_readers());
  world.client().start_orchestration("i", "Reader", 1);
  world.settle();
  world.client().enqueue_event("i", "go", "read");
  world.client().enqueue_event("i", "go", "unread");
  world.settle();
  world.stop_node(node);
  world.client().enqueue_event("i", "go", "too late");
  world.client().start_orchestration("i", "Reader", 1, replacing());
  world.client().enqueue_event("i", "go", "new");
  world.start_node(add_readers());
  world.settle();
  EXPECT_EQ(outcome_of(world.client(), "i"), "Completed \"new\"");
}

// One that has been started and has no turn yet exists: everything sent to it counts.
TEST_P(Addressees, AQueuedStartIsAnAddressee) {
  for (const char* id : {"cancelled", "terminated", "read"}) world.client().start_orchestration(id, "Reader", 1);
  world.client().start_orchestration("heard", "Hearer");
  world.client().cancel_instance("cancelled", "by hand");
  world.client().terminate_instance("terminated", "by hand");
  world.client().enqueue_event("read", "go", "a");
  world.client().raise_event("heard", "approved", "Ada");
  world.start_node(add_readers());
  world.settle();
  EXPECT_EQ(world.client().get_orchestration_status("cancelled").state, OrchestrationState::kCancelled);
  EXPECT_EQ(world.client().get_orchestration_status("terminated").state, OrchestrationState::kTerminated);
  EXPECT_EQ(outcome_of(world.client(), "read"), "Completed \"a\"");
  EXPECT_EQ(outcome_of(world.client(), "heard"), "Completed \"Ada\"");
}

}  // namespace
}  // namespace perdure::test
