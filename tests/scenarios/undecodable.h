// What the tests of undecodable messages and histories share: a store that changes what a node gets, and workflows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <perdure/provider_admin.h>
#include <perdure/testing/filter_ignoring_provider.h>
#include "model/message_codec.h"
#include "scenarios/stepped_cluster.h"

namespace perdure::test {

inline constexpr std::uint32_t kAttemptsToRead = 3;
inline const std::string kGarbage("\0not a body\xff", 12);

// Changes what a node gets; the store keeps it as it is.
class Distorting final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::function<void(MessageRecord&)> message;
  std::function<void(MessageRecord&)> activity;
  std::function<void(OrchestrationItem&)> instance;
  int distorted_fetches = 0;

  // Without the fast path: a node that claims its own activities would fetch none.
  Capabilities capabilities() const noexcept override {
    Capabilities plain = ForwardingProvider::capabilities();
    plain.fast_path = false;
    return plain;
  }
  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (!batch) return batch;
    for (OrchestrationItem& fetched : batch->items) {
      if (instance) instance(fetched);
      if (!message) continue;
      for (QueuedMessage& queued : fetched.messages) distort(message, queued.record);
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
    registry.add_orchestration("Parent", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Middle", SubOrchestrationOptions().instance_id("middle"));
    });
    registry.add_orchestration("Middle", [](OrchestrationContext ctx) -> Orchestration<int> {
      auto activity = ctx.schedule_activity<int>("Work", ActivityOptions().tag("nowhere"));
      auto child = ctx.schedule_sub_orchestration<int>("Gate", SubOrchestrationOptions().instance_id("child"));
      co_await ctx.schedule_wait<int>("go");
      co_return co_await activity + co_await child;
    });
    registry.add_orchestration("Gate", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_wait<int>("go");
    });
    registry.add_orchestration("Calls", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>("Add", 41);
    });
    registry.add_orchestration("ParentOfLoop", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_sub_orchestration<int>("Loop", 1, SubOrchestrationOptions().instance_id("loop"));
    });
    registry.add_orchestration("Loop", [](OrchestrationContext ctx, int round) -> Orchestration<int> {
      if (round == 1) co_return ctx.continue_as_new(2);
      co_return round;
    });
    registry.add_activity("Add", [](ActivityContext&, int n) { return n + 1; });
    registry.add_activity("Other", [](ActivityContext&, int n) { return n; });
    registry.add_orchestration("CallsOther", [](OrchestrationContext ctx) -> Orchestration<int> {
      co_return co_await ctx.schedule_activity<int>("Other", 5);
    });
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

}  // namespace perdure::test
