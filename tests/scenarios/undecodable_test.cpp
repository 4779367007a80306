// Stored bytes that a node cannot read: a history, a message, an activity. It is given back, because another node may
// understand it, and ends as poison when nobody does; who waits for it is told, and nothing else stands still.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/provider_admin.h>
#include <perdure/testing/filter_ignoring_provider.h>
#include "model/event_codec.h"
#include "model/message_codec.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

constexpr std::uint32_t kAttemptsToRead = 3;
const std::string kGarbage("\0not a body\xff", 12);

// Changes what a node gets; the store keeps it as it is.
class Distorting final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void(MessageRecord&)> message;
  std::function<void(MessageRecord&)> activity;
  int distorted_fetches = 0;

  // Without the fast path: a node that claims its own activities would fetch none.
  Capabilities capabilities() const noexcept override {
    Capabilities plain = ForwardingProvider::capabilities();
    plain.fast_path = false;
    return plain;
  }
  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch || !message) return batch;
    for (OrchestrationItem& item : batch->items) {
      for (QueuedMessage& queued : item.messages) distort(message, queued.record);
    }
    return batch;
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_work_items(fetch);
    if (!batch || !activity) return batch;
    for (WorkItem& item : batch->items) distort(activity, item.record);
    return batch;
  }

 private:
  void distort(const std::function<void(MessageRecord&)>& change, MessageRecord& record) {
    const MessageRecord before = record;
    change(record);
    if (!(record == before)) ++distorted_fetches;
  }
};

class Undecodable : public InEveryCluster {
 protected:
  Undecodable() {
    options.max_attempts = kAttemptsToRead;
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Middle", SubOrchestrationOptions().instance_id("middle"));
    });
    registry.add_orchestration("Middle", [](Ctx ctx) -> Orchestration<int> {
      auto activity = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
      auto child = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("child"));
      co_await ctx.schedule_wait<int>("go");
      co_return co_await activity + co_await child;
    });
    registry.add_orchestration("Gate",
                               [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_wait<int>("go"); });
    registry.add_orchestration(
        "Calls", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Add", 41); });
    registry.add_orchestration("ParentOfLoop", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Loop", 1, SubOrchestrationOptions().instance_id("loop"));
    });
    registry.add_orchestration("Loop", [](Ctx ctx, int round) -> Orchestration<int> {
      if (round == 1) co_return ctx.continue_as_new(2);
      co_return round;
    });
    registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
    registry.add_activity("Other", [](ActivityContext&, int n) { return n; });
    registry.add_orchestration(
        "CallsOther", [](Ctx ctx) -> Orchestration<int> { co_return co_await ctx.schedule_activity<int>("Other", 5); });
  }
  // A parent, a child with an activity that nobody takes, and a child's child; all wait.
  void begin_family() {
    auto& node = cluster.start_node(registry, options);
    cluster.client().start_orchestration("parent", "Parent");
    cluster.settle();
    cluster.stop_node(node);
    ASSERT_EQ(cluster.state("child"), OrchestrationState::kRunning);
    ASSERT_EQ(cluster.client().get_queue_depths().activities, 1U);
  }
  [[nodiscard]] std::vector<EventRecord> records(const std::string& instance) const {
    return cluster.store()->admin()->read_history(instance).value();
  }
  [[nodiscard]] const PoisonError* poison(const OrchestrationStatus& status) const {
    return status.error ? std::get_if<PoisonError>(&*status.error) : nullptr;
  }
  void send_garbage(const std::string& instance) {
    MessageRecord record =
        encode_message({instance, std::nullopt, std::nullopt, messages::ExternalRaised{"go", std::string("1")}});
    record.body = kGarbage;
    ASSERT_TRUE(cluster.store()->enqueue_message(record).has_value());
  }

  Registry registry;
  RuntimeOptions options;
};
PERDURE_IN_EVERY_CLUSTER(Undecodable);

// ---- Histories: W13 ------------------------------------------------------------------------------------------------

TEST_P(Undecodable, AHistoryThatBreaksOffIsEndedBehindItsLastEvent) {
  begin_family();
  cluster.append_unknown_event("middle");
  const auto before = records("middle");
  cluster.client().raise_event("middle", "go", 1);
  cluster.start_node(registry, options);
  const auto status = cluster.wait("middle");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_NE(poison(status), nullptr) << status.error_text();
  EXPECT_EQ(poison(status)->subject, PoisonSubject::kUndecodableHistory);
  EXPECT_EQ(poison(status)->attempts, kAttemptsToRead + 1);
  const auto after = records("middle");
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin())) << "what is stored is not touched";
  const Event end = decode_event(after[before.size()]);
  EXPECT_EQ(end.id, before.back().event_id + 1);
  EXPECT_GT(end.turn, before.back().turn);
  EXPECT_TRUE(std::holds_alternative<events::OrchestrationFailed>(end.body));
}

TEST_P(Undecodable, WhenAHistoryBreaksOffTheParentIsToldAndActivitiesAndChildrenAreCancelled) {
  begin_family();
  cluster.append_unknown_event("middle");
  cluster.client().raise_event("middle", "go", 1);
  cluster.start_node(registry, options);
  cluster.wait("middle");
  const auto parent = cluster.wait("parent");
  ASSERT_NE(poison(parent), nullptr) << parent.error_text();
  EXPECT_EQ(poison(parent)->instance, "middle");
  EXPECT_EQ(cluster.wait("child").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Undecodable, AHistoryOfWhichNothingCanBeReadIsEndedBehindItsLastEvent) {
  begin_family();
  const EventId last = records("middle").back().event_id;
  cluster.damage_history("middle");
  cluster.client().raise_event("middle", "go", 1);
  cluster.start_node(registry, options);
  const auto status = cluster.wait("middle");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_NE(poison(status), nullptr) << status.error_text();
  EXPECT_EQ(poison(status)->subject, PoisonSubject::kUndecodableHistory);
  EXPECT_GT(cluster.client().get_execution_info("middle", 1).events, last);
  EXPECT_EQ(cluster.client().delete_instance("parent", true).instances, 3U) << "the tree is still a tree";
}

TEST_P(Undecodable, WhenNothingOfAHistoryCanBeReadTheParentIsTold) {
  begin_family();
  cluster.damage_history("middle");
  cluster.client().raise_event("middle", "go", 1);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("middle").state, OrchestrationState::kFailed);
  cluster.advance(1min);
  EXPECT_EQ(cluster.state("parent"), OrchestrationState::kFailed) << "it waits for ever";
}

TEST_P(Undecodable, WhenNothingOfAHistoryCanBeReadItsActivitiesAreCancelled) {
  begin_family();
  cluster.damage_history("middle");
  cluster.client().raise_event("middle", "go", 1);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("middle").state, OrchestrationState::kFailed);
  EXPECT_EQ(cluster.client().get_queue_depths().activities, 0U);
}

// ---- Messages: W28 -------------------------------------------------------------------------------------------------

TEST_P(Undecodable, AMessageIsGivenBackForASecondUntilItEndsAsPoison) {
  const auto watch = cluster.watched();
  cluster.start_node(registry, options, watch);
  cluster.client().start_orchestration("i", "Gate");
  cluster.settle();
  watch->instances.clear();
  send_garbage("i");
  cluster.settle();
  for (std::uint32_t attempts = 1; attempts <= kAttemptsToRead; ++attempts) {
    EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
    EXPECT_THAT(watch->instances, SizeIs(attempts));
    EXPECT_EQ(watch->abandons.back().delay, 1s);
    EXPECT_FALSE(watch->abandons.back().ignore_attempt);
    cluster.advance(999ms);
    EXPECT_THAT(watch->instances, SizeIs(attempts));
    cluster.advance(1ms);
  }
  const auto status = cluster.client().get_orchestration_status("i");
  ASSERT_EQ(status.state, OrchestrationState::kFailed);
  ASSERT_NE(poison(status), nullptr) << status.error_text();
  EXPECT_EQ(poison(status)->subject, PoisonSubject::kOrchestration);
  EXPECT_EQ(poison(status)->attempts, kAttemptsToRead + 1);
  EXPECT_THAT(poison(status)->message, Not(IsEmpty()));
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Undecodable, AMessageEndsItsReceiverWithEverythingAroundIt) {
  begin_family();
  send_garbage("middle");
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("middle").state, OrchestrationState::kFailed);
  const auto parent = cluster.wait("parent");
  ASSERT_NE(poison(parent), nullptr) << parent.error_text();
  EXPECT_EQ(cluster.wait("child").state, OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
}

TEST_P(Undecodable, AMessageBlocksNobodyElse) {
  cluster.start_node(registry, options);
  for (const char* id : {"bad", "good"}) cluster.client().start_orchestration(id, "Gate");
  cluster.settle();
  send_garbage("bad");
  cluster.client().raise_event("good", "go", 7);
  cluster.settle();
  EXPECT_EQ(cluster.client().get_orchestration_status("good").result<int>(), 7);
  EXPECT_EQ(cluster.state("bad"), OrchestrationState::kRunning);
}

TEST_P(Undecodable, AMessageOfAKindThatOnlyALaterNodeKnowsIsTakenByThatOne) {
  const auto old_view = std::make_shared<Distorting>(cluster.store());
  old_view->message = [](MessageRecord& record) {
    if (record.kind == MessageKind::kExternalRaised) record.kind = static_cast<MessageKind>(4'711);
  };
  auto& old = cluster.start_node(registry, options, old_view);
  cluster.client().start_orchestration("i", "Gate");
  cluster.settle();
  cluster.client().raise_event("i", "go", 7);
  cluster.settle();
  EXPECT_EQ(old_view->distorted_fetches, 1);
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  cluster.stop_node(old);
  cluster.start_node(registry, options);
  cluster.advance(1s);
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 7);
}

TEST_P(Undecodable, AStartIsEndedUnderTheNameOnItsEnvelope) {
  MessageRecord start = encode_message(
      {"i", std::nullopt, std::nullopt, messages::StartOrchestration{"Gate", std::nullopt, std::nullopt, {}}});
  start.body = kGarbage;
  ASSERT_TRUE(cluster.store()->enqueue_start(start, StartPolicy::kFail).has_value());
  cluster.start_node(registry, options);
  const auto status = cluster.wait("i");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_NE(poison(status), nullptr) << status.error_text();
  EXPECT_EQ(status.name, "Gate");
  EXPECT_THAT(cluster.event_kinds("i"), ElementsAre("OrchestrationStarted", "OrchestrationFailed"));
  EXPECT_EQ(cluster.client().delete_instance("i").instances, 1U);
}

TEST_P(Undecodable, ACancelLeavesAnExecutionOfAnotherEngineToANodeThatReplaysIt) {
  auto& beginner = cluster.start_node(registry, options);
  cluster.client().start_orchestration("i", "Gate");
  cluster.settle();
  cluster.stop_node(beginner);
  RuntimeOptions other = options;
  other.supported_replay_versions = {{{9, 0, 0}, {9, 0, 0}}};
  auto& stranger = cluster.start_node(registry, other, testing::ignore_capability_filters(cluster.store()));
  send_garbage("i");
  cluster.client().cancel_instance("i", "enough");
  cluster.settle();
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  cluster.stop_node(stranger);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("i").state, OrchestrationState::kCancelled);
}

// W33: an execution that was to continue, and whose continuation is nowhere.
TEST_P(Undecodable, ALostContinuationEndsTheInstanceAndItsParentIsTold) {
  begin_family();
  cluster.client().raise_event("child", "knock");
  const auto item = cluster.store()->fetch_orchestration_item().value();
  ASSERT_TRUE(item.has_value());
  TurnCommit commit;
  commit.token = item->token;
  commit.commit_id = 77;
  commit.execution_id = item->execution_id;
  commit.consumed = {item->messages.front().id};
  commit.status = StatusChange{ExecutionStatus::kContinuedAsNew, std::nullopt};
  ASSERT_TRUE(cluster.store()->ack_orchestration_item(commit).has_value());
  cluster.client().raise_event("child", "knock");
  cluster.start_node(registry, options);
  const auto status = cluster.wait("child");
  EXPECT_EQ(status.state, OrchestrationState::kFailed);
  EXPECT_THAT(status.error_text(), ::testing::HasSubstr("continuation is gone"));
  EXPECT_EQ(cluster.wait("parent").state, OrchestrationState::kFailed);
}

TEST_P(Undecodable, AContinuationIsEndedAndItsParentIsTold) {
  const auto view = std::make_shared<Distorting>(cluster.store());
  view->message = [](MessageRecord& record) {
    if (record.kind == MessageKind::kContinueAsNew) record.body = kGarbage;
  };
  cluster.start_node(registry, options, view);
  cluster.client().start_orchestration("parent", "ParentOfLoop");
  const auto child = cluster.wait("loop");
  EXPECT_EQ(child.state, OrchestrationState::kFailed);
  EXPECT_EQ(child.name, "Loop");
  EXPECT_NE(poison(child), nullptr) << child.error_text();
  const auto parent = cluster.wait("parent");
  EXPECT_NE(poison(parent), nullptr) << parent.error_text();
}

// ---- Ended by hand: a cancel or terminate does not wait for what cannot be read -------------------------------------

TEST_P(Undecodable, AnInstanceWithAMessageThatCannotBeReadCanBeTerminated) {
  begin_family();
  send_garbage("middle");
  cluster.start_node(registry, options);
  cluster.settle();
  cluster.client().terminate_instance("middle", "no use");
  cluster.settle();
  EXPECT_EQ(cluster.state("middle"), OrchestrationState::kTerminated);
  EXPECT_EQ(cluster.state("parent"), OrchestrationState::kFailed);
}

TEST_P(Undecodable, AnInstanceWithAMessageThatCannotBeReadCanBeCancelled) {
  begin_family();
  send_garbage("middle");
  cluster.start_node(registry, options);
  cluster.settle();
  cluster.client().cancel_instance("middle", "no use");
  cluster.settle();
  EXPECT_EQ(cluster.state("middle"), OrchestrationState::kCancelled);
  EXPECT_EQ(cluster.state("parent"), OrchestrationState::kFailed);
}

TEST_P(Undecodable, AnInstanceWithAHistoryThatCannotBeReadCanBeTerminated) {
  begin_family();
  cluster.append_unknown_event("middle");
  cluster.start_node(registry, options);
  cluster.client().terminate_instance("middle", "no use");
  cluster.settle();
  EXPECT_EQ(cluster.state("middle"), OrchestrationState::kTerminated);
  EXPECT_EQ(cluster.state("parent"), OrchestrationState::kFailed);
}

// ---- Activities: W16, W28 ------------------------------------------------------------------------------------------

class UndecodableActivity : public Undecodable {
 protected:
  // What the node gets instead of "Add"; everything else is as it is.
  void start_node_that_gets(std::function<void(MessageRecord&)> instead) {
    view = std::make_shared<Distorting>(cluster.store());
    view->activity = [instead = std::move(instead)](MessageRecord& record) {
      if (record.name == "Add") instead(record);
    };
    options.worker_concurrency = 1;
    node = &cluster.start_node(registry, options, view);
  }
  void expect_that_it_ends_as_poison() {
    cluster.client().start_orchestration("bad", "Calls");
    cluster.settle();
    EXPECT_EQ(view->distorted_fetches, 1);
    // Its only thread goes on working meanwhile.
    cluster.client().start_orchestration("good", "CallsOther");
    cluster.settle();
    EXPECT_EQ(cluster.client().get_orchestration_status("good").result<int>(), 5);
    const auto status = cluster.wait("bad");
    ASSERT_EQ(status.state, OrchestrationState::kFailed);
    ASSERT_NE(poison(status), nullptr) << status.error_text();
    EXPECT_EQ(poison(status)->subject, PoisonSubject::kActivity);
    EXPECT_EQ(poison(status)->activity_name, "Add");
    EXPECT_EQ(poison(status)->activity_id, 2U);
    EXPECT_EQ(poison(status)->attempts, kAttemptsToRead + 1);
    EXPECT_EQ(view->distorted_fetches, static_cast<int>(kAttemptsToRead) + 1);
    EXPECT_EQ(cluster.client().get_queue_depths(), QueueDepths());
    cluster.client().start_orchestration("later", "CallsOther");
    cluster.settle();
    EXPECT_EQ(cluster.client().get_orchestration_status("later").result<int>(), 5);
  }

  std::shared_ptr<Distorting> view;
  SteppedCluster::Node* node = nullptr;
};
PERDURE_IN_EVERY_CLUSTER(UndecodableActivity);

TEST_P(UndecodableActivity, EndsAsPoison) {
  start_node_that_gets([](MessageRecord& record) { record.body = kGarbage; });
  expect_that_it_ends_as_poison();
}

// W16
TEST_P(UndecodableActivity, AMessageOfAnotherKindInTheWorkerQueueEndsAsPoison) {
  start_node_that_gets([](MessageRecord& record) {
    record.kind = MessageKind::kTimerFired;
    record.body = encode_message_body(messages::TimerFired{2, Timestamp{}});
  });
  expect_that_it_ends_as_poison();
}

// W16
TEST_P(UndecodableActivity, AMessageOfAnUnknownKindInTheWorkerQueueEndsAsPoison) {
  start_node_that_gets([](MessageRecord& record) { record.kind = static_cast<MessageKind>(4'711); });
  expect_that_it_ends_as_poison();
}

TEST_P(UndecodableActivity, IsRunByANodeThatCanReadIt) {
  start_node_that_gets([](MessageRecord& record) { record.body = kGarbage; });
  cluster.client().start_orchestration("i", "Calls");
  cluster.settle();
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  cluster.stop_node(*node);
  cluster.start_node(registry, options);
  cluster.advance(1s);
  EXPECT_EQ(cluster.client().get_orchestration_status("i").result<int>(), 42);
}

}  // namespace
}  // namespace perdure::test
