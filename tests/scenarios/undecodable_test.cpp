// Stored bytes that a node cannot read: a history, a message, an activity. It is given back, because another node may
// understand it, and ends as poison when nobody does; who waits for it is told, and nothing else stands still.
#include "scenarios/undecodable.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_codec.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Ctx = OrchestrationContext;

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

// A parent of a later engine asks for an id that is taken. Nothing of its start has to be read to refuse it.
TEST_P(Undecodable, AChildStartThatMeetsAnotherInstanceIsRefusedAndEndsNothing) {
  registry.add_orchestration("WantsTakenId", [](Ctx ctx) -> Orchestration<std::string> {
    auto child = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("i"));
    const auto outcome = co_await std::move(child).as_result();
    co_return outcome ? "started" : "refused";
  });
  for (const bool has_begun : {true, false}) {
    const auto view = std::make_shared<Distorting>(cluster.store());
    view->message = [](MessageRecord& record) {
      if (record.kind == MessageKind::kStartOrchestration && record.parent) record.body = kGarbage;
    };
    auto& node = cluster.start_node(registry, options, view);
    if (has_begun) cluster.client().start_orchestration("i", "Gate");
    cluster.settle();
    cluster.client().start_orchestration("parent", "WantsTakenId");
    if (!has_begun) cluster.client().start_orchestration("i", "Gate");
    EXPECT_EQ(cluster.wait("parent").result<std::string>(), "refused");
    EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
    cluster.client().raise_event("i", "go", 3);
    EXPECT_EQ(cluster.wait("i").result<int>(), 3);
    cluster.stop_node(node);
    for (const char* const id : {"parent", "i"}) cluster.client().delete_instance(id);
  }
}

// The envelope of the cancel shows that it is for another instance, and the start that waits in front of it is
// readable.
TEST_P(Undecodable, ACancelOfAnotherParentDoesNotEndAQueuedInstance) {
  cluster.client().start_orchestration("i", "Gate");
  const ParentLink link{.instance = "parent", .execution_id = 1, .schedule_id = 2, .incarnation = 3};
  MessageRecord cancel =
      encode_message({"i", std::nullopt, std::nullopt, messages::CancelInstance{"not wanted", link}});
  cancel.body = kGarbage;
  ASSERT_TRUE(cluster.store()->enqueue_message(cancel).has_value());
  cluster.start_node(registry, options);
  cluster.settle();
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kRunning);
  cluster.client().raise_event("i", "go", 3);
  EXPECT_EQ(cluster.wait("i").result<int>(), 3);
}

// The link of a queued child is that of its start. A cancel of its own parent is not discarded unread.
TEST_P(Undecodable, ACancelOfItsOwnParentWaitsForANodeThatReadsIt) {
  const ParentLink link{.instance = "parent", .execution_id = 1, .schedule_id = 2, .incarnation = 3};
  ASSERT_TRUE(
      cluster.store()
          ->enqueue_message(encode_message({"i", std::nullopt, std::nullopt,
                                            messages::StartOrchestration{"Gate", std::nullopt, std::nullopt, link}}))
          .has_value());
  ASSERT_TRUE(cluster.store()
                  ->enqueue_message(
                      encode_message({"i", std::nullopt, std::nullopt, messages::CancelInstance{"not wanted", link}}))
                  .has_value());
  const auto old_view = std::make_shared<Distorting>(cluster.store());
  old_view->message = [](MessageRecord& record) {
    if (record.kind == MessageKind::kCancelInstance) record.body = kGarbage;
  };
  auto& old = cluster.start_node(registry, options, old_view);
  cluster.settle();
  EXPECT_EQ(old_view->distorted_fetches, 1);
  EXPECT_EQ(cluster.state("i"), OrchestrationState::kPending);
  cluster.stop_node(old);
  cluster.start_node(registry, options);
  EXPECT_EQ(cluster.wait("i").state, OrchestrationState::kCancelled);
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
  EXPECT_THAT(status.error_text(), ::testing::HasSubstr("start message of its next execution is missing"));
  EXPECT_EQ(cluster.wait("parent").state, OrchestrationState::kFailed);
}

// A batch without the continuation does not prove that it is lost: only the store can report that.
TEST_P(Undecodable, AContinuationThatABatchDoesNotBringIsWaitedForAndNothingIsCounted) {
  const auto view = std::make_shared<Distorting>(cluster.store());
  int without = 0;
  view->instance = [&without](OrchestrationItem& item) {
    if (item.instance != "loop" || !item.metadata || item.metadata->status != ExecutionStatus::kContinuedAsNew) return;
    EXPECT_EQ(item.attempt_count, 1U);
    if (++without > static_cast<int>(kAttemptsToRead) + 2) return;
    std::erase_if(item.messages,
                  [](const QueuedMessage& queued) { return queued.record.kind == MessageKind::kContinueAsNew; });
  };
  cluster.start_node(registry, options, view);
  cluster.client().start_orchestration("loop", "Loop", 1);
  const auto status = cluster.wait("loop");
  EXPECT_EQ(status.state, OrchestrationState::kCompleted) << status.error_text();
  EXPECT_EQ(status.result<int>(), 2);
  EXPECT_EQ(without, static_cast<int>(kAttemptsToRead) + 3);
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

}  // namespace
}  // namespace perdure::test
