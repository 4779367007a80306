// A message goes to the instance that has the id now, from its start on, and to no other one.
#include <optional>
#include <string>
#include <vector>

#include <perdure/engine_metrics.h>
#include <perdure/provider_admin.h>
#include "lifecycles/readers.h"
#include "model/message_codec.h"

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

// A cancel for an id without an instance does not reach an instance that is started after a deletion of the id.
TEST_P(DiscardedMessages, OfADeletedIdAreCountedAndLogged) {
  const Client& client = world.client();
  client.cancel_instance("i", "a ghost", {.even_if_missing = true});
  client.enqueue_event("i", "go", "early");
  EXPECT_EQ(refusal_kind([&] { client.delete_instance("i"); }), ClientErrorKind::kNotFound);
  expect_discarded("i", 2);
  client.start_orchestration("i", "Reader", 1);
  client.enqueue_event("i", "go", "new");
  world.start_node(add_readers());
  EXPECT_EQ(world.wait("i").result<std::string>(), "new");
}

// Starts that wait for an id which another instance has. No parent learns that they have no effect.
class DiscardedStarts : public InEveryWorld {
 protected:
  void queue_start(const std::string& id, std::optional<ParentLink> parent = std::nullopt) {
    messages::StartOrchestration start{.name = "Reader", .version = {}, .input = "1", .parent = parent};
    const Message message{id, std::nullopt, std::nullopt, start};
    world.store()->enqueue_message(encode_message(message)).value();
  }
  [[nodiscard]] std::uint64_t counted() const {
    return world.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", "already_started"}});
  }
  void expect_discarded(const std::string& instance, const std::string& starts) {
    const auto records = world.log().find("starts for an id that was taken were discarded with its deletion");
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(records.back().level, LogLevel::kWarn);
    EXPECT_EQ(records.back().field("instance_id"), instance);
    EXPECT_EQ(records.back().field("messages"), starts);
  }
};
PERDURE_IN_EVERY_WORLD(DiscardedStarts);

TEST_P(DiscardedStarts, OfAnEndedInstanceAreCountedAndLogged) {
  auto& node = world.start_node(add_readers());
  for (const char* id : {"deleted", "listed", "matching", "replaced"}) {
    world.client().start_orchestration(id, "Reader", 0);
    world.wait(id);
  }
  world.stop_node(node);
  for (const char* id : {"deleted", "listed", "matching", "replaced"}) {
    queue_start(id);
    queue_start(id);
  }
  world.client().delete_instance("deleted");
  EXPECT_EQ(counted(), 2U);
  expect_discarded("deleted", "2");
  const std::vector<std::string> listed{"listed"};
  EXPECT_EQ(world.store()->admin()->delete_instances(listed, false).value().instances, 1U);
  EXPECT_EQ(counted(), 4U);
  InstanceFilter filter;
  filter.ids = {"matching"};
  world.client().delete_instance_bulk(filter);
  EXPECT_EQ(counted(), 6U);
  world.client().start_orchestration("replaced", "Reader", 1, replacing());
  EXPECT_EQ(counted(), 8U);
  expect_discarded("replaced", "2");
}

// The start that the deletion was meant for is not one of them.
TEST_P(DiscardedStarts, OfAQueuedStartAreCountedAndLogged) {
  queue_start("i");
  queue_start("i");
  world.client().delete_instance("i", true);
  EXPECT_EQ(counted(), 1U);
  expect_discarded("i", "1");
}

TEST_P(DiscardedStarts, BehindAQueuedChildAreCountedAndLogged) {
  world.client().start_orchestration("parent", "Reader", 1);
  queue_start("child", ParentLink{.instance = "parent", .execution_id = 1, .schedule_id = 2, .incarnation = 1});
  queue_start("child");
  world.client().delete_instance("parent", true);
  EXPECT_EQ(counted(), 1U);
  expect_discarded("child", "1");
  expect_nothing_left(world.client());
}

}  // namespace
}  // namespace perdure::test
