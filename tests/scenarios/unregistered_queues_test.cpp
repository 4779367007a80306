// Instances without code on any node, whose queue is longer than a batch or holds the start of a child.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include "model/message_codec.h"
#include "scenarios/world.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Ctx = OrchestrationContext;

constexpr int kMoreThanABatch = 1'100;

class UnregisteredQueues : public InEveryWorld {
 protected:
  // A node without the code of "Unknown".
  void start_other_node(RuntimeOptions options = {}) {
    Registry registry;
    registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Parent", SubOrchestrationOptions().instance_id("i"));
    });
    world.start_node(registry, std::move(options));
  }
  static Registry with_code() {
    Registry registry;
    registry.add_orchestration("Unknown", [](Ctx ctx, int reads) -> Orchestration<int> {
      for (int read = 0; read < reads; ++read) co_await ctx.dequeue_event<int>("numbers");
      co_return co_await ctx.schedule_wait<int>("go");
    });
    return registry;
  }
  void enqueue(int count) {
    std::vector<MessageRecord> records;
    for (int number = 0; number < count; ++number) {
      records.push_back(
          encode_message({"i", std::nullopt, std::nullopt, messages::QueueMessage{"numbers", std::to_string(number)}}));
    }
    for (const auto& outcome : world.store()->enqueue_messages(records)) ASSERT_TRUE(outcome);
  }
  void fill_queue() { enqueue(kMoreThanABatch); }
  [[nodiscard]] OrchestrationStatus status(const std::string& instance = "i") const {
    return world.client().get_orchestration_status(instance);
  }
};
PERDURE_IN_EVERY_WORLD(UnregisteredQueues);

TEST_P(UnregisteredQueues, ACancelBehindAFullBatchIsHonouredAtOnce) {
  start_other_node();
  world.client().start_orchestration("i", "Unknown", 0);
  fill_queue();
  world.advance(1s);
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled) << status().error_text();
  EXPECT_THAT(status().error_text(), HasSubstr("changed my mind"));
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(UnregisteredQueues, ATerminationBehindAFullBatchIsHonouredAtOnce) {
  start_other_node();
  world.client().start_orchestration("i", "Unknown", 0);
  fill_queue();
  world.advance(1s);
  world.client().terminate_instance("i", "no use");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kTerminated) << status().error_text();
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

TEST_P(UnregisteredQueues, ACancelBehindABatchWithAnUndecodableMessageIsHonouredAtOnce) {
  world.start_node(with_code());
  world.client().start_orchestration("i", "Unknown", 0);
  world.settle();
  MessageRecord newer;
  newer.kind = static_cast<MessageKind>(999);
  newer.instance = "i";
  ASSERT_TRUE(world.store()->enqueue_message(newer));
  world.settle();  // the node gives the instance back, and no longer has it in its cache
  fill_queue();
  world.client().cancel_instance("i", "changed my mind");
  world.settle();
  EXPECT_EQ(status().state, OrchestrationState::kCancelled) << status().error_text();
  EXPECT_EQ(world.client().get_queue_depths(), QueueDepths());
}

// Its code runs for everything that arrived before, which here is all that it waits for.
TEST_P(UnregisteredQueues, ACancelBehindAFullBatchDoesNotOvertakeTheCode) {
  world.client().start_orchestration("i", "Unknown", 900);
  enqueue(900);
  world.client().raise_event("i", "go", 7);
  fill_queue();
  world.client().cancel_instance("i", "changed my mind");
  world.start_node(with_code());
  EXPECT_EQ(world.wait("i").result<int>(), 7);
}

// Another node refuses the start of a child whose id the instance has. The rest of the queue waits for the code.
TEST_P(UnregisteredQueues, AParentIsToldThatUnknownCodeHasTheIdOfItsChild) {
  auto& node = world.start_node(with_code());
  world.client().start_orchestration("i", "Unknown", 0);
  world.settle();
  world.stop_node(node);
  RuntimeOptions options;
  options.fetch_only_registered = true;
  start_other_node(options);
  world.client().raise_event("i", "go", 7);
  world.client().start_orchestration("parent", "Parent");
  world.settle();
  EXPECT_EQ(status("parent").state, OrchestrationState::kFailed);
  EXPECT_THAT(status("parent").error_text(), HasSubstr("instance id 'i' is taken"));
  EXPECT_EQ(status().state, OrchestrationState::kRunning);
  EXPECT_EQ(world.client().get_queue_depths().messages, 1U);
  EXPECT_EQ(world.metrics().counter_total(metric::kUnregisteredBackoff.name), 0U);
  world.start_node(with_code());
  EXPECT_EQ(world.wait("i").result<int>(), 7);
}

}  // namespace
}  // namespace perdure::test
