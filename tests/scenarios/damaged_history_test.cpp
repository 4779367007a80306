// One stored event that cannot be read any more: what the others tell is enough to end the instance and whatever it
// has begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>
#include "model/message_codec.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using Ctx = OrchestrationContext;

// One event of the instance reads as bytes that mean nothing; the store keeps it as it is.
class Spoiling final : public testing::ForwardingProvider {
 public:
  Spoiling(std::shared_ptr<Provider> store, EventId event) : ForwardingProvider(std::move(store)), event_(event) {}

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch) return batch;
    for (OrchestrationItem& item : batch->items) {
      if (item.instance != "parent") continue;
      token_ = item.token;
      if (item.history) spoil(*item.history);
    }
    return batch;
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    auto history = ForwardingProvider::read_history(token, after);
    if (history && token == token_) spoil(*history);
    return history;
  }

 private:
  void spoil(StoredHistory& history) const {
    for (EventRecord& event : history.events) {
      if (event.event_id == event_) event.body = "spoilt";
    }
  }

  EventId event_;
  LockToken token_;
};

class OneDamagedEvent : public InEveryCluster {
 protected:
  OneDamagedEvent() {
    options.max_attempts = 3;
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      auto first = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("first"));
      auto second = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("second"));
      auto third = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("third"));
      co_await ctx.schedule_wait<int>("go");
      co_return co_await first + co_await second + co_await third;
    });
    registry.add_orchestration("Gate",
                               [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
  }
  // The children wait, the first has ended, and no node runs.
  void begin() {
    auto& node = cluster.start_node(registry, options);
    cluster.client().start_orchestration("parent", "Parent");
    cluster.settle();
    cluster.client().raise_event("first", "go", 1);
    cluster.settle();
    cluster.stop_node(node);
  }
  void start_node_that_cannot_read(EventId id) {
    cluster.start_node(registry, options, std::make_shared<Spoiling>(cluster.store(), id));
  }
  // The children wait, the first has ended, and then event `id` of the parent is lost.
  void lose(EventId id) {
    begin();
    start_node_that_cannot_read(id);
    cluster.client().raise_event("parent", "go", 1);
    ASSERT_EQ(cluster.wait("parent").state, OrchestrationState::kFailed);
  }

  Registry registry;
  RuntimeOptions options;
};
PERDURE_IN_EVERY_CLUSTER(OneDamagedEvent);

TEST_P(OneDamagedEvent, ChildrenThatEventsBehindItTellOfAreCancelled) {
  lose(2);  // of the first child
  EXPECT_EQ(cluster.wait("second").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.wait("third").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.state("first"), OrchestrationState::kCompleted) << "it had ended before";
}

TEST_P(OneDamagedEvent, ChildrenThatEventsBeforeItTellOfAreCancelledToo) {
  lose(4);  // of the third child
  EXPECT_EQ(cluster.wait("second").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.state("third"), OrchestrationState::kRunning) << "nobody knows of it any more";
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(OneDamagedEvent, WithoutTheStartTheChildrenAreCancelledAllTheSame) {
  lose(1);
  EXPECT_EQ(cluster.wait("second").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.wait("third").state, OrchestrationState::kCancelled);
}

// Nothing but the end can be written after damage. The other messages of that turn are discarded, but not in silence.
TEST_P(OneDamagedEvent, MessagesOfItsLastTurnAreCountedAndLogged) {
  constexpr std::uint64_t kOtherIncarnation = 7;
  const ParentLink other_parent{"other", 1, 2, kOtherIncarnation};
  const auto ignored = [this](std::string_view reason) {
    return cluster.metrics().counter_value(metric::kMessagesIgnored.name, {{"reason", reason}});
  };
  begin();
  for (const MessageBody& body : {MessageBody(messages::CancelInstance{"of another child", other_parent}),
                                  MessageBody(messages::SubOrchestrationCompleted{2, "1", kOtherIncarnation})}) {
    ASSERT_TRUE(cluster.store()->enqueue_message(encode_message({"parent", kFirstExecutionId, std::nullopt, body})));
  }
  cluster.client().raise_event("parent", "go", 1);
  cluster.client().terminate_instance("parent", "damaged");
  start_node_that_cannot_read(2);
  EXPECT_EQ(cluster.wait("parent").state, OrchestrationState::kTerminated);
  cluster.settle();
  EXPECT_EQ(ignored("foreign_link"), 2U);
  EXPECT_EQ(ignored("execution_ended"), 3U) << "the event, and afterwards the outcomes of two cancelled children";
  EXPECT_EQ(cluster.log().find("it is from or for another parent").size(), 2U);
  EXPECT_EQ(cluster.client().get_queue_depths().messages, 0U);
}

}  // namespace
}  // namespace perdure::test
