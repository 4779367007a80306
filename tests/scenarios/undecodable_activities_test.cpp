// Activities whose message cannot be decoded: W16, W28.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/undecodable.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

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
