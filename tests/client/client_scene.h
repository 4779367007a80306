// ClientScene: a store with a clock that is moved, a client on it, and a node without threads that works only when a
// test says so.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>
#include "testing/simulation/stepped_node.h"

namespace perdure::test {

enum class StoreKind { kMemory, kSqlite };

// A store that tells when a client begins to wait on it.
class WatchedStore final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  ProviderResult<bool> wait_for_change(const std::string& instance, const InstanceChange& change,
                                       Timestamp deadline) override {
    {
      const std::scoped_lock lock(mutex_);
      ++waits_;
      changed_.notify_all();
    }
    return ForwardingProvider::wait_for_change(instance, change, deadline);
  }
  void await_waits(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_ >= count; });
  }
  [[nodiscard]] int waits() {
    const std::scoped_lock lock(mutex_);
    return waits_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waits_ = 0;
};

// Echo returns its input, Fail throws, Talk does what messages on its queue "say" tell it, Parent has two children,
// Rounds continues as new as often as its input says and then waits for the event "go".
[[nodiscard]] inline Registry sample_code() {
  using Ctx = OrchestrationContext;
  Registry registry;
  registry.add_orchestration("Echo", [](Ctx, std::string input) -> Orchestration<std::string> { co_return input; });
  registry.add_orchestration("Echo", "2.0.0",
                             [](Ctx, std::string input) -> Orchestration<std::string> { co_return "two: " + input; });
  registry.add_orchestration("Nothing", [](Ctx) -> Orchestration<void> { co_return; });
  registry.add_orchestration("Fail", [](Ctx) -> Orchestration<int> {
    throw OrchestrationError("the order is void");
    co_return 0;
  });
  registry.add_orchestration("Talk", [](Ctx ctx) -> Orchestration<std::string> {
    for (;;) {
      const std::string said = co_await ctx.dequeue_event<std::string>("say");
      if (said == "end") co_return "done";
      if (said.starts_with("key ")) {
        ctx.set_kv_value(said.substr(4), 7);
      } else if (said == "clear") {
        ctx.clear_all_kv_values();
      } else if (said == "reset") {
        ctx.reset_custom_status();
      } else {
        ctx.set_custom_status(said);
      }
    }
  });
  registry.add_orchestration(
      "Listen", [](Ctx ctx) -> Orchestration<std::string> { co_return co_await ctx.schedule_wait<std::string>("go"); });
  registry.add_orchestration("Rounds", [](Ctx ctx, int rounds) -> Orchestration<int> {
    ctx.set_custom_status("rounds left: " + std::to_string(rounds));
    if (rounds > 0) co_return ctx.continue_as_new(rounds - 1);
    co_await ctx.schedule_wait<void>("go");
    co_return 0;
  });
  registry.add_orchestration("Parent", [](Ctx ctx) -> Orchestration<void> {
    auto first = ctx.schedule_sub_orchestration<void>("Middle", SubOrchestrationOptions().instance_id("first"));
    auto second =
        ctx.schedule_sub_orchestration<std::string>("Listen", SubOrchestrationOptions().instance_id("second"));
    co_await first;
    co_await second;
  });
  registry.add_orchestration("Middle", [](Ctx ctx) -> Orchestration<void> {
    co_await ctx.schedule_sub_orchestration<std::string>("Listen", SubOrchestrationOptions().instance_id("grandchild"));
  });
  return registry;
}

class ClientScene : public ::testing::TestWithParam<StoreKind> {
 protected:
  static constexpr Timestamp kStart{Milliseconds(1'700'000'000'000)};

  ClientScene() {
    if (GetParam() == StoreKind::kMemory) {
      store = std::make_shared<WatchedStore>(make_memory_provider({.clock = clock, .logger = {}, .metrics = {}}));
    } else {
      SqliteOptions options;
      options.clock = clock;
      store = std::make_shared<WatchedStore>(SqliteProvider::open(":memory:", options));
    }
    ClientOptions options;
    options.logger = Logger(log);
    client.emplace(store, options);
  }

  // Does with the sample code everything that can be done at this time.
  void work() {
    while (step()) {
    }
  }
  // One thing; false if there is nothing to do.
  bool step() {
    if (!node) node.emplace(store, sample_code(), RuntimeOptions(), 1);
    if (node->choices() == 0) return false;
    node->step(0);
    return true;
  }
  void start(const std::string& instance, const std::string& name) {
    client->start_orchestration(instance, name);
    work();
  }
  void say(const std::string& instance, const std::string& what) {
    client->enqueue_event(instance, "say", what);
    work();
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(kStart);
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  std::shared_ptr<WatchedStore> store;
  std::optional<Client> client;
  std::optional<testing::SteppedNode> node;
};

// What a call is refused with; nothing if it is not.
template <class Call>
std::optional<ClientErrorKind> refusal(Call call) {
  try {
    call();
  } catch (const ClientError& error) {
    EXPECT_STRNE(error.what(), "");
    return error.kind();
  }
  return std::nullopt;
}

#define PERDURE_ON_EVERY_STORE(suite)                                                                             \
  INSTANTIATE_TEST_SUITE_P(                                                                                       \
      Stores, suite, ::testing::Values(::perdure::test::StoreKind::kMemory, ::perdure::test::StoreKind::kSqlite), \
      [](const auto& kind) { return kind.param == ::perdure::test::StoreKind::kMemory ? "Memory" : "Sqlite"; })

}  // namespace perdure::test
