// The health report of a runtime with threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/threaded.h"

namespace perdure::test {
namespace {

class Health : public Threaded {
 protected:
  Registry registry;
};

TEST_F(Health, SaysThatTheStoreIsUnavailableSinceWhenAndWhy) {
  registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  const auto runtime = run(registry);
  EXPECT_EQ(runtime->health(), RuntimeHealth());
  const Timestamp before = store->now();
  store->commits_fail = true;
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(eventually([&] { return !runtime->health().store_available; }));
  const RuntimeHealth health = runtime->health();
  ASSERT_TRUE(health.since && health.last_error);
  EXPECT_GE(*health.since, before);
  EXPECT_EQ(health.last_error->message(), "the store is away");
  store->commits_fail = false;
  EXPECT_EQ(client.wait_for_orchestration("i", kPatience).state, OrchestrationState::kCompleted);
  ASSERT_TRUE(eventually([&] { return runtime->health().store_available; }));
  EXPECT_GE(*runtime->health().since, *health.since);
  EXPECT_TRUE(runtime->health().last_error.has_value());
}

// Calls the runtime while it writes a record.
class CallingSink final : public LogSink {
 public:
  CallingSink(std::string message, std::function<void(Runtime&)> call)
      : message_(std::move(message)), call_(std::move(call)) {}
  void write(const LogRecord& record) override {
    Runtime* runtime = node;
    if (!runtime || record.message.find(message_) == std::string_view::npos) return;
    call_(*runtime);
    called.open();
  }
  std::atomic<Runtime*> node = nullptr;
  Gate called;

 private:
  std::string message_;
  std::function<void(Runtime&)> call_;
};

TEST_F(Health, SinkMayAskForTheHealth) {
  const auto sink = std::make_shared<CallingSink>(
      "store unavailable", [](Runtime& runtime) { EXPECT_FALSE(runtime.health().store_available); });
  options.logger = Logger(sink);
  registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  const auto runtime = run(registry);
  sink->node = runtime.get();
  store->commits_fail = true;
  client.start_orchestration("i", "Flow");
  EXPECT_TRUE(sink->called.wait());
  store->commits_fail = false;
}

TEST_F(Health, SinkMayCallShutdownDuringShutdown) {
  const auto sink = std::make_shared<CallingSink>("runtime stopped", [](Runtime& runtime) { runtime.shutdown(); });
  options.logger = Logger(sink);
  const auto runtime = run(registry);
  sink->node = runtime.get();
  EXPECT_TRUE(returns([runtime] { runtime->shutdown(); }));
  EXPECT_TRUE(sink->called.is_open());
}

TEST_F(Health, ANodeWithoutAStoreFromTheBeginningRecoversByItself) {
  registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
  store->fetches_fail = true;
  const auto runtime = run(registry);
  client.start_orchestration("i", "Flow");
  ASSERT_TRUE(eventually([&] { return !runtime->health().store_available; }));
  store->fetches_fail = false;
  EXPECT_EQ(client.wait_for_orchestration("i", kPatience).state, OrchestrationState::kCompleted);
  EXPECT_TRUE(eventually([&] { return runtime->health().store_available; }));
}

}  // namespace
}  // namespace perdure::test
