// Clients that wait while an instance continues as new, ends, is replaced or is deleted. The nodes have threads.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <perdure/testing/forwarding_provider.h>
#include "lifecycles/programs.h"

namespace perdure::test {
namespace {

using Text = std::string;

std::vector<WorldKind> threaded_worlds() {
  std::vector<WorldKind> worlds = all_worlds();
  std::erase_if(worlds, [](const WorldKind& kind) { return !kind.threads; });
  return worlds;
}

// Tells when a client has begun to wait.
class WaitedStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override {
    waits_ += 1;
    waits_.notify_all();
    return ForwardingProvider::wait_for_change(instance, change, deadline);
  }
  [[nodiscard]] int waits() const { return waits_; }
  void await_more_than(int seen) const { waits_.wait(seen); }

 private:
  std::atomic<int> waits_ = 0;
};

class Waits : public InEveryWorld {
 protected:
  Waits() { world.start_node(stepping()); }

  // Steps(n): n executions, each with a status of its own. The second sets a key. The message "next" ends each.
  static Registry stepping() {
    Registry registry = add_victims();
    registry.add_orchestration("Steps", [](OrchestrationContext ctx, int n) -> Orchestration<int> {
      const int execution = static_cast<int>(ctx.execution_id());
      ctx.set_custom_status("execution " + std::to_string(execution));
      if (execution == 2) ctx.set_kv_value("second", execution);
      co_await ctx.dequeue_event<void>("next");
      if (execution < n) co_return ctx.continue_as_new(n);
      co_return execution;
    });
    return registry;
  }
  // Returns once the store has been asked to wait. The future returns what the call returned, once it has.
  template <class Call>
  auto waiting(Call call) {
    const int before = store->waits();
    auto result = std::async(std::launch::async, std::move(call));
    store->await_more_than(before);
    return result;
  }
  void next() {
    world.client().enqueue_event("i", "next");
    world.settle();
  }

  std::shared_ptr<WaitedStore> store = std::make_shared<WaitedStore>(world.store());
  const Client client{store};
};
INSTANTIATE_TEST_SUITE_P(Worlds, Waits, ::testing::ValuesIn(threaded_worlds()),
                         [](const auto& kind) { return kind.param.name(); });

// wait_for_orchestration: "Until it has ended. An instance that does not exist yet is waited for". The end of an
// execution is not its end.
TEST_P(Waits, AWaitLastsOverExecutions) {
  auto ended = waiting([&] { return client.wait_for_orchestration("i", 1h); });
  client.start_orchestration("i", "Steps", 3);
  for (int i = 0; i < 3; ++i) next();
  const OrchestrationStatus status = ended.get();
  EXPECT_EQ(status.result<int>(), 3);
  EXPECT_EQ(status.execution_id, 3U);
}

// wait_for_status_change: "Until the custom status has a version greater than this, or the instance has ended".
TEST_P(Waits, AStatusOfALaterExecutionEndsTheWait) {
  client.start_orchestration("i", "Steps", 2);
  const OrchestrationStatus first = client.wait_for_status_change("i", 0, 1h);
  EXPECT_EQ(first.custom_status, "execution 1");
  auto changed = waiting([&] { return client.wait_for_status_change("i", first.custom_status_version, 1h); });
  next();
  const OrchestrationStatus second = changed.get();
  EXPECT_EQ(second.custom_status, "execution 2");
  EXPECT_EQ(second.custom_status_version, first.custom_status_version + 1);
  auto ended = waiting([&] { return client.wait_for_status_change("i", second.custom_status_version, 1h); });
  next();
  EXPECT_TRUE(ended.get().completed());
}

// wait_for_status_change: "or the id belongs to another incarnation than when the call began". The versions of the next
// one begin at 0 again.
TEST_P(Waits, TheNextIncarnationEndsAWaitForAStatus) {
  client.start_orchestration("i", "Steps", 2);
  next();
  const OrchestrationStatus first = client.wait_for_status_change("i", 1, 1h);
  ASSERT_EQ(first.custom_status_version, 2U);
  next();
  client.start_orchestration("i", "Steps", 2, replacing());
  const OrchestrationStatus second = client.wait_for_status_change("i", first, 1h);
  EXPECT_LT(second.custom_status_version, 2U);
  EXPECT_NE(second.incarnation, first.incarnation);
  auto changed = waiting([&] { return client.wait_for_status_change("i", 1, 1h); });
  client.delete_instance("i", true);
  client.start_orchestration("i", "Steps", 2);
  EXPECT_NE(changed.get().incarnation, second.incarnation);
}

// wait_for_kv_value: "Until the key has a value". The second execution sets it.
TEST_P(Waits, AKeyOfALaterExecutionEndsTheWait) {
  auto value = waiting([&] { return client.wait_for_kv_value<int>("i", "second", 1h); });
  client.start_orchestration("i", "Steps", 3);
  next();
  EXPECT_EQ(value.get(), 2);
}

// Client: an unknown instance is waited for. So a wait that begins before a deletion sees the end of the next instance.
TEST_P(Waits, ADeletionDoesNotEndAWait) {
  client.start_orchestration("i", "Victim");
  world.settle();
  auto ended = waiting([&] { return client.wait_for_orchestration("i", 1h); });
  client.delete_instance("i", true);
  client.start_orchestration("i", "Quick", 3);
  EXPECT_EQ(ended.get().result<int>(), 3);
}

// wait_for_orchestration reports every kind of end, also that of an instance that no turn has begun.
TEST_P(Waits, EveryKindOfEndEndsTheWait) {
  const std::vector<Text> ids{"cancelled", "terminated", "unknown"};
  std::vector<std::future<OrchestrationStatus>> ended;
  for (const Text& id : ids) {
    ended.push_back(waiting([&, id] { return client.wait_for_orchestration(id, 1h); }));
    client.start_orchestration(id, id == "unknown" ? "Unknown" : "Victim");
  }
  client.cancel_instance("cancelled");
  client.terminate_instance("terminated");
  client.cancel_instance("unknown");
  EXPECT_EQ(ended[0].get().state, OrchestrationState::kCancelled);
  EXPECT_EQ(ended[1].get().state, OrchestrationState::kTerminated);
  EXPECT_EQ(ended[2].get().state, OrchestrationState::kCancelled);
}

}  // namespace
}  // namespace perdure::test
