// A message goes to the instance that has the id now, from its start on, and to no other one.
#include <perdure/engine_metrics.h>
#include "lifecycles/readers.h"

namespace perdure::test {
namespace {

using Addressees = InEveryWorld;
PERDURE_IN_EVERY_WORLD(Addressees);
PERDURE_ALSO_REBUILT_FROM_POSTGRES(Addressees);

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

// Messages with must_exist and without a receiver: of a turn, and of an activity that nobody has scheduled.
class DiscardedMessages : public InEveryWorld {
 protected:
  void expect_discarded(const std::string& instance, std::uint64_t total) {
    EXPECT_EQ(world.metrics().counter_total(metric::kOrphanMessagesDropped.name), total);
    const auto records = world.log().find("messages for an instance that does not exist were discarded");
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(records.back().level, LogLevel::kWarn);
    EXPECT_EQ(records.back().field("instance_id"), instance);
  }
};
PERDURE_IN_EVERY_WORLD(DiscardedMessages);

MessageRecord needing_receiver(MessageKind kind, const std::string& instance) {
  MessageRecord message;
  message.kind = kind;
  message.instance = instance;
  message.must_exist = true;
  return message;
}

TEST_P(DiscardedMessages, OfATurnAreCountedAndLogged) {
  world.client().start_orchestration("i", "Reader", 1);
  const OrchestrationItem item = world.store()->fetch_orchestration_item().value().value();
  TurnCommit commit;
  commit.token = item.token;
  commit.commit_id = 7;
  for (const QueuedMessage& message : item.messages) commit.consumed.push_back(message.id);
  // Without an instance, the turn does not reach itself either.
  commit.messages = {needing_receiver(MessageKind::kCancelInstance, "i"),
                     needing_receiver(MessageKind::kCancelInstance, "nobody")};
  ASSERT_TRUE(world.store()->ack_orchestration_items({&commit, 1}).front());
  expect_discarded("nobody", 2);
}

TEST_P(DiscardedMessages, OfAnActivityAreCountedAndLogged) {
  MessageRecord activity;
  activity.kind = MessageKind::kExecuteActivity;
  activity.instance = "orphan";
  activity.execution = 1;
  activity.activity_id = 2;
  activity.name = "Charge";
  world.store()->enqueue_activities({&activity, 1}).front().value();
  WorkAck ack;
  ack.token = world.store()->fetch_work_item().value().value().token;
  ack.completion = needing_receiver(MessageKind::kActivityCompleted, "orphan");
  ack.completion->execution = 1;
  ASSERT_TRUE(world.store()->ack_work_items({&ack, 1}).front());
  expect_discarded("orphan", 1);
}

}  // namespace
}  // namespace perdure::test
